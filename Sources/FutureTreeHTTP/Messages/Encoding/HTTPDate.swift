import Foundation

/// A date in the format of HTTP, precise to the second (RFC 9110, section 5.6.7).
///
/// ```swift
/// let date = HTTPDate("Sun, 06 Nov 1994 08:49:37 GMT", now: .now)
/// date?.description  // The same text.
/// ```
///
/// It parses the current format and the two obsolete formats that a recipient must accept:
/// `Sunday, 06-Nov-94 08:49:37 GMT` and `Sun Nov  6 08:49:37 1994`. It also parses their variants that servers send: any
/// letter case, a day of one digit, no day of the week or another one, and `UTC` or `+0000` instead of `GMT`. The day must
/// exist. Other time zones and other words are not parsed. A leap second (`23:59:60`) means the second after 23:59:59.
public struct HTTPDate: Sendable, Hashable {
  /// The seconds since 1970-01-01 00:00:00 GMT, without leap seconds. Negative for earlier dates.
  public let secondsSince1970: Int64

  /// The range that four-digit years can express: from the first second of the year 0 to the last second of 9999.
  private static let range: ClosedRange<Int64> = -62_167_219_200...253_402_300_799

  /// Creates the HTTP date of the second that contains `date`. Returns `nil` before the year 0 and after 9999.
  public init?(_ date: Date) {
    let seconds = date.timeIntervalSince1970.rounded(.down)
    guard seconds >= Double(HTTPDate.range.lowerBound), seconds <= Double(HTTPDate.range.upperBound) else { return nil }
    self.init(secondsSince1970: Int64(seconds))
  }

  /// Parses a date that a server sent. Returns `nil` if the text is not a date in GMT.
  ///
  /// - Parameters:
  ///   - text: A whole field value.
  ///   - now: The current date, which selects the century for a two-digit year. The year is at most 50 years ahead of
  ///     `now`, and less than 50 years before it.
  public init?(_ text: some StringProtocol, now: Date) {
    let fields = HTTPDateFields(text)
    guard fields.isWhole, let year = fields.year.flatMap({ HTTPDate.year($0.number, digits: $0.digits, now: now) }),
      let seconds = fields.secondsSince1970(inYear: year)
    else { return nil }
    self.init(secondsSince1970: seconds)
  }

  private static func year(_ number: Int, digits: Int, now: Date) -> Int? {
    guard digits == 2 else { return digits == 4 ? number : nil }
    // The last year with these digits that is at most 50 years ahead.
    return HTTPDate(now).map { now in
      let latest = now.year + 50
      return latest - (latest - number).dividedDown(by: 100).remainder
    }
  }

  private init?(secondsSince1970: Int64) {
    guard HTTPDate.range.contains(secondsSince1970) else { return nil }
    self.secondsSince1970 = secondsSince1970
  }

  /// The date as a Foundation `Date`.
  public var date: Date { Date(timeIntervalSince1970: Double(secondsSince1970)) }
}

extension HTTPDate: Comparable {
  public static func < (first: HTTPDate, second: HTTPDate) -> Bool { first.secondsSince1970 < second.secondsSince1970 }
}

extension HTTPDate: CustomStringConvertible {
  /// The date in the format that senders must use: `Sun, 06 Nov 1994 08:49:37 GMT`.
  public var description: String {
    let (days, second) = dayAndSecond
    let (year, month, day) = GregorianCalendar.date(ofDay: days)
    let weekday = GregorianCalendar.weekdays[GregorianCalendar.weekday(ofDay: days)].prefix(3)
    let time = [second / 3600, second / 60 % 60, second % 60].map { HTTPDate.digits($0, 2) }.joined(separator: ":")
    return
      "\(weekday), \(HTTPDate.digits(day, 2)) \(GregorianCalendar.months[month - 1]) \(HTTPDate.digits(year, 4)) \(time) GMT"
  }

  private static func digits(_ number: Int, _ count: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, count - digits.count)) + digits
  }

  /// The year of the date.
  var year: Int { GregorianCalendar.date(ofDay: dayAndSecond.day).year }

  private var dayAndSecond: (day: Int, second: Int) {
    let (days, second) = secondsSince1970.dividedDown(by: 86_400)
    return (Int(days), Int(second))
  }
}
