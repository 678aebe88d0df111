extension Duration {
  /// No timer is set for longer, so that nothing overflows.
  static let century = Duration.seconds(100 * 365 * 86_400)

  /// The same, but neither negative nor more than a century.
  var withinCentury: Duration { min(max(self, .zero), .century) }

  /// The same, but no more seconds in either direction than an `Int64` counts, so that a sum has room.
  var withinTime: Duration { min(max(self, .seconds(Int64.min)), .seconds(Int64.max)) }
}
