import FutureTree

/// The timers of one exchange. After `end()`, no timer is active and none can be set.
final class ExchangeTimers: Sendable {
  enum Name {
    case total
    case idle
  }

  private struct State {
    var total: FutureTimer?
    var idle: FutureTimer?
    var hasEnded = false

    /// - Returns: The timer that had the name.
    mutating func replace(_ name: Name, by timer: FutureTimer?) -> FutureTimer? {
      var timer = timer
      switch name {
      case .total: swap(&total, &timer)
      case .idle: swap(&idle, &timer)
      }
      return timer
    }
  }

  private let clock: any FutureClock
  private let state = Locked(State())

  init(_ clock: any FutureClock) {
    self.clock = clock
  }

  var now: Duration { clock.now }

  /// Sets a timer that calls `body`, and replaces the timer with the same name.
  func set(_ name: Name, after duration: Duration, _ body: @escaping @Sendable () -> Void) {
    let timer = clock.schedule(after: duration, body)
    let unwanted = state.withLock { state in
      state.hasEnded ? timer : state.replace(name, by: timer)
    }
    unwanted?.cancel()
  }

  func cancel(_ name: Name) {
    state.withLock { $0.replace(name, by: nil) }?.cancel()
  }

  func end() {
    let (total, idle) = state.withLock { state in
      state.hasEnded = true
      return (state.total.take(), state.idle.take())
    }
    total?.cancel()
    idle?.cancel()
  }

  deinit {
    end()
  }
}
