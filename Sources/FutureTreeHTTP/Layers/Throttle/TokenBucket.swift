/// How much a rate allows, as a value. Pure: reads no clock, and counts in whole numbers, so that nothing drifts.
///
/// # Invariants
/// 1. `credit` is counted in attoseconds times `count`: a token costs `period`, and each attosecond brings `count`.
/// 2. It is never above `capacity`, and never below `-capacity`: who passes by the queue makes a debt, which has an end.
/// 3. Time that goes back counts as none.
struct TokenBucket {
  private let count: Int128
  private let period: Int128
  private let capacity: Int128
  private var credit: Int128
  private var latest: Duration?

  /// A full bucket.
  init(_ rate: Throttle.Rate) {
    count = Int128(rate.count)
    period = rate.duration.attosecondCount
    capacity = Int128(rate.burst) * period
    credit = capacity
  }

  var hasToken: Bool { credit >= period }

  /// Adds what the time has brought.
  mutating func refill(at now: Duration) {
    defer { latest = max(latest ?? now, now) }
    guard let latest, now > latest else { return }
    let elapsed = min(now - latest, .longestRatePeriod).attosecondCount
    credit = min(capacity, credit + elapsed * count)
  }

  /// Makes it full.
  mutating func fill() {
    credit = capacity
  }

  /// Takes a token; one that is not there becomes a debt.
  mutating func take() {
    credit = max(credit - period, -capacity)
  }

  /// Puts a token back that was not needed.
  mutating func putBack() {
    credit = min(credit + period, capacity)
  }

  /// How long it takes from the last refill until there is a token; zero if there is one.
  var wait: Duration {
    guard !hasToken else { return .zero }
    return Duration(attosecondCount: (period - credit + count - 1) / count)
  }
}

extension Throttle {
  /// How many requests may begin in a time: a bucket of tokens, of which each request takes one.
  ///
  /// ```swift
  /// Throttle.Rate(100, per: .seconds(60))           // Up to 100 at once, and then one every 0.6 seconds.
  /// Throttle.Rate(100, per: .seconds(60), burst: 1)  // One every 0.6 seconds from the beginning.
  /// ```
  ///
  /// The bucket is full at first, with `burst` tokens, and fills by `count` tokens in each `duration`. So never more than
  /// `burst` and `count` requests begin in one `duration`.
  public struct Rate: Sendable, Hashable {
    /// How many tokens come in a `duration`.
    public let count: Int
    /// The time in which they come, evenly.
    public let duration: Duration
    /// How many tokens there are at most.
    public let burst: Int

    /// - Parameters:
    ///   - count: how many tokens come in a `duration`: from 1 to a milliard. What is outside counts as the nearest.
    ///   - duration: the time in which they come, from a nanosecond to a century. What is outside counts as the nearest.
    ///   - burst: how many tokens there are at most, in the same bounds as `count`; as many as `count` if nothing is said.
    public init(_ count: Int, per duration: Duration = .seconds(1), burst: Int? = nil) {
      self.count = Rate.bounded(count)
      self.duration = min(max(duration, .nanoseconds(1)), .longestRatePeriod)
      self.burst = Rate.bounded(burst ?? count)
    }

    /// So that the products of the bucket have room.
    private static func bounded(_ count: Int) -> Int { min(max(count, 1), 1_000_000_000) }
  }
}

extension Duration {
  /// A century.
  fileprivate static let longestRatePeriod = Duration.seconds(100 * 365 * 86_400)

  fileprivate var attosecondCount: Int128 {
    Int128(components.seconds) * 1_000_000_000_000_000_000 + Int128(components.attoseconds)
  }

  fileprivate init(attosecondCount: Int128) {
    let (seconds, attoseconds) = attosecondCount.quotientAndRemainder(dividingBy: 1_000_000_000_000_000_000)
    self.init(secondsComponent: Int64(seconds), attosecondsComponent: Int64(attoseconds))
  }
}
