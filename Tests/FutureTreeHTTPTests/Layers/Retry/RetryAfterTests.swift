import Foundation
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTP

@Suite("Retry-After") struct RetryAfterTests {
  private let date = ManualClock().wallClock(origin: Date(timeIntervalSince1970: 784_111_777))
  private static let now = "Sun, 06 Nov 1994 08:49:37 GMT"

  private func wait(_ values: [String], serverDate: String? = nil) throws -> Duration? {
    var headers = HTTPHeaders()
    for value in values { try headers.add("Retry-After", value) }
    if let serverDate { try headers.add("Date", serverDate) }
    return HTTPResponse(to: anyRequest(), status: .serviceUnavailable, headers: headers).retryAfter(now: date)
  }

  @Test(
    "Seconds and dates are read, a past date is no delay, and an invalid value is ignored",
    arguments: [
      ("0", Duration.seconds(0)), ("120", .seconds(120)), ("007", .seconds(7)),
      ("Sun, 06 Nov 1994 08:50:37 GMT", .seconds(60)), ("Sunday, 06-Nov-94 08:50:37 GMT", .seconds(60)),
      ("Sun Nov  6 08:50:37 1994", .seconds(60)), ("Sun, 06 Nov 1994 08:49:36 GMT", .seconds(0)),
      ("99999999999999999999999999", .century), ("9223372036854775807", .century),
      ("Fri, 31 Dec 9999 23:59:59 GMT", .century), ("-1", nil), ("1.5", .milliseconds(1500)), ("2.0", .seconds(2)),
      ("+1", nil), ("1e3", nil), (".5", nil), ("1 2", nil), ("", nil),
      ("soon", nil), ("Sun, 06 Nov 99999 08:50:37 GMT", nil), ("Mon, 06 Nov 1994 08:50:37 GMT", .seconds(60)),
      ("99999999999999999999.5", .century),
    ] as [(String, Duration?)])
  func forms(value: String, expected: Duration?) throws {
    try expectEqual(wait([value]), expected)
  }

  @Test("Without the field there is no delay, and of several the longest counts")
  func several() throws {
    #expect(try wait([]) == nil)
    try expectEqual(wait(["1", "x", "3", "2"]), .seconds(3))
  }

  @Test(
    "Fields joined with commas count separately, and the comma of a date does not",
    arguments: [
      ("5, 10", Duration.seconds(10)), ("10, 5", .seconds(10)), ("5,10", .seconds(10)), (", 5 ,, 7,", .seconds(7)),
      ("5, soon", .seconds(5)), ("-1, 5", .seconds(5)), ("soon, 1.5", .milliseconds(1500)), (",", nil),
      ("5, Sun, 06 Nov 1994 08:50:37 GMT", .seconds(60)), ("Sun, 06 Nov 1994 08:50:37 GMT, 120", .seconds(120)),
      ("Sun, 06 Nov 1994 08:50:37 GMT, Sun, 06 Nov 1994 08:49:47 GMT", .seconds(60)),
      ("Sunday, 06-Nov-94 08:50:37 GMT, 5", .seconds(60)), ("5, Sun Nov  6 08:50:37 1994", .seconds(60)),
      ("5, sun, 6 nov 1994 08:50:37 utc", .seconds(60)),
      ("Sun, 06", nil), ("Sunday, 6, 5", .seconds(5)), ("Sun", nil),
    ] as [(String, Duration?)])
  func joined(value: String, expected: Duration?) throws {
    try expectEqual(wait([value]), expected)
  }

  @Test("A date is compared with the `Date` of the same response")
  func serverDate() throws {
    let later = "Sun, 06 Nov 1994 09:49:47 GMT"

    try expectEqual(wait([later], serverDate: "Sun, 06 Nov 1994 09:49:37 GMT"), .seconds(10))
    try expectEqual(wait([later], serverDate: "garbage"), .seconds(3610))
    try expectEqual(wait(["5"], serverDate: "Sun, 06 Nov 1994 09:49:37 GMT"), .seconds(5))
  }
}
