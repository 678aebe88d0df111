import Foundation
import FutureTree
import FutureTreeHTTP

/// One exchange on the wire: a script of events in simulated time.
final class SimulatedConnection: Sendable {
  enum Event: Sendable {
    case bodySent(Int)
    case head(HTTPStatus, [(name: String, value: String)])
    case bytes(Data)
    case end(HTTPExchange.End)
    /// Nothing happens any more, until the connection is stopped.
    case stall
  }

  struct Step: Sendable {
    var delay: Duration
    let event: Event
  }

  /// The reaction to a cancellation.
  enum Closing: Sendable {
    case atOnce
    case after(Duration)
    case never
  }

  private struct State {
    var steps: ArraySlice<Step>
    var timer: FutureTimer?
    var isStopped = false
    var hasEnded = false
  }

  private let exchange: HTTPExchange
  private let clock: any FutureClock
  private let closing: Closing
  /// A fault of the calls of the transport.
  private let fault: SimulatedFault?
  private let onEnd: @Sendable () -> Void
  private let state: Locked<State>

  init(
    _ exchange: HTTPExchange, _ steps: [Step], closing: Closing, fault: SimulatedFault?, clock: any FutureClock,
    onEnd: @escaping @Sendable () -> Void
  ) {
    self.exchange = exchange
    self.clock = clock
    self.closing = closing
    self.fault = fault
    self.onEnd = onEnd
    state = Locked(State(steps: steps[...]))
  }

  /// Performs steps that are due, and schedules the next one.
  func proceed() {
    while let step = state.withLock({ $0.isStopped ? nil : $0.steps.first }) {
      guard step.delay <= .zero else {
        state.withLock { $0.steps[$0.steps.startIndex].delay = .zero }
        return schedule(after: step.delay) { $0.proceed() }
      }
      state.withLock { $0.steps = $0.steps.dropFirst() }
      guard perform(step.event) else { return }
    }
  }

  /// Returns whether the next step may follow.
  private func perform(_ event: Event) -> Bool {
    switch event {
    case .bodySent(let count): exchange.bodySent(count)
    case .head(let status, let fields): exchange.receiveHead(status, fields)
    case .bytes(let bytes):
      guard let room = exchange.receive(bytes), !room.isCompleted else { break }
      room.observe { [weak self] _ in self?.proceed() }
      return false
    case .end(let end): self.end(end)
    case .stall: return false
    }
    return true
  }

  /// Closes the connection because of a cancellation.
  func stop() {
    if case .never = closing { return }
    let timer = state.withLock { state in
      state.isStopped = true
      return state.timer.take()
    }
    timer?.cancel()
    if case .after(let delay) = closing { schedule(after: delay) { $0.end(.stopped) } } else { end(.stopped) }
  }

  private func end(_ end: HTTPExchange.End) {
    let isFirst = state.withLock { state in
      defer { state.hasEnded = true }
      state.steps = []
      return !state.hasEnded
    }
    guard isFirst else { return }
    onEnd()
    exchange.end(end)
    if fault == .reportsAfterEnd || fault == .reportsTwice {
      exchange.receiveHead(.ok, [("Content-Length", "3")])
      exchange.receive(Data("abc".utf8))
    }
    if fault == .reportsTwice { exchange.end(.completed) }
  }

  private func schedule(after delay: Duration, _ body: @escaping @Sendable (SimulatedConnection) -> Void) {
    let timer = clock.schedule(after: delay) { body(self) }
    state.withLock { $0.timer = timer }
  }
}
