import FutureTree

/// A clock that stands still until the test moves it.
///
/// ```swift
/// let clock = ManualClock()
/// let answer = Promise<Int>().future.timeout(after: .seconds(5), clock: clock)
/// clock.advance(by: .seconds(5))
/// #expect(answer.isCompleted)
/// ```
///
/// Bodies are called on the thread that advances the clock, one after another, the earliest first. It can be used from any
/// thread; from inside a body, it goes on from the time of that body.
public final class ManualClock: FutureClock {
  private struct Time {
    var now = Duration.zero
    var timers = TimerQueue()
  }

  private let time = Locked(Time())

  /// A clock at zero.
  public init() {}

  public var now: Duration { time.withLock { $0.now } }

  /// How many timers wait.
  public var timerCount: Int { time.withLock { $0.timers.count } }

  /// When the next timer is due; nil if none waits.
  public var nextDeadline: Duration? { time.withLock { $0.timers.nextDeadline } }

  public func schedule(after duration: Duration, _ body: @escaping @Sendable () -> Void) -> FutureTimer {
    let entry = time.withLock { $0.timers.insert(at: $0.now + max(duration, .zero), body) }
    // Weak: the clock alone holds what is to happen, so that it is dropped with the clock.
    return FutureTimer { [weak self, weak entry] in
      guard let self, let entry else { return }
      let body = time.withLock { $0.timers.remove(entry) }
      _ = body  // Freed here, not under the lock.
    }
  }

  /// Moves the time forward, and calls on the way what is due, each at its own time.
  ///
  /// When this returns, everything that was due has happened, what it scheduled within the time included; and what came of
  /// it on executors that run at once. Inside a callback of a future, consumers hear of it when the callback is done.
  ///
  /// - Precondition: `duration` is not negative.
  public func advance(by duration: Duration) {
    precondition(
      duration >= .zero, "A clock cannot move back by \(duration.rounded). Pass zero or a positive duration.")
    let target = now + duration
    while let body = popDue(at: target) { body() }
    time.withLock { $0.now = max($0.now, target) }
  }

  /// Moves the time to the next timer, and calls what is due then. Returns false if no timer waits.
  @discardableResult
  public func advanceToNextTimer() -> Bool {
    guard let next = nextDeadline else { return false }
    advance(by: max(.zero, next - now))
    return true
  }

  private func popDue(at target: Duration) -> TimerQueue.Body? {
    time.withLock { time in
      guard let (deadline, body) = time.timers.popDue(at: target) else { return nil }
      time.now = max(time.now, deadline)
      return body
    }
  }
}
