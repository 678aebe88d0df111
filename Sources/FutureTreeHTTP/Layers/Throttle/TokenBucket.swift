import FutureTree

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
    let elapsed = min(now - latest, .century).attosecondCount
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

extension Duration {
  fileprivate var attosecondCount: Int128 {
    Int128(components.seconds) * 1_000_000_000_000_000_000 + Int128(components.attoseconds)
  }

  fileprivate init(attosecondCount: Int128) {
    let (seconds, attoseconds) = attosecondCount.quotientAndRemainder(dividingBy: 1_000_000_000_000_000_000)
    self.init(secondsComponent: Int64(seconds), attosecondsComponent: Int64(attoseconds))
  }
}
