extension Duration {
  /// The longest duration of a timer. The limit prevents overflow: Dispatch counts nanoseconds and Swift's clocks count
  /// seconds in integers.
  package static let century = Duration.seconds(100 * 365 * 86_400)

  /// This duration, limited to the range from zero to 100 years.
  package var clampedToMaximumTimerDuration: Duration { min(max(self, .zero), .century) }

  /// Returns this duration, doubled for each attempt after the first. The result is at most `limit`, and at most 100 years.
  ///
  /// - Parameter attempt: The number of the attempt, counted from 1.
  package func doubled(after attempt: Int, limit: Duration) -> Duration {
    let limit = min(limit, .century)
    var doubled = min(self, limit)
    // 100 years is less than 2¹⁰⁰ times the smallest positive duration.
    for _ in 1..<min(max(attempt, 1), 100) where doubled > .zero && doubled < limit {
      doubled = min(doubled * 2, limit)
    }
    return doubled
  }
}
