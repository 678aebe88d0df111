import Foundation

/// The date of a cookie's `Expires` (RFC 6265bis, section 5.1.1).
enum CookieDate {
  /// Parses a date. Returns `nil` if it has no time, day, month or year, or if that date does not exist.
  ///
  /// Other parts, including the time zone, are ignored. The year is 1601 or later. There are no leap seconds.
  static func parse(_ text: String) -> Date? {
    let fields = HTTPDateFields(text)
    guard let number = fields.year?.number, fields.time?.second != 60 else { return nil }
    let year = fullYear(number)
    guard year >= 1601 else { return nil }
    return fields.secondsSince1970(inYear: year).map { Date(timeIntervalSince1970: Double($0)) }
  }

  private static func fullYear(_ year: Int) -> Int {
    switch year {
    case 70...99: year + 1900
    case 0...69: year + 2000
    default: year
    }
  }
}
