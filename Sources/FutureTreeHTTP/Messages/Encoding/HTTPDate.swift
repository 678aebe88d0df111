import Foundation

/// A moment as HTTP writes it, to the second (RFC 9110, section 5.6.7).
///
/// ```swift
/// let date = HTTPDate("Sun, 06 Nov 1994 08:49:37 GMT", now: .now)
/// date?.description  // The same text.
/// ```
///
/// It reads the format of today and the two obsolete ones, which a recipient must accept: `Sunday, 06-Nov-94 08:49:37 GMT`
/// and `Sun Nov  6 08:49:37 1994`. It is strict: letters have the case that is written there, there are no other blanks, the
/// day exists and is the day of the week that it says it is. The second 60, a leap second, is the one after 23:59:59.
public struct HTTPDate: Sendable, Hashable {
  /// Counted from the beginning of 1970, without leap seconds; negative before it.
  public let secondsSince1970: Int64

  /// From the first second of the year 0 to the last of 9999, which is what four digits can write.
  private static let range: ClosedRange<Int64> = -62_167_219_200...253_402_300_799

  /// The second in which a date is; nil before the year 0 and after 9999.
  public init?(_ date: Date) {
    let seconds = date.timeIntervalSince1970.rounded(.down)
    guard seconds >= Double(HTTPDate.range.lowerBound), seconds <= Double(HTTPDate.range.upperBound) else { return nil }
    self.init(secondsSince1970: Int64(seconds))
  }

  /// Reads a date; nil for everything that is none.
  ///
  /// - Parameters:
  ///   - text: a whole field value, without blanks around it.
  ///   - now: says which century the two digits of an obsolete date mean: the year is the one of those with these digits
  ///     that is at most 50 years ahead and less than 50 years ago.
  public init?(_ text: some StringProtocol, now: Date) {
    let bytes = Array(text.utf8)
    guard
      let fields = HTTPDateFields(current: bytes) ?? HTTPDateFields(unix: bytes)
        ?? HTTPDateFields(old: bytes, now: now),
      let seconds = fields.secondsSince1970
    else { return nil }
    self.init(secondsSince1970: seconds)
  }

  private init?(secondsSince1970: Int64) {
    guard HTTPDate.range.contains(secondsSince1970) else { return nil }
    self.secondsSince1970 = secondsSince1970
  }

  /// The same moment for Foundation.
  public var date: Date { Date(timeIntervalSince1970: Double(secondsSince1970)) }
}

extension HTTPDate: Comparable {
  public static func < (first: HTTPDate, second: HTTPDate) -> Bool { first.secondsSince1970 < second.secondsSince1970 }
}

extension HTTPDate: CustomStringConvertible {
  /// In the format that is to be sent: `Sun, 06 Nov 1994 08:49:37 GMT`.
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

  /// In which year it is.
  var year: Int { GregorianCalendar.date(ofDay: dayAndSecond.day).year }

  private var dayAndSecond: (day: Int, second: Int) {
    let (days, second) = secondsSince1970.dividedDown(by: 86_400)
    return (Int(days), Int(second))
  }
}
