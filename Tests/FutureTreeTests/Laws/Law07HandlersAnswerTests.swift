import FutureTree
import TestSupport
import Testing

@Suite("Law 7: handlers answer", .tags(.law07))
struct Law07HandlersAnswerTests {
  @Test("After .continue the work continues, and the promise is completed later")
  func continues() {
    let promise = Promise<Int>()
    promise.onRequestCancel { _ in .continue }

    promise.future.cancel()

    expectEqual(promise.future.state, "pending")
    #expect(promise.succeed(1))
    expectEqual(promise.future.state, "success(1)")
  }

  static let completions: [(Completion<Int>, String)] = [
    (.success(1), "success(1)"), (.failure(Oops()), "failure(oops)"), (.cancelled, "cancelled"),
    (.cancelled("mine"), "cancelled"), (.completeUsing(.succeeded(2)), "success(2)"),
    (.completeUsing(.failed(Oops("inner"))), "failure(inner)"),
  ]

  @Test(".complete completes the promise at once with the completion of the handler", arguments: completions)
  func completes(completion: Completion<Int>, state: String) {
    let promise = Promise<Int>()
    promise.onRequestCancel { _ in .complete(completion) }

    promise.future.cancel()

    expectEqual(promise.future.state, state)
    #expect(!promise.succeed(9))
  }

  @Test("A cancelled answer takes the reason of the request, unless it has its own")
  func reasons() {
    let plain = Promise<Int>()
    plain.onRequestCancel { _ in .complete(.cancelled) }
    let own = Promise<Int>()
    own.onRequestCancel { _ in .complete(.cancelled("own")) }

    plain.future.cancel(reason: "asked")
    own.future.cancel(reason: "asked")

    expectEqual(plain.future.reason?.message, "asked")
    expectEqual(own.future.reason?.message, "own")
  }

  // Law 11 (bodies that have not begun): `ensure` of the same source keeps the success.
  @Test("The answer of a handler reaches the derived future, where a success becomes cancelled")
  func answerReachesDerived() {
    let failing = Promise<Int>()
    failing.onRequestCancel { _ in .complete(.failure(Oops())) }
    let succeeding = Promise<Int>()
    succeeding.onRequestCancel { _ in .complete(.success(1)) }
    let first = failing.future.map { $0 }
    let second = succeeding.future.map { $0 }
    let third = succeeding.future.ensure {}

    first.cancel()
    second.cancel()

    expectEqual(first.state, "failure(oops)")
    expectEqual(second.state, "cancelled")
    expectEqual(third.state, "success(1)")
  }

  @Test("completeUsing seals the promise: only the given future completes it")
  func seals() {
    let promise = Promise<Int>()
    let cleanUp = Promise<Int>()
    promise.onRequestCancel { _ in .complete(.completeUsing(cleanUp.future)) }

    promise.future.cancel()
    expectEqual(promise.future.state, "pending")
    #expect(!promise.succeed(1))
    #expect(!promise.completeCancelled())
    cleanUp.succeed(2)

    expectEqual(promise.future.state, "success(2)")
  }

  @Test("completeUsing releases the handlers of the promise")
  func sealReleasesHandlers() {
    let census = Census()
    let promise = Promise<Int>()
    let cleanUp = Promise<Int>()
    func install(_ probe: Probe, _ answer: CancelRequestResponse<Int>) {
      promise.onRequestCancel { _ in
        probe.touch()
        return answer
      }
    }
    install(census.probe(), .continue)
    install(census.probe(), .complete(.completeUsing(cleanUp.future)))

    promise.future.cancel()

    expectEqual(promise.future.state, "pending")
    expectEqual(census.alive, 0)
  }

  @Test("An owner that seals the promise releases its handlers without a call")
  func sealByOwner() {
    let log = Recorder()
    let census = Census()
    let promise = Promise<Int>()
    let inner = Promise<Int>()
    func install(_ probe: Probe) {
      promise.onRequestCancel { _ in
        probe.touch()
        log("called")
        return .continue
      }
    }
    install(census.probe())

    promise.complete(.completeUsing(inner.future))
    promise.future.cancel()

    expectEqual(log.entries, [])
    expectEqual(census.alive, 0)
  }

  @Test("A promise sealed onto a completed future completes at once")
  func sealOntoCompleted() {
    let promise = Promise<Int>()

    promise.complete(.completeUsing(.cancelled("gone")))

    expectEqual(promise.future.reason?.message, "gone")
  }

  @Test("A sealed promise may be dropped: its future completes as the other does")
  func sealedAndDropped() {
    let inner = Promise<Int>()
    func makeFuture() -> Future<Int> {
      let promise = Promise<Int>()
      promise.complete(.completeUsing(inner.future))
      return promise.future
    }
    let future = makeFuture()

    inner.succeed(1)

    expectEqual(future.state, "success(1)")
  }

  @Test("A received request completes its future later, once")
  func requestCompletesLater() {
    let received = Locked<ReceivedCancelRequest<Int>?>(nil)
    let promise = Promise<Int>()
    promise.onRequestCancel { request in
      received.value = request
      return .continue
    }
    promise.future.cancel(reason: "asked")
    expectEqual(promise.future.state, "pending")

    let won = received.value?.complete(.cancelled)
    let again = received.value?.complete(.success(1))

    expectEqual(won, true)
    expectEqual(again, false)
    expectEqual(promise.future.state, "cancelled")
    expectEqual(promise.future.reason?.message, "asked")
  }

  @Test("A received request can seal its future onto another")
  func requestSeals() {
    let promise = Promise<Int>()
    let cleanUp = Promise<Int>()
    promise.onRequestCancel { request in
      request.complete(.completeUsing(cleanUp.future))
      return .continue
    }

    promise.future.cancel()
    #expect(!promise.succeed(1))
    cleanUp.succeed(2)

    expectEqual(promise.future.state, "success(2)")
  }

  @Test("A handler that uses its request does not retain its promise")
  func noCycle() {
    let log = Recorder()
    func makeFuture() -> Future<Int> {
      let promise = Promise<Int>()
      promise.onRequestCancel { request in
        request.complete(.success(1))
        return .continue
      }
      promise.future.observe { log($0.error is BrokenPromise ? "broken" : $0.state) }
      return promise.future
    }

    _ = makeFuture()

    expectEqual(log.entries, ["broken"])
  }

  @Test("A received request has the options and the reason")
  func optionsAndReason() {
    let log = Recorder()
    let promise = Promise<Int>()
    promise.onRequestCancel { request in
      log("\(request.options.text): \(request.reason.message)")
      return .continue
    }

    promise.future.cancel(.doNotForwardIfOthersWaiting, reason: "why")

    expectEqual(log.entries, ["ifOthers: why"])
  }
}
