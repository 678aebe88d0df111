import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

@Suite("Laws in combination: interest")
struct InterestCombinationTests {
  // Laws 3 (stopping where others wait), 6 (shared futures)
  @Test("A join completes although one of its inputs withheld its request", arguments: ["ok", "no"])
  func joinNeverHangs(answer: String) {
    let log = Recorder()
    let lone = source(log, "lone")
    let shared = Promise<Int>()
    let other = shared.future.shared().map { $0 }
    let all = Future.all([lone.future, shared.future])

    all.cancel()
    if answer == "ok" { lone.succeed(1) } else { lone.completeCancelled() }

    expectEqual(log.entries, ["lone: plain"])
    expectEqual(all.state, "cancelled")
    expectEqual(other.state, "pending")
  }

  // Law 3 (stopping where others wait)
  @Test("A join that requests with doNotForwardIfOthersWaiting completes although an input withheld the request")
  func joinWithOptionNeverHangs() {
    let lone = Promise<Int>()
    let awaited = Promise<Int>()
    let other = awaited.future.map { $0 }
    let all = Future.all([lone.future, awaited.future])

    all.cancel(.doNotForwardIfOthersWaiting)
    lone.succeed(1)

    expectEqual(all.state, "cancelled")
    expectEqual(other.state, "pending")
  }

  // Law 10 (one consumer, one count)
  @Test("A future without interest is not a consumer of an inner future that it links later")
  func linkWithoutInterest() {
    let outer = Promise<Int>()
    let inner = Promise<Int>()
    let derived = outer.future.flatMap { _ in inner.future }
    derived.map { $0 }.cancel(.doNotForwardRequest)

    outer.succeed(1)

    expectEqual(inner.future.cancel(.doNotForwardIfOthersWaiting).effect, .stored)
    expectEqual(derived.state, "pending")
  }

  // Law 10 (one consumer, one count)
  @Test("A promise without interest is not a consumer of the future it is sealed onto")
  func sealWithoutInterest() {
    let outer = Promise<Int>()
    let inner = Promise<Int>()
    outer.future.map { $0 }.cancel(.doNotForwardRequest)

    outer.complete(.completeUsing(inner.future))

    expectEqual(inner.future.cancel(.doNotForwardIfOthersWaiting).effect, .stored)
  }

  // Law 10 (one consumer, one count)
  @Test("A future that gains a consumer again becomes a consumer of its inner future")
  func interestAfterLink() {
    let outer = Promise<Int>()
    let inner = Promise<Int>()
    let derived = outer.future.flatMap { _ in inner.future }
    derived.map { $0 }.cancel(.doNotForwardRequest)
    outer.succeed(1)

    let again = derived.cancelToken()

    expectEqual(inner.future.cancel(.doNotForwardIfOthersWaiting).effect, .withheld(by: 1))
    withExtendedLifetime(again) {}
  }

  // Law 10 (one consumer, one count)
  @Test("A request to a future without interest reaches its source")
  func requestWithoutInterest() {
    let log = Recorder()
    let promise = source(log)
    let middle = promise.future.map { $0 }
    middle.map { $0 }.cancel(.doNotForwardRequest)

    let receipt = middle.cancel(.doNotForwardIfOthersWaiting)

    expectEqual(receipt.effect, .delivered)
    expectEqual(log.entries, ["source: ifOthers"])
    promise.completeCancelled()
    expectEqual(middle.state, "cancelled")
  }

  // Law 10 (one consumer, one count)
  @Test("An awaiting task that withdraws ends a branch without other consumers")
  func taskWithdraws() {
    let log = Recorder()
    let executor = ManualTaskExecutor()
    let promise = source(log)
    let middle = promise.future.map { $0 }
    let other = promise.future.map { $0 }
    let task = executor.start { _ = try? await middle.value(cancellingWith: .doNotForwardIfOthersWaiting) }

    task.cancel()
    executor.runAll()

    // The request stops at the source, which has another consumer: the branch ended there.
    expectEqual(log.entries, [])
    expectEqual([middle.state, other.state], ["cancelled", "pending"])
  }

  // Laws 3 (stopping where others wait), 7 (handlers answer)
  @Test("A request withheld at a promise is delivered to the future onto which the promise was sealed since")
  func withheldThenSealed() {
    let log = Recorder()
    let inner = source(log, "inner")
    let promise = Promise<Int>()
    let first = promise.future.map { $0 }
    let second = promise.future.map { $0 }
    first.cancel(.doNotForwardIfOthersWaiting, reason: "first")
    promise.complete(.completeUsing(inner.future))
    expectEqual(log.entries, [])

    second.cancel(.doNotForwardRequest)

    expectEqual(log.entries, ["inner: ifOthers"])
    expectEqual(inner.cancelRequest?.reason.message, "first")
  }

  // Laws 3 (stopping where others wait), 11 (bodies that have not begun)
  @Test("The body of a future does not begin after a withheld request is delivered to it")
  func withheldThenDelivered() {
    let log = Recorder()
    let promise = source(log)
    let middle = promise.future.map { log("body", passing: $0) }.shared()
    let first = middle.map { $0 }
    let second = middle.map { $0 }
    first.cancel(reason: "first")
    second.cancel(.doNotForwardRequest)

    promise.succeed(1)

    expectEqual(log.entries, ["source: plain"])
    expectEqual(middle.reason?.message, "first")
  }

  // Laws 3 (stopping where others wait), 11 (bodies that have not begun)
  @Test("A queued body is cancelled when a withheld request is delivered to its future")
  func withheldWhileQueued() {
    let log = Recorder()
    let executor = ManualExecutor()
    let middle = Future.succeeded(1).map(on: executor.executor) { log("body", passing: $0) }.shared()
    let first = middle.map { $0 }
    let second = middle.map { $0 }
    first.cancel(reason: "first")
    expectEqual(middle.state, "pending")

    second.cancel(.doNotForwardRequest)

    expectEqual(middle.reason?.message, "first")
    executor.runAll()
    expectEqual(log.entries, [])
  }

  // Laws 3 (stopping where others wait), 6 (shared futures)
  @Test("A withheld request with force is stronger than a plain request withheld before it")
  func withheldForceIsStronger() {
    let promise = Promise<Int>()
    let shared = promise.future.shared()
    let tokens = Locked((0..<3).map { _ in shared.cancelToken() })
    tokens.value[0].cancel(reason: "plain")
    tokens.value[1].cancel(.forceImmediately, reason: "force")
    expectEqual(shared.state, "pending")

    _ = tokens.withLock { $0.removeLast() }

    expectEqual(shared.reason?.message, "force")
  }

  // Laws 3 (stopping where others wait), 14 (awaiting)
  @Test("outcome requests with doNotForwardIfOthersWaiting, and waits for the outcome")
  func outcomeWithdraws() {
    let log = Recorder()
    let executor = ManualTaskExecutor()
    let promise = source(log)
    let future = promise.future
    let first = executor.start { log("first \(await future.outcome.state)") }
    let second = executor.start { log("second \(await future.outcome.state)") }

    first.cancel()
    executor.runAll()
    expectEqual(log.entries, [])
    second.cancel()
    executor.runAll()
    expectEqual(log.entries, ["source: ifOthers"])
    promise.succeed(1)
    executor.runAll()

    expectEqual(log.entries, ["source: ifOthers", "first success(1)", "second success(1)"])
  }

  // Laws 5 (force), 14 (awaiting)
  @Test("A task that cancels with force ends the future for every consumer")
  func taskForces() {
    let log = Recorder()
    let executor = ManualTaskExecutor()
    let promise = source(log)
    let future = promise.future
    let task = executor.start {
      do {
        _ = try await future.value(cancellingWith: .forceImmediately)
      } catch {
        log("\(type(of: error))")
      }
    }

    task.cancel()
    executor.runAll()

    expectEqual(log.entries.sorted(), ["CancellationError", "source: force"])
    expectEqual(future.state, "cancelled")
  }

  // Law 16 (a dropped promise)
  @Test("A promise sealed onto a dropped promise fails with the same BrokenPromise")
  func sealedOntoDropped() {
    func makeFuture() -> Future<Int> {
      let inner = Promise<Int>()
      let outer = Promise<Int>()
      outer.complete(.completeUsing(inner.future))
      return outer.future
    }

    #expect(makeFuture().outcomeIfCompleted?.error is BrokenPromise)
  }
}
