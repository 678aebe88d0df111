import Foundation

/// A source of the current date, for comparison with calendar dates such as `Retry-After` and the expiry of tokens.
///
/// ```swift
/// let clock = ManualClock()  // FutureTreeTesting. `wallClock()` is in FutureTreeHTTPTesting.
/// let retry = Retry(clock: clock, date: clock.wallClock())
/// ```
///
/// A date can jump and move backward. Durations are measured with a `FutureClock` instead.
public struct WallClock: Sendable {
  private let date: @Sendable () -> Date

  /// Creates a clock from a closure. The closure is called from any thread.
  public init(_ date: @escaping @Sendable () -> Date) {
    self.date = date
  }

  /// The clock of the system.
  public static let system = WallClock { Date.now }

  /// The current date.
  public var now: Date { date() }
}
