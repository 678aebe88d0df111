import FutureTree

/// The header field `request-timeout`, which carries the remaining time of a request from service to service. The value is a
/// duration in milliseconds, of 1 to 8 digits, so that the clocks of the services need not agree.
///
/// `ModifyRequest.sendingDeadline()` sends `request-timeout`.
extension FutureDeadline {
  /// Creates a deadline from the value of `request-timeout`.
  ///
  /// ```swift
  /// let deadline = FutureDeadline(requestTimeout: "250")  // 250 milliseconds from now.
  /// ```
  ///
  /// - Returns: `nil` if the value is not 1 to 8 digits. A service answers such a request with 400.
  public init?(requestTimeout: String, clock: any FutureClock = .system) {
    // `Int` accepts signs as well.
    guard (1...8).contains(requestTimeout.utf8.count), requestTimeout.utf8.allSatisfy(ASCII.isDigit),
      let count = Int(requestTimeout)
    else { return nil }
    self = .after(.milliseconds(count), clock: clock)
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
}
