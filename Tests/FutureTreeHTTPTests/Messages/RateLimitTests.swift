import Foundation
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("Rate limits of servers") struct RateLimitTests {
  /// 2026-01-01 00:00:00 GMT.
  private static let now = 1_767_225_600

  private func limit(_ fields: NameValuePairs<String>) throws -> String {
    let response = HTTPResponse(to: anyRequest(), status: .ok, headers: try HTTPHeaders(fields))
    let date = WallClock { Date(timeIntervalSince1970: Double(Self.now)) }
    return response.rateLimit(now: date).map { "\($0.remaining) for \($0.reset)" } ?? "none"
  }

  @Test(
    "The forms that servers send are read",
    arguments: [
      (["RateLimit": "\"default\";r=50;t=30"], "50 for 30.0 seconds"),
      (["RateLimit": "\"burst\";r=5;t=1, \"day, all\" ; r=2;t=900"], "2 for 900.0 seconds"),
      (["RateLimit": "\"a\";r=0;t=1,\"b\";r=0;t=60"], "0 for 60.0 seconds"),
      (["RateLimit": "\"a\";r=0;t=1", "ratelimit": "\"b\";t=60"], "0 for 1.0 seconds"),
      (["RateLimit": "limit=100, Remaining=50 , reset=7"], "50 for 7.0 seconds"),
      (["RateLimit-Limit": "10", "RateLimit-Remaining": "9", "RateLimit-Reset": "8"], "9 for 8.0 seconds"),
      (["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "\(now + 90)"], "0 for 90.0 seconds"),
      (["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "\(now + 90)500"], "0 for 90.5 seconds"),
      (["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "\(now - 90)"], "0 for 0.0 seconds"),
      (
        ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "\(now)", "Date": "Wed, 31 Dec 2025 23:59:00 GMT"],
        "0 for 60.0 seconds"
      ),
      (
        ["X-RateLimit-Remaining": "4", "X-RateLimit-Reset": "\(now)", "X-RateLimit-Reset-After": "1.5"],
        "4 for 1.5 seconds"
      ),
      (["X-Rate-Limit-Remaining": "3", "X-Rate-Limit-Reset": "2"], "3 for 2.0 seconds"),
      (["X-Ratelimit-Remaining": "597.0", "X-Ratelimit-Reset": "421"], "597 for 421.0 seconds"),
      (["RateLimit-Remaining": "10, 10;w=1", "RateLimit-Reset": "1"], "10 for 1.0 seconds"),
    ] as [(NameValuePairs<String>, String)])
  func forms(fields: NameValuePairs<String>, expected: String) throws {
    try expectEqual(limit(fields), expected)
  }

  @Test(
    "Malformed and incomplete fields are ignored",
    arguments: [
      [:], ["RateLimit": "\"a\";r=1"], ["RateLimit": "\"a\";r=-1;t=1"], ["RateLimit": "r=1;t=1"],
      ["RateLimit-Remaining": "1"], ["RateLimit-Reset": "1"],
      ["X-RateLimit-Remaining": "many", "X-RateLimit-Reset": "1"],
      ["RateLimit-Policy": "\"a\";q=1;w=1"],
    ] as [NameValuePairs<String>])
  func malformed(fields: NameValuePairs<String>) throws {
    try expectEqual(limit(fields), "none")
  }

  @Test("Values are limited")
  func bounds() throws {
    expectEqual(RateLimit(remaining: -1, reset: .seconds(-1)), RateLimit(remaining: 0, reset: .zero))
    let huge = "99999999999999999999"
    try expectEqual(limit(["RateLimit": "\"a\";r=\(huge);t=\(huge)"]), "1000000000 for 1000000000.0 seconds")
  }
}
