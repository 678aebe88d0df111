extension Duration {
  /// This duration as text for an error or a reason, such as `1.5 s`, `250 ms`, `30 µs` or `5 ns`.
  ///
  /// The value is rounded to two decimals of its unit. `description` converts to binary and back, which prints 700
  /// milliseconds as `0.7000000000000001 seconds`.
  package var rounded: String {
    let sign = self < .zero ? "-" : ""
    let (seconds, attoseconds) = (components.seconds.magnitude, components.attoseconds.magnitude)
    // A value that rounds up to 1,000 of a unit is printed in the next unit.
    for (name, power) in [("ns", 7), ("µs", 10), ("ms", 13)] where seconds == 0 {
      let hundredths = Duration.rounded(attoseconds, power)
      if hundredths == 0 { return "0 s" }
      if hundredths < 100_000 { return sign + Duration.text(hundredths / 100, hundredths % 100) + " " + name }
    }
    let hundredths = Duration.rounded(attoseconds, 16)
    return sign + Duration.text(seconds + hundredths / 100, hundredths % 100) + " s"
  }

  /// Returns the number of `10^power` in a value, rounded.
  private static func rounded(_ value: UInt64, _ power: Int) -> UInt64 {
    let unit = (0..<power).reduce(1 as UInt64) { unit, _ in unit * 10 }
    return (value + unit / 2) / unit
  }

  private static func text(_ whole: UInt64, _ hundredths: UInt64) -> String {
    switch (hundredths / 10, hundredths % 10) {
    case (0, 0): "\(whole)"
    case (let tenths, 0): "\(whole).\(tenths)"
    case (let tenths, let rest): "\(whole).\(tenths)\(rest)"
    }
  }
}

extension Duration {
  /// The longest duration of a timer. The limit prevents overflow: Dispatch counts nanoseconds and Swift's clocks count
  /// seconds in integers.
  package static let century = Duration.seconds(100 * 365 * 86_400)

  /// This duration in nanoseconds, limited to about 292 years.
  var wholeNanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (nanoseconds, isTooLong) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, isTooLongBySum) = nanoseconds.addingReportingOverflow(attoseconds / 1_000_000_000)
    return isTooLong || isTooLongBySum ? (seconds < 0 ? .min : .max) : sum
  }

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

  /// Returns a part of this duration. A product with a fraction is rounded, so it could exceed the duration.
  ///
  /// - Parameter fraction: From 0 to 1.
  package func part(_ fraction: Double) -> Duration { min(self, self * fraction) }
}
