import FutureTree

/// The timers of one exchange. After `end()`, no timer is active and none can be set.
final class ExchangeTimers: Sendable {
  enum Name: Hashable {
    case total
    case idle
  }

  private struct State {
    var timers: [Name: FutureTimer] = [:]
    var hasEnded = false
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
      state.hasEnded ? timer : state.timers.updateValue(timer, forKey: name)
    }
    unwanted?.cancel()
  }

  func cancel(_ name: Name) {
    state.withLock { $0.timers.removeValue(forKey: name) }?.cancel()
  }

  func end() {
    let timers = state.withLock { state in
      state.hasEnded = true
      defer { state.timers = [:] }
      return state.timers
    }
    for timer in timers.values { timer.cancel() }
  }

  deinit {
    end()
  }
}
