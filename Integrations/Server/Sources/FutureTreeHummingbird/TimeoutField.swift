import FutureTree
import FutureTreeHTTP
import HTTPTypes

/// The header fields that carry the remaining time of a request from service to service. Pure.
///
/// | field | value |
/// | --- | --- |
/// | `request-timeout` | 1 to 8 digits: milliseconds |
/// | `grpc-timeout` | 1 to 8 digits and a unit: `H`, `M`, `S`, `m` (milliseconds), `u` or `n` |
enum TimeoutField {
  static let name = "request-timeout"
  private static let grpcName = "grpc-timeout"
  private static let longest = 99_999_999

  /// Returns the remaining time in the fields of a request, the shorter one if there are two.
  ///
  /// - Throws: The name of a field with an invalid value.
  static func remaining(in fields: HTTPFields) throws(InvalidTimeoutField) -> Duration? {
    var remaining: Duration?
    for (name, parse) in [(name, milliseconds), (grpcName, grpc)] {
      guard let text = fields[HTTPField.Name(name)!] else { continue }  // Both names are tokens.
      guard let duration = parse(text) else { throw InvalidTimeoutField(name: name) }
      remaining = min(remaining ?? duration, duration)
    }
    return remaining
  }

  /// Returns the value of `request-timeout` for a remaining time, rounded down, but at least 1 and at most 99,999,999.
  static func value(for remaining: Duration) -> String {
    "\(max(1, Int(min(remaining / .milliseconds(1), Double(longest)))))"
  }

  static func milliseconds(_ text: String) -> Duration? { number(text.utf8[...]).map { .milliseconds($0) } }

  static func grpc(_ text: String) -> Duration? {
    guard let unit = text.utf8.last.flatMap({ units[$0] }) else { return nil }
    return number(text.utf8.dropLast()).map { unit * $0 }
  }

  private static let units: [UInt8: Duration] = [
    UInt8(ascii: "H"): .seconds(3600), UInt8(ascii: "M"): .seconds(60), UInt8(ascii: "S"): .seconds(1),
    UInt8(ascii: "m"): .milliseconds(1), UInt8(ascii: "u"): .microseconds(1), UInt8(ascii: "n"): .nanoseconds(1),
  ]

  /// Parses 1 to 8 digits. `Int` accepts signs as well.
  private static func number(_ digits: Substring.UTF8View) -> Int? {
    guard (1...8).contains(digits.count), digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Int(Substring(digits))
  }
}

struct InvalidTimeoutField: Error, Equatable {
  let name: String

  var message: String {
    "The field \(name) is invalid. Send 1 to 8 digits\(name == TimeoutField.name ? "" : " and a unit")."
  }
}

extension ModifyRequest {
  /// Returns a layer that sends the time until the deadline of a request, as the field `request-timeout`.
  ///
  /// ```swift
  /// let backend = Timeout() --> Retry() --> ModifyRequest.sendingDeadline() --> AsyncHTTPClientLoader()
  /// ```
  ///
  /// The value is the number of milliseconds at the time of the load, so that clocks need not agree. Put the layer after
  /// `Retry` and `Throttle`: each attempt then sends the time that is left. A time of more than 99,999,999 milliseconds is
  /// sent as that number. A request without `RequestDeadline` is forwarded unchanged. The layer does not fail a load at its
  /// deadline: `Timeout` does.
  ///
  /// - Returns: A layer that fails with the code `deadlineExceeded` if the deadline has passed.
  public static func sendingDeadline() -> ModifyRequest {
    ModifyRequest { request in
      guard let deadline = request[option: RequestDeadline.self] else { return }
      let remaining = deadline.remaining
      guard remaining > .zero else {
        throw HTTPError(.deadlineExceeded, "\(request) was not sent. Its deadline has passed. Allow more time.")
      }
      try request.setHeader(TimeoutField.name, TimeoutField.value(for: remaining))
    }
  }
}
