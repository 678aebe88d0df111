import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

@Suite("Law 8: nothing is lost")
struct Law08NothingIsLostTests {
  @Test("a request that finds no handler is stored and given to a handler installed later, as it was asked")
  func stored() {
    let log = Recorder()
    let promise = Promise<Int>()
    let receipt = promise.future.cancel(.doNotForwardIfOthersWaiting, reason: "early")

    promise.onRequestCancel { request in
      log("\(request.options.text) \(request.reason.message)")
      return .complete(.cancelled)
    }

    #expect(receipt.effect == .stored)
    #expect(log.entries == ["ifOthers early"])
    #expect(promise.future.reason?.message == "early")
  }

  @Test("a request from far below is stored at the source", arguments: Step.every)
  func storedFromBelow(step: Step) {
    let log = Recorder()
    let promise = Promise<Int>()
    let derived = step.apply(promise.future)
    let receipt = derived.cancel()

    promise.onRequestCancel { request in
      log("late: \(request.options.text)")
      return .complete(.cancelled)
    }

    #expect(receipt.effect == .stored)
    #expect(log.entries == ["late: plain"])
    #expect(derived.state == "cancelled")
  }

  @Test("a stored request is given once for each handler, the strongest that was asked")
  func strongestStored() {
    let log = Recorder()
    let promise = Promise<Int>()
    promise.future.cancel(.doNotForwardRequest, reason: "weak")
    promise.future.cancel(reason: "strong")
    promise.future.cancel(.doNotForwardIfOthersWaiting, reason: "between")

    promise.onRequestCancel { request in
      log("\(request.options.text) \(request.reason.message)")
      return .continue
    }

    #expect(log.entries == ["plain strong"])
  }

  @Test("a handler installed later on an executor gets it there")
  func storedForExecutor() {
    let log = Recorder()
    let executor = ManualExecutor()
    let promise = Promise<Int>()
    promise.future.cancel()

    promise.onRequestCancel(on: executor.executor) { _ in
      log("called")
      return .continue
    }

    #expect(log.entries == [])
    executor.runAll()
    #expect(log.entries == ["called"])
  }

  @Test("a stored request is given to a future onto which the promise is sealed later")
  func storedThenSealed() {
    let log = Recorder()
    let promise = Promise<Int>()
    let inner = source(log, "inner")
    promise.future.cancel(reason: "early")

    promise.complete(.completeUsing(inner.future))

    #expect(log.entries == ["inner: plain"])
    #expect(inner.cancelRequest?.reason.message == "early")
  }

  @Test("a request that came while a body ran is given to the future which the body returns")
  func whileABodyRuns() {
    let log = Recorder()
    let executor = ManualExecutor()
    let inner = source(log, "inner")
    let box = Locked<Future<Int>?>(nil)
    let derived = Future.succeeded(1).flatMap(on: executor.executor) { _ in
      box.value?.cancel(reason: "meanwhile")
      return inner.future
    }
    box.value = derived

    executor.runAll()

    #expect(log.entries == ["inner: plain"])
    #expect(derived.state == "pending")
    inner.completeCancelled()
    #expect(derived.state == "cancelled")
  }

  @Test("continue does not consume it: a handler installed later gets it too")
  func continueKeeps() {
    let log = Recorder()
    let promise = source(log, "first")
    promise.future.cancel()

    promise.onRequestCancel { _ in
      log("second")
      return .complete(.success(2))
    }

    #expect(log.entries == ["first: plain", "second"])
    #expect(promise.future.state == "success(2)")
  }

  @Test("continue does not consume it: a future linked later gets it too")
  func continueKeepsForInner() {
    let log = Recorder()
    let promise = source(log, "outer")
    let inner = source(log, "inner")
    promise.future.cancel()

    promise.complete(.completeUsing(inner.future))

    #expect(log.entries == ["outer: plain", "inner: plain"])
  }

  @Test("complete consumes it: the clean-up that a handler names is not asked")
  func completeConsumes() {
    let log = Recorder()
    let cleanUp = source(log, "clean-up")
    let promise = source(log, "outer", answering: .complete(.completeUsing(cleanUp.future)))

    promise.future.cancel()

    #expect(log.entries == ["outer: plain"])
    #expect(cleanUp.future.cancelRequest == nil)
  }

  @Test("complete through the request consumes it as the answer does")
  func requestCompleteConsumes() {
    // Two readings: only the answer `.complete` consumes, or `request.complete(_:)` as well. It is the same answer,
    // given later.
    let log = Recorder()
    let cleanUp = source(log, "clean-up")
    let kept = Locked<ReceivedCancelRequest<Int>?>(nil)
    let promise = Promise<Int>()
    promise.onRequestCancel { request in
      kept.value = request
      return .continue
    }
    promise.future.cancel()

    kept.value?.complete(.completeUsing(cleanUp.future))

    #expect(log.entries == [])
    #expect(promise.future.state == "pending")
  }

  @Test("a future without any handler ignores the request and says so")
  func ignored() {
    let promise = Promise<Int>()

    let receipt = promise.future.cancel()

    #expect(receipt.effect == .stored)
    #expect(promise.future.state == "pending")
    promise.succeed(1)
    #expect(promise.future.state == "success(1)")
  }

  @Test("the clean-up of onComplete is asked if the outcome was a success or a failure", arguments: ["ok", "bad"])
  func cleanUpAsked(outcome: String) {
    let log = Recorder()
    let promise = source(log)
    let cleanUp = source(log, "clean-up")
    let derived = promise.future.onComplete { _ in cleanUp.future }
    derived.cancel()

    if outcome == "ok" { promise.succeed(1) } else { promise.fail(Oops()) }

    #expect(log.entries == ["source: plain", "clean-up: plain"])
    #expect(derived.state == "pending")
  }

  @Test("the clean-up of onComplete is not asked if the outcome was cancelled")
  func cleanUpSpared() {
    let log = Recorder()
    let promise = source(log)
    let cleanUp = source(log, "clean-up")
    let derived = promise.future.onComplete { _ in cleanUp.future }
    derived.cancel()

    promise.completeCancelled()

    #expect(log.entries == ["source: plain"])
    cleanUp.succeed(3)
    #expect(derived.state == "success(3)")
  }

  @Test("nor by a first request that comes while the clean-up after a cancellation runs")
  func cleanUpSparedLater() {
    // Two readings: "the request goes to the one it waits on now" (law 10), or "is asked only if the outcome was not
    // cancelled" (law 8). The second is the special rule, and clean-up that is cut short is no clean-up.
    let log = Recorder()
    let cleanUp = source(log, "clean-up")
    let derived = Future<Int>.cancelled("gone").onComplete { _ in cleanUp.future }

    derived.cancel()

    #expect(log.entries == [])
    #expect(derived.state == "pending")
  }

  @Test("nor when its future is forced or lets go: the clean-up works on alone")
  func cleanUpSparedByForce() {
    let log = Recorder()
    let cleanUp = source(log, "clean-up")
    let forced = Future<Int>.cancelled("gone").onComplete { _ in cleanUp.future }
    let lettingGo = Future<Int>.cancelled("gone").onComplete { _ in cleanUp.future }

    forced.cancel(.forceImmediately)
    lettingGo.cancel(.doNotForwardRequest)

    #expect([forced.state, lettingGo.state] == ["cancelled", "cancelled"])
    #expect(log.entries == [])
    #expect(cleanUp.future.state == "pending")
  }

  @Test("cancelRequest tells what was asked, on future and promise")
  func cancelRequest() {
    let promise = Promise<Int>()
    #expect(promise.cancelRequest == nil)
    #expect(promise.future.cancelRequest == nil)

    promise.future.cancel(.doNotForwardIfOthersWaiting, reason: "first")
    #expect(promise.cancelRequest?.options == .doNotForwardIfOthersWaiting)
    #expect(promise.cancelRequest?.reason.message == "first")
    promise.future.cancel(reason: "second")

    #expect(promise.cancelRequest?.options == [])
    #expect(promise.future.cancelRequest?.options == [])
    #expect(promise.future.cancelRequest?.reason.message == "second")
  }

  @Test("cancelRequest still tells it after completion")
  func afterCompletion() {
    let promise = Promise<Int>()
    promise.future.cancel(reason: "asked")

    promise.succeed(1)

    #expect(promise.future.cancelRequest?.reason.message == "asked")
  }

  @Test("a withheld request was not asked")
  func withheld() {
    let promise = Promise<Int>()
    let consumer = promise.future.map { $0 }

    promise.future.cancel(.doNotForwardIfOthersWaiting)

    #expect(promise.future.cancelRequest == nil)
    #expect(promise.cancelRequest == nil)
    withExtendedLifetime(consumer) {}
  }
}
