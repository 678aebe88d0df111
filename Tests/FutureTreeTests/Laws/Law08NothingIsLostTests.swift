import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

@Suite("Law 8: no request is lost", .tags(.law08))
struct Law08NothingIsLostTests {
  @Test("A request that finds no handler is stored and delivered unchanged to a handler installed later")
  func stored() {
    let log = Recorder()
    let promise = Promise<Int>()
    let receipt = promise.future.cancel(.doNotForwardIfOthersWaiting, reason: "early")

    promise.onRequestCancel { request in
      log("\(request.options.text) \(request.reason.message)")
      return .complete(.cancelled)
    }

    expectEqual(receipt.effect, .stored)
    expectEqual(log.entries, ["ifOthers early"])
    expectEqual(promise.future.reason?.message, "early")
  }

  @Test("A request through every operator is stored at the source", arguments: Step.every)
  func storedFromBelow(step: Step) {
    let log = Recorder()
    let promise = Promise<Int>()
    let derived = step.apply(promise.future)
    let receipt = derived.cancel()

    promise.onRequestCancel { request in
      log("late: \(request.options.text)")
      return .complete(.cancelled)
    }

    expectEqual(receipt.effect, .stored)
    expectEqual(log.entries, ["late: plain"])
    expectEqual(derived.state, "cancelled")
  }

  @Test("The strongest stored request is delivered once to a handler")
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

    expectEqual(log.entries, ["plain strong"])
  }

  @Test("A handler with an executor that is installed later runs on that executor")
  func storedForExecutor() {
    let log = Recorder()
    let executor = ManualExecutor()
    let promise = Promise<Int>()
    promise.future.cancel()

    promise.onRequestCancel(on: executor.executor) { _ in
      log("called")
      return .continue
    }

    expectEqual(log.entries, [])
    executor.runAll()
    expectEqual(log.entries, ["called"])
  }

  @Test("A stored request is delivered to a future onto which the promise is sealed later")
  func storedThenSealed() {
    let log = Recorder()
    let promise = Promise<Int>()
    let inner = source(log, "inner")
    promise.future.cancel(reason: "early")

    promise.complete(.completeUsing(inner.future))

    expectEqual(log.entries, ["inner: plain"])
    expectEqual(inner.cancelRequest?.reason.message, "early")
  }

  @Test("A request that arrives while a body runs is delivered to the future that the body returns")
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

    expectEqual(log.entries, ["inner: plain"])
    expectEqual(derived.state, "pending")
    inner.completeCancelled()
    expectEqual(derived.state, "cancelled")
  }

  @Test("Continue does not consume a request: a handler installed later receives it too")
  func continueKeeps() {
    let log = Recorder()
    let promise = source(log, "first")
    promise.future.cancel()

    promise.onRequestCancel { _ in
      log("second")
      return .complete(.success(2))
    }

    expectEqual(log.entries, ["first: plain", "second"])
    expectEqual(promise.future.state, "success(2)")
  }

  @Test("Continue does not consume a request: a future linked later receives it too")
  func continueKeepsForInner() {
    let log = Recorder()
    let promise = source(log, "outer")
    let inner = source(log, "inner")
    promise.future.cancel()

    promise.complete(.completeUsing(inner.future))

    expectEqual(log.entries, ["outer: plain", "inner: plain"])
  }

  @Test("Complete consumes a request: the clean-up future of a handler does not receive it")
  func completeConsumes() {
    let log = Recorder()
    let cleanUp = source(log, "clean-up")
    let promise = source(log, "outer", answering: .complete(.completeUsing(cleanUp.future)))

    promise.future.cancel()

    expectEqual(log.entries, ["outer: plain"])
    #expect(cleanUp.future.cancelRequest == nil)
  }

  @Test("A completion through the request consumes the request as an answer does")
  func requestCompleteConsumes() {
    // Two readings: only the answer `.complete` consumes the request, or `request.complete(_:)` does so as well. It is
    // the same answer, given later.
    let log = Recorder()
    let cleanUp = source(log, "clean-up")
    let received = Locked<ReceivedCancelRequest<Int>?>(nil)
    let promise = Promise<Int>()
    promise.onRequestCancel { request in
      received.value = request
      return .continue
    }
    promise.future.cancel()

    received.value?.complete(.completeUsing(cleanUp.future))

    expectEqual(log.entries, [])
    expectEqual(promise.future.state, "pending")
  }

  @Test("A future without any handler ignores the request and reports it as stored")
  func ignored() {
    let promise = Promise<Int>()

    let receipt = promise.future.cancel()

    expectEqual(receipt.effect, .stored)
    expectEqual(promise.future.state, "pending")
    promise.succeed(1)
    expectEqual(promise.future.state, "success(1)")
  }

  @Test("The clean-up future of onComplete is asked after a success and after a failure", arguments: ["ok", "bad"])
  func cleanUpAsked(outcome: String) {
    let log = Recorder()
    let promise = source(log)
    let cleanUp = source(log, "clean-up")
    let derived = promise.future.onComplete { _ in .completeUsing(cleanUp.future) }
    derived.cancel()

    if outcome == "ok" { promise.succeed(1) } else { promise.fail(Oops()) }

    expectEqual(log.entries, ["source: plain", "clean-up: plain"])
    expectEqual(derived.state, "pending")
  }

  @Test("The clean-up future of onComplete is not asked after a cancellation")
  func cleanUpNotAsked() {
    let log = Recorder()
    let promise = source(log)
    let cleanUp = source(log, "clean-up")
    let derived = promise.future.onComplete { _ in .completeUsing(cleanUp.future) }
    derived.cancel()

    promise.completeCancelled()

    expectEqual(log.entries, ["source: plain"])
    cleanUp.succeed(3)
    expectEqual(derived.state, "success(3)")
  }

  @Test("A first request that arrives during clean-up after a cancellation does not reach the clean-up future")
  func cleanUpNotAskedLater() {
    // Two readings: by law 10 (one consumer, one count) the request goes to the future it waits for now. By law 8 (no
    // request is lost) clean-up is asked only if the outcome was not cancelled. The second is the special rule:
    // interrupted clean-up is no clean-up.
    let log = Recorder()
    let cleanUp = source(log, "clean-up")
    let derived = Future<Int>.cancelled("gone").onComplete { _ in .completeUsing(cleanUp.future) }

    derived.cancel()

    expectEqual(log.entries, [])
    expectEqual(derived.state, "pending")
  }

  @Test("The clean-up future continues when its derived future is forced or detaches")
  func cleanUpNotAskedByForce() {
    let log = Recorder()
    let cleanUp = source(log, "clean-up")
    let forced = Future<Int>.cancelled("gone").onComplete { _ in .completeUsing(cleanUp.future) }
    let detaching = Future<Int>.cancelled("gone").onComplete { _ in .completeUsing(cleanUp.future) }

    forced.cancel(.forceImmediately)
    detaching.cancel(.doNotForwardRequest)

    expectEqual([forced.state, detaching.state], ["cancelled", "cancelled"])
    expectEqual(log.entries, [])
    expectEqual(cleanUp.future.state, "pending")
  }

  @Test("cancelRequest of a future and a promise returns the request received")
  func cancelRequest() {
    let promise = Promise<Int>()
    #expect(promise.cancelRequest == nil)
    #expect(promise.future.cancelRequest == nil)

    promise.future.cancel(.doNotForwardIfOthersWaiting, reason: "first")
    expectEqual(promise.cancelRequest?.options, .doNotForwardIfOthersWaiting)
    expectEqual(promise.cancelRequest?.reason.message, "first")
    promise.future.cancel(reason: "second")

    expectEqual(promise.cancelRequest?.options, [])
    expectEqual(promise.future.cancelRequest?.options, [])
    expectEqual(promise.future.cancelRequest?.reason.message, "second")
  }

  @Test("cancelRequest returns the request after completion too")
  func afterCompletion() {
    let promise = Promise<Int>()
    promise.future.cancel(reason: "asked")

    promise.succeed(1)

    expectEqual(promise.future.cancelRequest?.reason.message, "asked")
  }

  @Test("cancelRequest does not return a withheld request")
  func withheld() {
    let promise = Promise<Int>()
    let consumer = promise.future.map { $0 }

    promise.future.cancel(.doNotForwardIfOthersWaiting)

    #expect(promise.future.cancelRequest == nil)
    #expect(promise.cancelRequest == nil)
    withExtendedLifetime(consumer) {}
  }
}
