extension Duration {
  /// No timer is set for longer, so that nothing overflows.
  static let century = Duration.seconds(100 * 365 * 86_400)

  /// The same, but neither negative nor more than a century.
  var withinCentury: Duration { min(max(self, .zero), .century) }
}
