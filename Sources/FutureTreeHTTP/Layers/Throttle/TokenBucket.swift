import FutureTree

/// The token bucket of a rate limit. Pure: reads no clock. It counts in integers, so that rounding errors do not
/// accumulate.
///
/// # Invariants
/// 1. `credit` is measured in attoseconds times `count`: a token costs `period`, and each attosecond adds `count`.
/// 2. `credit` is at most `capacity` and at least `-capacity`. Requests that bypass the queue create a debt, which is
///    limited.
/// 3. If time goes backward, the elapsed time counts as zero.
package struct TokenBucket {
  private let count: Int128
  private let period: Int128
  private let capacity: Int128
  private var credit: Int128
  private var latest: Duration?

  /// Creates a full bucket.
  package init(_ rate: Throttle.Rate) {
    count = Int128(rate.count)
    period = rate.duration.attosecondCount
    capacity = Int128(rate.burst) * period
    credit = capacity
  }

  var hasToken: Bool { credit >= period }

  /// Adds the tokens for the elapsed time.
  package mutating func refill(at now: Duration) {
    defer { latest = max(latest ?? now, now) }
    guard let latest, now > latest else { return }
    let elapsed = min(now - latest, .century).attosecondCount
    credit = min(capacity, credit + elapsed * count)
  }

  /// Fills the bucket.
  package mutating func fill() {
    credit = capacity
  }

  /// Takes a token. If none is available, the credit becomes a debt.
  package mutating func take() {
    credit = max(credit - period, -capacity)
  }

  /// Returns a token that was not needed.
  package mutating func putBack() {
    credit = min(credit + period, capacity)
  }

  /// The time from the last refill until a token is available. Zero if a token is available.
  package var wait: Duration {
    guard !hasToken else { return .zero }
    return Duration(attosecondCount: (period - credit + count - 1) / count)
  }
}

extension Duration {
  fileprivate var attosecondCount: Int128 {
    Int128(components.seconds) * 1_000_000_000_000_000_000 + Int128(components.attoseconds)
  }

  fileprivate init(attosecondCount: Int128) {
    let (seconds, attoseconds) = attosecondCount.quotientAndRemainder(dividingBy: 1_000_000_000_000_000_000)
    self.init(secondsComponent: Int64(seconds), attosecondsComponent: Int64(attoseconds))
  }
}
