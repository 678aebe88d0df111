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

/// Any clock of Swift as a `FutureClock`. Each timer is a task that sleeps.
///
/// ```swift
/// let answer = load().timeout(after: .seconds(5), clock: ClockAdapter(SuspendingClock()))
/// ```
public struct ClockAdapter<Adapted: Clock>: FutureClock where Adapted.Duration == Duration {
  private let clock: Adapted
  private let origin: Adapted.Instant

  /// A clock whose time begins now.
  public init(_ clock: Adapted) {
    self.clock = clock
    origin = clock.now
  }

  public var now: Duration { origin.duration(to: clock.now) }

  public func schedule(after duration: Duration, _ body: @escaping @Sendable () -> Void) -> FutureTimer {
    let body = Locked<(@Sendable () -> Void)?>(body)
    let deadline = clock.now.advanced(by: duration.withinCentury)
    let task = Task { [clock] in
      // A sleep that throws was cancelled, and then the body has been taken.
      try? await clock.sleep(until: deadline, tolerance: nil)
      body.withLock { $0.take() }?()
    }
    return FutureTimer {
      let unused = body.withLock { $0.take() }
      _ = unused  // Freed here, not under the lock.
      task.cancel()
    }
  }
}
