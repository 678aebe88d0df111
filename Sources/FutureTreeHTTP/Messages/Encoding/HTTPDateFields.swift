/// The fields of a date that a server sent, before the check that such a day exists.
///
/// The algorithm is that of cookies (RFC 6265bis, section 5.1.1). It finds the fields in any order, with any separators
/// and in any case. It therefore reads the three formats of HTTP (RFC 9110, section 5.6.7) and their variants.
///
/// Foundation cannot be used: a `DateFormatter` reads one format. On Linux, it also accepts digits that are not ASCII.
struct HTTPDateFields {
  private(set) var time: (hour: Int, minute: Int, second: Int)?
  private var day: Int?
  private var month: Int?
  private(set) var year: (number: Int, digits: Int)?
  /// Whether all other parts are a day of the week, or a time zone that is GMT.
  private(set) var isWhole = true

  init(_ text: some StringProtocol) {
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
  func secondsSince1970(inYear year: Int) -> Int64? {
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
