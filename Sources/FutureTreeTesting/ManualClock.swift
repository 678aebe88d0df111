import FutureTree

/// A clock whose time moves only when the test advances it.
///
/// ```swift
/// let clock = ManualClock()
/// let answer = Promise<Int>().future.timeout(after: .seconds(5), clock: clock)
/// clock.advance(by: .seconds(5))
/// #expect(answer.isCompleted)
/// ```
///
/// Timers fire on the thread that advances the clock, one after another, the earliest first. A timer's body can advance the
/// clock: the time then moves on from the deadline of that timer.
///
/// - Note: All members can be used from any thread.
public final class ManualClock: FutureClock {
  private struct Time {
    var now = Duration.zero
    var timers = TimerQueue()
  }

  private let time = Locked(Time())

  /// Creates a clock whose time is zero.
  public init() {}

  public var now: Duration { time.withLock { $0.now } }

  /// The number of timers that have not fired.
  public var timerCount: Int { time.withLock { $0.timers.count } }

  /// The deadline of the next timer, or `nil` if there is no timer.
  public var nextDeadline: Duration? { time.withLock { $0.timers.nextDeadline } }

  public func schedule(after duration: Duration, _ body: @escaping @Sendable () -> Void) -> FutureTimer {
    let entry = time.withLock { $0.timers.insert(at: $0.now + max(duration, .zero), body) }
    // Weak: only the clock keeps the body, so that the body is released with the clock.
    return FutureTimer { [weak self, weak entry] in
      guard let self, let entry else { return }
      let body = time.withLock { $0.timers.remove(entry) }
      _ = body  // Released here, outside the lock.
    }
  }

  /// Moves the time forward and fires the timers that are due, each at its own deadline.
  ///
  /// When this method returns, every timer that was due has fired. This includes timers that other timers scheduled within
  /// `duration`. The bodies of futures that these timers completed have run as well, if their executors run jobs at once.
  /// If you call this method inside a callback of a future, consumers are notified when the callback returns.
  ///
  /// - Precondition: `duration` is not negative.
  public func advance(by duration: Duration) {
    precondition(
      duration >= .zero, "A clock cannot move back by \(duration.rounded). Pass zero or a positive duration.")
    let target = now + duration
    while let body = popDue(at: target) { body() }
    time.withLock { $0.now = max($0.now, target) }
  }

  /// Moves the time to the next deadline and fires the timers that are due then.
  ///
  /// - Returns: `false` if there is no timer.
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
