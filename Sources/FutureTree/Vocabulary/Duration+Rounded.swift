extension Duration {
  /// This duration as text for an error or a reason, such as `0.7 seconds` or `1 second`.
  ///
  /// The value is rounded to milliseconds or, below 0.1 seconds, to three significant digits. `description` converts to
  /// binary and back, which prints 700 milliseconds as `0.7000000000000001 seconds`.
  package var rounded: String {
    let isNegative = self < .zero
    var seconds = components.seconds.magnitude
    var nanoseconds = components.attoseconds.magnitude / 1_000_000_000
    var unit: UInt64 = 1_000_000
    while seconds == 0, unit > 1, nanoseconds < 100 * unit { unit /= 10 }
    nanoseconds = (nanoseconds + unit / 2) / unit * unit
    if nanoseconds == 1_000_000_000 { (seconds, nanoseconds) = (seconds + 1, 0) }
    // The leading digit preserves the zeros after the decimal point.
    var digits = String(1_000_000_000 + nanoseconds).dropFirst()
    while digits.last == "0" { digits.removeLast() }
    let number = digits.isEmpty ? "\(seconds)" : "\(seconds).\(digits)"
    return "\(isNegative ? "-" : "")\(number) \(number == "1" ? "second" : "seconds")"
  }
}
