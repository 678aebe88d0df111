/// An adapter that makes a `FutureClock` from any Swift `Clock`. Each timer is a task that sleeps.
///
/// ```swift
/// let answer = load().timeout(after: .seconds(5), clock: ClockAdapter(SuspendingClock()))
/// ```
public struct ClockAdapter<Adapted: Clock>: FutureClock where Adapted.Duration == Duration {
  private let clock: Adapted
  private let origin: Adapted.Instant

  /// Creates a clock whose `now` starts at zero.
  public init(_ clock: Adapted) {
    self.clock = clock
    origin = clock.now
  }

  public var now: Duration { origin.duration(to: clock.now) }

  public func schedule(after duration: Duration, _ body: @escaping @Sendable () -> Void) -> FutureTimer {
    let body = Locked<(@Sendable () -> Void)?>(body)
    let deadline = clock.now.advanced(by: duration.clampedToMaximumTimerDuration)
    let task = Task { [clock] in
      // If the sleep throws, the timer was cancelled, and the body has been taken.
      try? await clock.sleep(until: deadline, tolerance: nil)
      body.withLock { $0.take() }?()
    }
    return FutureTimer {
      body.release { $0.take() }
      task.cancel()
    }
  }
}
