/// A clock that reads the time and schedules timers.
///
/// ```swift
/// let clock = ManualClock()  // FutureTreeTesting
/// let answer = load().timeout(after: .seconds(5), clock: clock)
/// clock.advance(by: .seconds(5))
/// ```
///
/// Swift's `Clock` only suspends a task. With it, every timer would cost a task, and a test could not know when a timer has
/// been set. This protocol is synchronous. `SystemClock` is the system's monotonic clock. `ClockAdapter` adapts any
/// `Clock<Duration>`.
public protocol FutureClock: Sendable {
  /// The time since an origin that the clock defines. It never decreases.
  var now: Duration { get }

  /// Calls `body` once after `duration`, unless the timer is cancelled first.
  ///
  /// A duration of zero or less is due at once. `body` is then called soon, but never before this method returns.
  func schedule(after duration: Duration, _ body: @escaping @Sendable () -> Void) -> FutureTimer
}

/// A handle for a scheduled timer.
public struct FutureTimer: Sendable {
  private let onCancel: @Sendable () -> Void

  /// Creates a timer, for implementations of `FutureClock`. `onCancel` runs when the timer is cancelled.
  public init(onCancel: @escaping @Sendable () -> Void) {
    self.onCancel = onCancel
  }

  /// Cancels the timer. If its body has not begun, it does not begin and is released. Dropping a timer cancels nothing.
  public func cancel() {
    onCancel()
  }
}
