/// An instant by which work must complete.
///
/// ```swift
/// let deadline = FutureDeadline.after(.seconds(10))
/// try await withCancelScope(deadline: deadline) { scope in try await render(in: scope).value }
/// print(deadline.remaining)
/// ```
///
/// A duration would start again in each part of the work; a deadline does not.
public struct FutureDeadline: Sendable {
  /// The clock of the deadline.
  public let clock: any FutureClock
  /// The instant on the clock.
  public let instant: Duration

  /// Creates a deadline at an instant of a clock.
  public init(_ instant: Duration, of clock: any FutureClock) {
    self.clock = clock
    self.instant = instant
  }

  /// Returns a deadline at `duration` from now.
  public static func after(_ duration: Duration, clock: any FutureClock = .system) -> FutureDeadline {
    FutureDeadline(clock.now + duration.withinTime, of: clock)
  }

  /// The remaining time. Zero or negative after the deadline.
  public var remaining: Duration { instant.withinTime - clock.now }

  /// Returns whether the deadline has passed, or will have passed after `duration`.
  public func isExceeded(after duration: Duration = .zero) -> Bool { remaining <= duration }

  /// Returns the deadline that passes first. `nil` if both are.
  package static func nearer(_ first: FutureDeadline?, _ second: FutureDeadline?) -> FutureDeadline? {
    guard let first, let second else { return first ?? second }
    return second.remaining < first.remaining ? second : first
  }
}

extension Duration {
  /// The duration, limited to the seconds that an `Int64` can count, so that a sum does not overflow.
  fileprivate var withinTime: Duration { min(max(self, .seconds(Int64.min)), .seconds(Int64.max)) }
}
