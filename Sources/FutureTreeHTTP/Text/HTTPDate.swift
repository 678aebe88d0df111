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

/// The fields of a date that a server sent, before the check that such a day exists.
///
/// The algorithm is that of cookies (RFC 6265bis, section 5.1.1). It finds the fields in any order, with any separators
/// and in any case. It therefore reads the three formats of HTTP (RFC 9110, section 5.6.7) and their variants.
///
/// Foundation cannot be used: a `DateFormatter` reads one format. On Linux, it also accepts digits that are not ASCII.
package struct HTTPDateFields {
  package private(set) var time: (hour: Int, minute: Int, second: Int)?
  private var day: Int?
  private var month: Int?
  package private(set) var year: (number: Int, digits: Int)?
  /// Whether all other parts are a day of the week, or a time zone that is GMT.
  private(set) var isWhole = true

  package init(_ text: some StringProtocol) {
    for part in Array(text.utf8).split(whereSeparator: HTTPDateFields.isDelimiter) { take(part) }
  }

  /// Takes a part as the first of these fields that is missing and that it fits.
  private mutating func take(_ part: ArraySlice<UInt8>) {
    if time == nil, let found = HTTPDateFields.time(part) {
      time = found
    } else if day == nil, let found = HTTPDateFields.number(part, digits: 1...2) {
      day = found.number
    } else if month == nil, let found = GregorianCalendar.months.firstIndex(where: { part.begins(with: $0) }) {
      month = found + 1
    } else if year == nil, let found = HTTPDateFields.number(part, digits: 2...4) {
      year = found
    } else if !HTTPDateFields.isWeekday(part), !HTTPDateFields.isGMT(part) {
      isWhole = false
    }
  }

  /// Returns the seconds since 1970. `nil` if the day or the time is missing or does not exist.
  package func secondsSince1970(inYear year: Int) -> Int64? {
    guard let time, let day, let month, let days = GregorianCalendar.day(year, month, day) else { return nil }
    guard time.hour < 24, time.minute < 60, time.second < 60 || time == (23, 59, 60) else { return nil }
    return Int64(days) * 86_400 + Int64(time.hour * 3600 + time.minute * 60 + time.second)
  }

  /// Whether the text is the name of a day of the week, or its beginning.
  static func isWeekday(_ text: some Collection<UInt8>) -> Bool {
    text.allSatisfy(ASCII.isLetter) && GregorianCalendar.weekdays.contains { text.begins(with: $0.prefix(3)) }
  }

  private static func isGMT(_ part: ArraySlice<UInt8>) -> Bool {
    part.allSatisfy { $0 == UInt8(ascii: "0") || $0 == UInt8(ascii: ":") }
      || ["gmt", "utc", "ut", "z"].contains { $0.utf8.count == part.count && part.begins(with: $0) }
  }

  private static func isDelimiter(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
    default: false
    }
  }

  /// Parses one or two digits, three times, with colons. Anything may follow that does not begin with a digit.
  private static func time(_ part: ArraySlice<UInt8>) -> (Int, Int, Int)? {
    let parts = part.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, parts[0].allSatisfy(ASCII.isDigit), parts[1].allSatisfy(ASCII.isDigit),
      let hour = number(parts[0], digits: 1...2), let minute = number(parts[1], digits: 1...2),
      let second = number(parts[2], digits: 1...2)
    else { return nil }
    return (hour.number, minute.number, second.number)
  }

  /// Parses a number with this many digits. Anything may follow that does not begin with a digit.
  private static func number(_ part: ArraySlice<UInt8>, digits range: ClosedRange<Int>) -> (number: Int, digits: Int)? {
    let digits = part.prefix(while: ASCII.isDigit)
    guard range.contains(digits.count) else { return nil }
    return (digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }, digits.count)
  }
}

extension Collection<UInt8> {
  /// Returns whether the bytes begin with ASCII text, in any case.
  fileprivate func begins(with text: some StringProtocol) -> Bool {
    prefix(text.utf8.count).elementsEqual(text.utf8) { ASCII.lowercased($0) == ASCII.lowercased($1) }
  }
}

/// The proleptic Gregorian calendar, computed by arithmetic.
///
/// Foundation's calendars cannot be used: they are Julian before 1582, so that 1500-02-29 exists in them.
///
/// Years are counted from March, so that the leap day is the last day of its year. An era of 400 years has 146,097 days.
enum GregorianCalendar {
  static let weekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
  static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  /// Returns the number of days since 1970-01-01. Returns `nil` for a day that does not exist, and for years outside 0 to
  /// 9999.
  static func day(_ year: Int, _ month: Int, _ day: Int) -> Int? {
    guard (0...9999).contains(year), (1...12).contains(month), day >= 1 else { return nil }
    guard day <= length(ofMonth: month, in: year) else { return nil }
    let shifted = month > 2 ? year : year - 1
    let (era, yearOfEra) = shifted.dividedDown(by: 400)
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  static func date(ofDay day: Int) -> (year: Int, month: Int, day: Int) {
    let (era, dayOfEra) = (day + 719_468).dividedDown(by: 146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    let year = era * 400 + yearOfEra + (month <= 2 ? 1 : 0)
    return (year, month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
  }

  /// Returns the day of the week; 0 is Sunday. The first day of 1970 was a Thursday.
  static func weekday(ofDay day: Int) -> Int { (day + 4).dividedDown(by: 7).remainder }

  private static func length(ofMonth month: Int, in year: Int) -> Int {
    let isLeapYear = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    return switch month {
    case 2: isLeapYear ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }
}

extension SignedInteger {
  /// Divides and rounds down, so that the remainder is not negative.
  func dividedDown(by divisor: Self) -> (quotient: Self, remainder: Self) {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }
}
