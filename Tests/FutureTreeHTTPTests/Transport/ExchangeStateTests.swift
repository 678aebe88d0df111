import TestSupport
import Testing

@testable import FutureTreeHTTP

@Suite("ExchangeState") struct ExchangeStateTests {
  private var state = ExchangeState(ExchangeState.Rules())

  private func summary(_ action: ExchangeState.Action) -> String {
    switch action {
    case .none: "none"
    case .stop: "stop"
    case .work(let sent): sent.map { "work \($0.completed)" } ?? "work"
    case .deliver: "deliver"
    case .end(.received, _): "received"
    case .end(.failure(let error), let stops): "\(error.code)\(stops ? ", stop" : "")"
    case .end(.cancelled, _): "cancelled"
    }
  }

  @Test("Head, body and end are forwarded in turn")
  mutating func response() {
    let actions = [
      state.headArrived(.ok), state.worked(), state.dataArrived(), state.worked(), state.transportEnded(.completed),
    ]

    expectEqual(actions.map(summary), ["work 0", "none", "work 0", "none", "received"])
  }

  @Test("An interim response is work without progress, unless it arrives after a cancellation request or the end")
  mutating func interim() {
    let actions = [
      state.interimArrived(), state.worked(), state.headArrived(HTTPStatus(103)), state.interimArrived(),
      state.cancelAsked(isForced: true), state.worked(), state.interimArrived(), state.trailersArrived(),
    ]
    var asked = ExchangeState(ExchangeState.Rules())

    expectEqual(actions.map(summary), ["work", "none", "none", "work", "none", "cancelled", "none", "none"])
    expectEqual([asked.cancelAsked(), asked.interimArrived()].map(summary), ["stop", "none"])
    expectEqual(summary(asked.transportEnded(.completed)), "received")
  }

  @Test("Trailers belong to a whole response, also after a cancellation request", arguments: [true, false])
  mutating func trailers(isWhole: Bool) {
    _ = (state.headArrived(.ok), state.worked(), state.cancelAsked())
    if !isWhole { _ = state.dataArrived() }

    let actions = [state.trailersArrived(), state.worked(), state.transportEnded(.completed)]

    expectEqual(actions.map(summary), isWhole ? ["work", "none", "received"] : ["none", "none", "cancelled"])
  }

  @Test("A cancellation request stops the transport, and the transfer ends when the transport confirms")
  mutating func cancelled() {
    let actions = [state.cancelAsked(), state.cancelAsked(), state.transportEnded(.stopped)]

    expectEqual(actions.map(summary), ["stop", "none", "cancelled"])
  }

  @Test("A success that arrives after a cancellation request is kept")
  mutating func raced() {
    let actions = [
      state.headArrived(.ok), state.worked(), state.dataArrived(), state.worked(), state.cancelAsked(),
      state.transportEnded(.completed),
    ]

    expectEqual(actions.map(summary).suffix(2), ["stop", "received"])
  }

  @Test(
    "A success that loses its head or its bytes after a cancellation request ends cancelled", arguments: [true, false])
  mutating func lost(head: Bool) {
    if !head { _ = (state.headArrived(.ok), state.worked()) }
    _ = state.cancelAsked()
    let dropped = head ? state.headArrived(.ok) : state.dataArrived()

    expectEqual(summary(dropped), "none")
    expectEqual(summary(state.transportEnded(.completed)), "cancelled")
  }

  @Test("A transport that stops without a request has failed")
  mutating func stoppedByItself() {
    expectEqual(summary(state.transportEnded(.stopped)), "transportFailed")
  }

  @Test("A deadline ends the transfer at once, and later events change nothing")
  mutating func deadline() {
    let actions = [
      state.deadlinePassed(), state.deadlinePassed(), state.headArrived(.ok), state.dataArrived(),
      state.cancelAsked(), state.transportEnded(.completed),
    ]

    expectEqual(actions.map(summary), ["timedOut, stop", "none", "none", "none", "none", "none"])
  }

  @Test("An informational response is not the response", arguments: [100, 102, 103])
  mutating func informational(status: Int) {
    expectEqual(summary(state.headArrived(HTTPStatus(status))), "none")
    #expect(!state.hasHead)
  }

  @Test("Force ends the transfer at once, and a later success changes nothing")
  mutating func forced() {
    _ = (state.headArrived(.ok), state.worked())

    expectEqual(summary(state.cancelAsked(isForced: true)), "cancelled")
    expectEqual(summary(state.transportEnded(.completed)), "none")
  }

  @Test("A deadline after a cancellation request ends the transfer cancelled")
  mutating func deadlineAfterCancel() {
    _ = state.cancelAsked()

    expectEqual(summary(state.deadlinePassed()), "cancelled")
  }

  @Test("A body that cannot be sent ends the transfer at once")
  mutating func bodyFailed() {
    expectEqual(summary(state.requestFailed(HTTPError(.wrongBodyLength, "short"))), "wrongBodyLength, stop")
    expectEqual(summary(state.requestFailed(HTTPError(.wrongBodyLength, "short"))), "none")
  }

  @Test("A part that the receiver refuses ends the transfer and stops the transport")
  mutating func refused() {
    _ = state.headArrived(.ok)

    expectEqual(summary(state.worked(HTTPError(.bodyTooLarge, "large"))), "bodyTooLarge, stop")
  }

  @Test("An end that arrives during work waits for it, and occurs once")
  mutating func heldEnd() {
    _ = (state.headArrived(.ok), state.worked(), state.dataArrived())

    let actions = [
      state.deadlinePassed(), state.cancelAsked(isForced: true), state.worked(), state.transportEnded(.completed),
    ]

    expectEqual(actions.map(summary), ["none", "none", "timedOut, stop", "none"])
  }

  @Test("Progress never decreases and never exceeds the total, even when a body is sent twice")
  func progress() {
    var state = ExchangeState(ExchangeState.Rules(reportsProgress: true, bodyLength: 10))
    var seen: [String] = []
    for count in [4, 3, 10, 14, 20] {
      seen.append(summary(state.bodySent(count)))
      _ = state.worked()
    }

    expectEqual(seen, ["work 4", "none", "work 10", "none", "none"])
  }

  @Test("Progress is not reported without a handler")
  mutating func noProgress() {
    expectEqual(summary(state.bodySent(4)), "none")
  }

  @Test("Idle time is measured from the last byte in either direction")
  func idle() {
    var state = ExchangeState(ExchangeState.Rules(idleTimeout: .seconds(10)))

    _ = state.bodySent(1, now: .seconds(4))
    expectEqual(state.idleTimerFired(now: .seconds(10)).again, .seconds(4))
    _ = (state.headArrived(.ok, now: .seconds(12)), state.worked())
    expectEqual(state.idleTimerFired(now: .seconds(14)).again, .seconds(8))
    _ = (state.dataArrived(now: .seconds(20)), state.worked())
    let (action, again) = state.idleTimerFired(now: .seconds(30))

    expectEqual(summary(action), "timedOut, stop")
    #expect(again == nil)
  }
}
