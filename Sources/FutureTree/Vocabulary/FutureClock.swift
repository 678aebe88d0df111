/// What tells the time and calls back when it has come.
///
/// ```swift
/// let clock = ManualClock()  // FutureTreeTesting
/// let answer = load().timeout(after: .seconds(5), clock: clock)
/// clock.advance(by: .seconds(5))
/// ```
///
/// Swift's `Clock` only offers to sleep in a task, so that every timer would cost one, and a test could not know when a
/// timer has been set. This protocol is synchronous. `SystemClock` is the clock of the machine, `ClockAdapter` makes one of
/// any `Clock<Duration>`.
public protocol FutureClock: Sendable {
  /// The time that has passed since an origin of the clock's own. It never goes back.
  var now: Duration { get }

  /// Calls `body` once, when `duration` has passed, unless the timer is cancelled before.
  ///
  /// A duration of zero or less is due at once; `body` is then called soon, and never before this returns.
  func schedule(after duration: Duration, _ body: @escaping @Sendable () -> Void) -> FutureTimer
}

/// Something that a clock will do.
public struct FutureTimer: Sendable {
  private let onCancel: @Sendable () -> Void

  /// For those who write a clock: what to do when the timer is cancelled.
  public init(onCancel: @escaping @Sendable () -> Void) {
    self.onCancel = onCancel
  }

  /// Cancels the timer: if its body has not begun, it does not begin, and is released. Dropping a timer cancels nothing.
  public func cancel() {
    onCancel()
  }
}
