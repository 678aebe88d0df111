import Dispatch
import FutureTreeTesting
import TestSupport
import Testing

@testable import FutureTree

/// Regression tests on one thread. Each test names the law that a bug had broken.
@Suite("Regressions: one thread")
struct RegressionTests {
  @Test(
    "The body of onCancel runs if a force interrupts a passing success (law 11, bodies that have not begun)",
    .tags(.law11))
  func onCancelForced() {
    let log = Recorder()
    let promise = Promise<Int>()
    let box = Locked<Future<Int>?>(nil)
    let probe = Locked<Probe?>(Probe { box.value?.cancel(.forceImmediately) })
    box.value = promise.future.onCancel { [probe = probe.value!] _ in
      probe.touch()
      log("onCancel")
    }
    probe.value = nil

    promise.succeed(1)

    let state = box.value!.state
    expectEqual(log.entries, state == "cancelled" ? ["onCancel"] : [])
    box.value = nil
  }

  @Test(
    "Withdrawing from a wide join costs O(edges) (law 12, diamonds; law 17, receipts)", .tags(.law12, .law17),
    .timeLimit(.minutes(20)))
  func wideJoin() {
    let promises = (0..<30_000).map { _ in Promise<Int>() }
    let all = Future.all(promises.map(\.future))

    all.cancelToken().cancel()

    #expect(promises.allSatisfy { $0.cancelRequest != nil })
    for promise in promises { promise.completeCancelled() }
  }

  @Test(
    "The source of a diamond has no consumer after its only token requested (law 10, one consumer, one count)",
    .tags(.law10))
  func diamondToken() {
    let promise = Promise<Int>()
    let shared = promise.future.map { $0 }.shared()
    let all = Future.all([shared.map { $0 }, shared.map { $0 }])
    all.cancelToken().cancel(.doNotForwardIfOthersWaiting)

    let receipt = shared.cancel()

    expectEqual(receipt.effect, .stored)
    expectEqual(promise.cancelRequest?.options, [])
  }

  @Test(
    "The source of a diamond has no consumer after the join was decided (law 10, one consumer, one count)",
    .tags(.law10))
  func diamondJoin() {
    let (promise, trigger) = (Promise<Int>(), Promise<Int>())
    let shared = promise.future.map { $0 }.shared()
    let all = Future.all([trigger.future, shared.map { $0 }, shared.map { $0 }])
    trigger.fail(Oops())

    let receipt = shared.cancel()

    expectEqual(receipt.effect, .stored)
    expectEqual(promise.cancelRequest?.options, [])
    withExtendedLifetime(all) {}
  }

  @Test("A body runs inside the job of its executor, even if the executor runs the job at once in a callback")
  func insideJob() {
    let log = Recorder()
    let isInside = Locked(false)
    let executor = FutureExecutor.custom { job in
      isInside.value = true
      job()
      isInside.value = false
    }
    let promise = Promise<Int>()
    let mapped = promise.future.map(on: executor) { _ in log("map \(isInside.value)") }
    promise.future.observe(on: executor) { _ in log("observe \(isInside.value)") }

    promise.succeed(1)
    let work = Future(on: executor) { log("work \(isInside.value)") }

    expectEqual(log.entries, ["map true", "observe true", "work true"])
    #expect(mapped.isCompleted && work.isCompleted)
  }

  @Test("A queued body that will not run is released when its future is forced (law 21, bounded memory)", .tags(.law21))
  func queuedBody() {
    let census = Census()
    let executor = ManualExecutor()
    let future = Future<Int>.failed(Oops()).onFailure(on: executor.executor) { [probe = census.probe()] _ in
      probe.touch()
    }

    future.cancel(.forceImmediately)

    expectEqual(future.state, "cancelled")
    expectEqual(census.alive, 0)
    executor.runAll()
  }

  @Test(
    "A future without interest that links an inner future withdraws no interest from it (law 10, one consumer, one count)",
    .tags(.law10)
  )
  func linkWithoutInterest() {
    let (promise, outer) = (Promise<Int>(), Promise<Int>())
    let inner = promise.future.map { $0 }  // A consumer of `promise` since its creation.
    let derived = outer.future.flatMap { _ in inner }
    derived.map { $0 }.cancel(.doNotForwardRequest)  // `derived` no longer has interest.
    let receipt = promise.future.cancel(.doNotForwardIfOthersWaiting)

    outer.succeed(1)

    expectEqual(receipt.effect, .withheld(by: 1))
    #expect(promise.cancelRequest == nil)
    withExtendedLifetime((inner, derived)) {}
  }

  @Test(
    "A later force neither loses nor weakens a request stored for an inner future (law 8, no request is lost)",
    .tags(.law08),
    arguments: [.doNotForwardRequest, .doNotForwardIfOthersWaiting] as [CancellationOptions])
  func storedRequest(weaker: CancellationOptions) {
    let log = Recorder()
    let inner = source(log, "inner")
    let other = inner.future.map { $0 }
    let box = Locked<Future<Int>?>(nil)
    let executor = ManualExecutor()
    box.value = Future.succeeded(1).flatMap(on: executor.executor) { _ in
      box.value?.cancel()
      box.value?.cancel(weaker.union(.forceImmediately))
      return inner.future
    }

    executor.runAll()

    expectEqual(log.entries, ["inner: plain"])
    withExtendedLifetime(other) {}
  }

  @Test(
    "A receipt counts each future once, even if a request is withheld on one path to it (law 17, receipts)",
    .tags(.law17))
  func receiptCount() {
    let promise = Promise<Int>()
    let all = Future.all([promise.future, promise.future.map { $0 }])

    let receipt = all.cancel([.forceImmediately, .doNotForwardIfOthersWaiting])

    expectEqual(receipt.reached, 3)
  }

  @Test(
    "A withheld request that a propagation delivers reaches further in the same propagation (law 12, diamonds)",
    .tags(.law12)
  )
  func withheldGoesFurther() {
    let log = Recorder()
    let promise = source(log, "source")
    let first = promise.future.map { $0 }
    let second = first.map { $0 }
    let third = second.map { $0 }.shared()
    let race = Future.race([third, first])
    third.cancel(reason: "withheld by the race")
    let (other, mine) = (second.cancelToken(), race.cancelToken())

    let receipt = mine.cancel(.doNotForwardIfOthersWaiting)

    expectEqual(receipt.effect, .delivered)
    expectEqual(receipt.reached, 5)
    expectEqual(log.entries, ["source: plain"])
    withExtendedLifetime((promise, other)) {}
  }

  @Test(
    "A branch ends at once down to a future asked before it was linked (law 3, stopping where others wait)",
    .tags(.law03))
  func branchOfStoredRequest() {
    let log = Recorder()
    let promise = Promise<Int>()
    let middle = promise.future.shared().map { $0 }
    let other = Future.race([middle, promise.future]).onComplete { _ in .success(log("other")) }
    let outer = Promise<Int>()
    let ensured = outer.future.ensure { log("outer") }
    outer.future.cancel()

    outer.complete(.completeUsing(middle.map { $0 }))

    expectEqual(log.entries, ["outer", "other"])
    withExtendedLifetime((promise, other, ensured)) {}
  }

  @Test("Handlers that retain the next promise are released in constant stack space (law 20, any depth)", .tags(.law20))
  func handlersHoldPromises() {
    let log = Recorder()
    onSmallStack {
      var promise = Promise<Int>()
      for _ in 0..<50_000 {
        let next = promise
        promise = Promise<Int>()
        promise.onRequestCancel { [next] _ in
          _ = next.future
          return .continue
        }
      }

      promise.succeed(1)

      log("released")
    }
    expectEqual(log.entries, ["released"])
  }

  @Test(
    "All handlers run, even if a handler installed during the request completes the future (law 9, handlers run)",
    .tags(.law09))
  func handlersOfAnswered() {
    let log = Recorder()
    let (first, second) = (Promise<Int>(), Promise<Int>())
    first.onRequestCancel { _ in
      log("first")
      return .continue
    }
    second.onRequestCancel { _ in
      first.onRequestCancel { _ in .complete(.cancelled) }
      return .continue
    }
    let both = Future.all([first.future, second.future])

    both.cancel()

    expectEqual(first.future.state, "cancelled")
    expectEqual(log.entries, ["first"])
    withExtendedLifetime(second) {}
  }
}
