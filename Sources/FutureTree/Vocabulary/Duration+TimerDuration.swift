extension Duration {
  /// No time is waited for longer, so that nothing overflows: what Dispatch counts in nanoseconds, and Swift's clocks in
  /// seconds, has an end.
  package static let century = Duration.seconds(100 * 365 * 86_400)

  /// The same, but neither negative nor more than a century.
  package var clampedToMaximumTimerDuration: Duration { min(max(self, .zero), .century) }

  /// Twice as long after each attempt as after the one before it, which are counted from 1, but no longer than a limit, or a
  /// century.
  package func doubled(after attempt: Int, limit: Duration) -> Duration {
    let limit = min(limit, .century)
    var doubled = min(self, limit)
    // A century is less than 2¹⁰⁰ of whatever a duration can tell from nothing.
    for _ in 1..<min(max(attempt, 1), 100) where doubled > .zero && doubled < limit {
      doubled = min(doubled * 2, limit)
    }
    return doubled
  }
}
