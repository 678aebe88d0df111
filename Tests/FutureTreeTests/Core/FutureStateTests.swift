import TestSupport
import Testing

@testable import FutureTree

@Suite("FutureState") struct FutureStateTests {
  private func request(_ options: CancellationOptions = [], _ message: String = "test") -> CancelRequest {
    CancelRequest(options: options, reason: CancellationReason(message))
  }

  private func makeState(consumers: Int, createdBy: FutureTree.Operator = .promise) -> FutureState {
    var state = FutureState(createdBy: createdBy)
    for _ in 0..<consumers { _ = state.consumerCame() }
    return state
  }

  @Test("A state ends once")
  func endsOnce() {
    var state = FutureState(createdBy: .promise)

    let ends = [state.end(.failed), state.end(.succeeded), state.end(.cancelled)]

    expectEqual(ends, [true, false, false])
    expectEqual(state.ending, .failed)
  }

  @Test("A sealed promise cannot be completed, but its inner future can end it")
  func sealed() {
    var state = FutureState(createdBy: .promise)
    let seals = [state.seal(), state.seal()]
    _ = state.link(isCleanUp: false)

    let ends = [state.end(.succeeded, byPromise: true), state.end(.succeeded)]

    expectEqual(seals, [true, false])
    expectEqual(ends, [false, true])
  }

  @Test("A request that is not stronger than an earlier one is a duplicate")
  func duplicates() {
    let weak = request(.doNotForwardRequest)
    let polite = request(.doNotForwardIfOthersWaiting)
    let plain = request()

    for (earlier, later, isDuplicate) in [
      (weak, weak, true), (weak, polite, false), (weak, plain, false),
      (polite, weak, true), (polite, polite, true), (polite, plain, false),
      (plain, weak, true), (plain, polite, true), (plain, plain, true),
      (plain, request(.forceImmediately), false),
    ] {
      var state = FutureState(createdBy: .promise)
      _ = state.receive(earlier).disposition

      let disposition = state.receive(later).disposition

      expectEqual(disposition?.isDuplicate, isDuplicate, "\(earlier.options) then \(later.options)")
    }
  }

  @Test("The earliest of the strongest withheld requests is delivered")
  func withheldStrongest() {
    var state = makeState(consumers: 1)
    state.isShared = true
    for (options, message) in [
      (CancellationOptions.doNotForwardIfOthersWaiting, "first"), ([], "second"), ([], "third"),
    ] {
      _ = state.receive(request(options, message)).disposition
    }

    let transition = state.receive(nil, from: (all: 1, departing: 1))

    expectEqual(transition.delivered?.applied.reason.message, "second")
    #expect(state.requests.withheld == nil)
  }

  @Test("A request that may not be forwarded does not use up a withheld request")
  func weakKeepsWithheld() {
    var state = makeState(consumers: 1)
    _ = state.receive(request(.doNotForwardIfOthersWaiting, "polite")).disposition

    _ = state.receive(request(.doNotForwardRequest, "weak")).disposition

    expectEqual(state.requests.asked?.reason.message, "weak")
    expectEqual(state.requests.withheld?.reason.message, "polite")
  }

  @Test("A future that lost its last consumer is abandoned until it gains another")
  func abandoned() {
    var state = makeState(consumers: 2)

    let lostLast = (1...2).map { _ in state.receive(nil, from: (all: 1, departing: 1)).onward != nil }
    let gainedAgain = [state.consumerCame(), state.consumerCame()]

    expectEqual(lostLast, [false, true])
    expectEqual(gainedAgain, [true, false])
  }

  @Test(
    "A request before a body begins has the effect that its operator defines",
    arguments: [
      (Operator.map, Ending.succeeded, FutureState.Start.cancels), (.flatMap, .succeeded, .cancels),
      (.onSuccess, .succeeded, .cancels), (.work, .succeeded, .cancels), (.recover, .failed, .passes),
      (.onFailure, .failed, .runs), (.onCancel, .cancelled, .runs), (.onComplete, .succeeded, .runs),
      (.ensure, .failed, .runs), (.mapError, .failed, .runs), (.delayed, .succeeded, .cancels),
      (.map, .failed, .passes), (.recover, .succeeded, .passes),
    ])
  func askedBefore(createdBy: FutureTree.Operator, ending: Ending, start: FutureState.Start) {
    var state = FutureState(createdBy: createdBy)
    _ = state.receive(request()).disposition

    let started = state.upstreamEnded(ending, hasExecutor: false)

    expectEqual(started, start)
  }

  @Test("A shield ends at once after any request, and forwards nothing")
  func shielded() {
    for options in [[], .doNotForwardIfOthersWaiting, .doNotForwardRequest, .forceImmediately] as [CancellationOptions]
    {
      var state = FutureState(createdBy: .shielded)

      let transition = state.receive(request(options))

      expectEqual(transition.disposition?.effect, .ends)
      expectEqual(transition.onward, .leaves)
      #expect(transition.forwarded(request(options)) == nil)
    }
  }

  @Test("A queued body is skipped after a request, and begins otherwise")
  func queued() {
    var asked = FutureState(createdBy: .map)
    _ = asked.upstreamEnded(.succeeded, hasExecutor: true)
    var begun = asked

    let disposition = asked.receive(request()).disposition
    let begins = begun.bodyBegins()

    expectEqual(disposition?.effect, .skipsBody)
    #expect(begins)
    expectEqual(begun.receive(request()).disposition?.effect, .stores)
  }
}

extension FutureState.Disposition {
  fileprivate var isDuplicate: Bool {
    switch self {
    case .duplicate, .storedBefore: true
    default: false
    }
  }

  fileprivate var effect: FutureState.Effect? {
    if case .applied(let effect) = self { effect } else { nil }
  }
}
