import TestSupport
import Testing

@testable import FutureTreeHTTP

@Suite("ExchangeState, streams") struct ExchangeStateStreamTests {
  private enum Event: CaseIterable {
    case head, data, fault, cancel, force, deadline, idle, pause, resume, requestFailed, completed, stopped, failed
  }

  private var state = ExchangeState(ExchangeState.Rules(idleTimeout: .seconds(10)))

  @Test("A stream is delivered when its head has been received")
  mutating func delivered() {
    _ = state.headArrived(.ok)

    expectEqual(state.worked(hasStream: true).name, "deliver")
    _ = state.dataArrived()
    expectEqual(state.worked().name, "none")
    expectEqual(state.transportEnded(.completed).name, "received")
  }

  @Test("A head that arrives while the load is cancelled is not delivered")
  mutating func cancelledDuringWork() {
    _ = (state.headArrived(.ok), state.cancelAsked())

    expectEqual(state.worked(hasStream: true).name, "none")
    expectEqual(state.transportEnded(.completed).name, "cancelled")
  }

  @Test("A stream whose transport fails after a request is cancelled, because its last bytes were discarded")
  mutating func failsAfterRequest() {
    _ = (state.headArrived(.ok), state.worked(hasStream: true))
    expectEqual(state.cancelAsked().name, "stop")
    expectEqual(state.dataArrived().name, "none")

    expectEqual(state.transportEnded(.failed(HTTPError(.connectionLost, "cut"))).name, "cancelled")
  }

  @Test("After the delivery, the deadline of the load has no effect, and the idle timeout has")
  mutating func limits() {
    _ = (state.headArrived(.ok), state.worked(hasStream: true))

    expectEqual(state.deadlinePassed().name, "none")
    expectEqual(state.idleTimerFired(now: .seconds(10)).0.name, "timedOut, stop")
  }

  @Test("While the transport waits for the reader, the idle timeout is suspended")
  mutating func paused() {
    _ = (state.headArrived(.ok), state.worked(hasStream: true))
    _ = state.paused()
    expectEqual(state.idleTimerFired(now: .seconds(100)).again, .seconds(10))

    state.resumed(now: .seconds(100))
    expectEqual(state.idleTimerFired(now: .seconds(105)).again, .seconds(5))
    expectEqual(state.idleTimerFired(now: .seconds(110)).0.name, "timedOut, stop")
  }

  @Test("Every sequence of five events ends at most once, and delivers before its end")
  func sequences() {
    var faults: [String] = []
    for number in 0..<371_293 {  // 13 events to the power of 5.
      var (rest, path) = (number, [Event]())
      for _ in 0..<5 {
        path.append(Event.allCases[rest % 13])
        rest /= 13
      }
      if let fault = ExchangeStateStreamTests.fault(of: path) { faults.append("\(path): \(fault)") }
    }

    #expect(faults.isEmpty, "\(faults.prefix(5))")
  }

  private static func fault(of path: [Event]) -> String? {
    var state = ExchangeState(ExchangeState.Rules(idleTimeout: .seconds(10)))
    var (ends, deliveries, isAsked) = (0, 0, false)
    for event in path {
      if event == .cancel || event == .force { isAsked = true }
      var action = perform(event, &state)
      if case .work = action {
        if ends > 0 { return "work after the end" }
        let fault = event == .fault ? HTTPError(.bodyTooLarge, "large") : nil
        action = state.worked(fault, hasStream: event == .head && deliveries == 0)
      }
      switch action {
      case .none, .stop: break
      case .work: return "work without data"
      case .deliver:
        deliveries += 1
        if ends > 0 || isAsked { return "a late delivery" }
      case .end: ends += 1
      }
    }
    return ends > 1 || deliveries > 1 ? "\(ends) ends, \(deliveries) deliveries" : nil
  }

  private static func perform(_ event: Event, _ state: inout ExchangeState) -> ExchangeState.Action {
    switch event {
    case .head: return state.headArrived(.ok)
    case .data, .fault: return state.dataArrived()
    case .cancel: return state.cancelAsked()
    case .force: return state.cancelAsked(isForced: true)
    case .deadline: return state.deadlinePassed()
    case .idle: return state.idleTimerFired(now: .seconds(100)).0
    case .pause:
      _ = state.paused()
      return .none
    case .resume:
      state.resumed(now: .zero)
      return .none
    case .requestFailed: return state.requestFailed(HTTPError(.wrongBodyLength, "short"))
    case .completed: return state.transportEnded(.completed)
    case .stopped: return state.transportEnded(.stopped)
    case .failed: return state.transportEnded(.failed(HTTPError(.connectionLost, "lost")))
    }
  }
}

extension ExchangeState.Action {
  fileprivate var name: String {
    switch self {
    case .none: "none"
    case .stop: "stop"
    case .work: "work"
    case .deliver: "deliver"
    case .end(.received, _): "received"
    case .end(.failure(let error), let stops): "\(error.code)\(stops ? ", stop" : "")"
    case .end(.cancelled, _): "cancelled"
    }
  }
}
