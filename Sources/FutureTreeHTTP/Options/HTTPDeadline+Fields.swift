import FutureTree

/// The header fields that carry the remaining time of a request from service to service. The value is a duration, so that the
/// clocks of the services need not agree.
///
/// | field | value |
/// | --- | --- |
/// | `request-timeout` | 1 to 8 digits: milliseconds |
/// | `grpc-timeout` | 1 to 8 digits and a unit: `H`, `M`, `S`, `m` (milliseconds), `u` or `n` |
///
/// `ModifyRequest.sendingDeadline()` sends `request-timeout`.
extension HTTPDeadline {
  /// Creates a deadline from the value of `request-timeout`.
  ///
  /// ```swift
  /// let deadline = HTTPDeadline(requestTimeout: "250")  // 250 milliseconds from now.
  /// ```
  ///
  /// - Returns: `nil` if the value is not 1 to 8 digits. A service answers such a request with 400.
  public init?(requestTimeout: String, clock: any FutureClock = .system) {
    guard let count = HTTPDeadline.number(requestTimeout.utf8[...]) else { return nil }
    self = .after(.milliseconds(count), clock: clock)
  }

  /// Creates a deadline from the value of `grpc-timeout`.
  ///
  /// ```swift
  /// let deadline = HTTPDeadline(grpcTimeout: "250m")  // 250 milliseconds from now.
  /// ```
  ///
  /// - Returns: `nil` if the value is not 1 to 8 digits and a unit.
  public init?(grpcTimeout: String, clock: any FutureClock = .system) {
    guard let unit = grpcTimeout.utf8.last.flatMap({ HTTPDeadline.units[$0] }),
      let count = HTTPDeadline.number(grpcTimeout.utf8.dropLast())
    else { return nil }
    self = .after(unit * count, clock: clock)
  }

  /// The remaining time as the value of `request-timeout`, at most 99,999,999.
  ///
  /// It is rounded down, so that the other service has no more time than this one. The
  /// exception is the last millisecond, which is sent as 1. After the deadline, it is 0.
  public var requestTimeout: String {
    let remaining = remaining
    guard remaining > .zero else { return "0" }
    return "\(max(1, Int(min(remaining / .milliseconds(1), 99_999_999))))"
  }

  private static let units: [UInt8: Duration] = [
    UInt8(ascii: "H"): .seconds(3600), UInt8(ascii: "M"): .seconds(60), UInt8(ascii: "S"): .seconds(1),
    UInt8(ascii: "m"): .milliseconds(1), UInt8(ascii: "u"): .microseconds(1), UInt8(ascii: "n"): .nanoseconds(1),
  ]

  /// Parses 1 to 8 digits. `Int` accepts signs as well.
  private static func number(_ digits: Substring.UTF8View) -> Int? {
    guard (1...8).contains(digits.count), digits.allSatisfy(ASCII.isDigit) else { return nil }
    return Int(Substring(digits))
  }
}
