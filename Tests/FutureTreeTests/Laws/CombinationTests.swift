import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

@Suite("Laws in combination: interest")
struct InterestCombinationTests {
  @Test("laws 3, 6: a join of an input that was asked and one that was withheld never hangs", arguments: ["ok", "no"])
  func joinNeverHangs(answer: String) {
    let log = Recorder()
    let lone = source(log, "lone")
    let shared = Promise<Int>()
    let other = shared.future.shared().map { $0 }
    let all = Future.all([lone.future, shared.future])

    all.cancel()
    if answer == "ok" { lone.succeed(1) } else { lone.completeCancelled() }

    #expect(log.entries == ["lone: plain"])
    #expect(all.state == "cancelled")
    #expect(other.state == "pending")
  }

  @Test("law 3: the same with a polite request")
  func politeJoinNeverHangs() {
    let lone = Promise<Int>()
    let wanted = Promise<Int>()
    let other = wanted.future.map { $0 }
    let all = Future.all([lone.future, wanted.future])

    all.cancel(.doNotForwardIfOthersWaiting)
    lone.succeed(1)

    #expect(all.state == "cancelled")
    #expect(other.state == "pending")
  }

  @Test("law 10: a future that is wanted no more does not want the inner one that it links later")
  func unwantedLink() {
    let outer = Promise<Int>()
    let inner = Promise<Int>()
    let derived = outer.future.flatMap { _ in inner.future }
    derived.map { $0 }.cancel(.doNotForwardRequest)

    outer.succeed(1)

    #expect(inner.future.cancel(.doNotForwardIfOthersWaiting).effect == .stored)
    #expect(derived.state == "pending")
  }

  @Test("law 10: a promise that is wanted no more does not want the future it is sealed onto")
  func unwantedSeal() {
    let outer = Promise<Int>()
    let inner = Promise<Int>()
    outer.future.map { $0 }.cancel(.doNotForwardRequest)

    outer.complete(.completeUsing(inner.future))

    #expect(inner.future.cancel(.doNotForwardIfOthersWaiting).effect == .stored)
  }

  @Test("law 10: and wants it when it is wanted again")
  func wantedAfterLink() {
    let outer = Promise<Int>()
    let inner = Promise<Int>()
    let derived = outer.future.flatMap { _ in inner.future }
    derived.map { $0 }.cancel(.doNotForwardRequest)
    outer.succeed(1)

    let again = derived.cancelToken()

    #expect(inner.future.cancel(.doNotForwardIfOthersWaiting).effect == .withheld(by: 1))
    withExtendedLifetime(again) {}
  }

  @Test("law 10: one that is wanted no more and asked itself reaches its source")
  func unwantedAsked() {
    let log = Recorder()
    let promise = source(log)
    let middle = promise.future.map { $0 }
    middle.map { $0 }.cancel(.doNotForwardRequest)

    let receipt = middle.cancel(.doNotForwardIfOthersWaiting)

    #expect(receipt.effect == .delivered)
    #expect(log.entries == ["source: ifOthers"])
    promise.completeCancelled()
    #expect(middle.state == "cancelled")
  }

  @Test("law 10: an awaiting task that withdraws leaves a future that wants no more")
  func taskWithdraws() {
    let log = Recorder()
    let executor = ManualTaskExecutor()
    let promise = source(log)
    let middle = promise.future.map { $0 }
    let other = promise.future.map { $0 }
    let task = executor.start { _ = try? await middle.value(cancellingWith: .doNotForwardIfOthersWaiting) }

    task.cancel()
    executor.runAll()

    // The request went up to the source, which another wants: the branch ended there.
    #expect(log.entries == [])
    #expect([middle.state, other.state] == ["cancelled", "pending"])
  }

  @Test("laws 3, 7: what was withheld at a promise goes to the future onto which it was sealed since")
  func withheldThenSealed() {
    let log = Recorder()
    let inner = source(log, "inner")
    let promise = Promise<Int>()
    let first = promise.future.map { $0 }
    let second = promise.future.map { $0 }
    first.cancel(.doNotForwardIfOthersWaiting, reason: "first")
    promise.complete(.completeUsing(inner.future))
    #expect(log.entries == [])

    second.cancel(.doNotForwardRequest)

    #expect(log.entries == ["inner: ifOthers"])
    #expect(inner.cancelRequest?.reason.message == "first")
  }

  @Test("laws 3, 11: a future to which a withheld request is delivered was asked: its body does not begin")
  func withheldThenDelivered() {
    let log = Recorder()
    let promise = source(log)
    let middle = promise.future.map { log("body", passing: $0) }.shared()
    let first = middle.map { $0 }
    let second = middle.map { $0 }
    first.cancel(reason: "first")
    second.cancel(.doNotForwardRequest)

    promise.succeed(1)

    #expect(log.entries == ["source: plain"])
    #expect(middle.reason?.message == "first")
  }

  @Test("laws 3, 11: and one that is queued is cancelled when it is delivered")
  func withheldWhileQueued() {
    let log = Recorder()
    let executor = ManualExecutor()
    let middle = Future.succeeded(1).map(on: executor.executor) { log("body", passing: $0) }.shared()
    let first = middle.map { $0 }
    let second = middle.map { $0 }
    first.cancel(reason: "first")
    #expect(middle.state == "pending")

    second.cancel(.doNotForwardRequest)

    #expect(middle.reason?.message == "first")
    executor.runAll()
    #expect(log.entries == [])
  }

  @Test("laws 3, 6: force that was withheld is stronger than a plain request that was withheld before")
  func withheldForceIsStronger() {
    let promise = Promise<Int>()
    let shared = promise.future.shared()
    let tokens = Locked((0..<3).map { _ in shared.cancelToken() })
    tokens.value[0].cancel(reason: "plain")
    tokens.value[1].cancel(.forceImmediately, reason: "force")
    #expect(shared.state == "pending")

    _ = tokens.withLock { $0.removeLast() }

    #expect(shared.reason?.message == "force")
  }

  @Test("laws 3, 14: outcome withdraws politely, and waits on although it wants no more")
  func outcomeWithdraws() {
    let log = Recorder()
    let executor = ManualTaskExecutor()
    let promise = source(log)
    let future = promise.future
    let first = executor.start { log("first \(await future.outcome.state)") }
    let second = executor.start { log("second \(await future.outcome.state)") }

    first.cancel()
    executor.runAll()
    #expect(log.entries == [])
    second.cancel()
    executor.runAll()
    #expect(log.entries == ["source: ifOthers"])
    promise.succeed(1)
    executor.runAll()

    #expect(log.entries == ["source: ifOthers", "first success(1)", "second success(1)"])
  }

  @Test("laws 5, 14: a task that cancels with force ends the future for everybody")
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

    #expect(log.entries.sorted() == ["CancellationError", "source: force"])
    #expect(future.state == "cancelled")
  }

  @Test("law 16: a promise sealed onto one that is dropped gets its BrokenPromise")
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
