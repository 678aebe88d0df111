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
