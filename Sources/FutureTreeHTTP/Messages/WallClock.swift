import Foundation

/// What tells the date, for what the world dates: `Retry-After`, and when a token expires.
///
/// ```swift
/// let clock = ManualClock()  // FutureTreeTesting
/// let retry = Retry(clock: clock, date: clock.wallClock())
/// ```
///
/// Dates can jump and go back; what only takes time is measured with a `FutureClock`.
public struct WallClock: Sendable {
  private let date: @Sendable () -> Date

  /// A clock of your own. The closure is called from any thread.
  public init(_ date: @escaping @Sendable () -> Date) {
    self.date = date
  }

  /// The date of the machine.
  public static let system = WallClock { Date.now }

  /// The date now.
  public var now: Date { date() }
}
