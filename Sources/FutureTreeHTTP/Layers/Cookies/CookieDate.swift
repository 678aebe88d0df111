import Foundation

/// The date of a cookie's `Expires` (RFC 6265bis, section 5.1.1).
///
/// Its algorithm accepts far more than the three formats of HTTP: parts in any order, other separators, and years with two
/// digits.
enum CookieDate {
  /// Parses a date. Returns `nil` if it has no time, day, month or year, or if that date does not exist.
  static func parse(_ text: String) -> Date? {
    var fields = Fields()
    for part in text.utf8.split(whereSeparator: isDelimiter) { fields.take(Array(part)) }
    return fields.date
  }

  private static func isDelimiter(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
    default: false
    }
  }

  private struct Fields {
    private var time: (hour: Int, minute: Int, second: Int)?
    private var day: Int?
    private var month: Int?
    private var year: Int?

    /// Takes a part as the first of these fields that is missing and that it fits.
    mutating func take(_ part: [UInt8]) {
      if time == nil, let found = Fields.time(part) {
        time = found
      } else if day == nil, let found = Fields.number(part, digits: 1...2) {
        day = found
      } else if month == nil, let found = Fields.month(part) {
        month = found
      } else if year == nil, let found = Fields.number(part, digits: 2...4) {
        year = found
      }
    }

    /// The instant. The day must exist in its month, and the year is 1601 or later.
    var date: Date? {
      guard let time, let day, let month, let year = fullYear, year >= 1601, (1...31).contains(day), time.hour < 24,
        time.minute < 60, time.second < 60, let number = GregorianCalendar.day(year, month, day)
      else { return nil }
      return Date(timeIntervalSince1970: Double(number * 86_400 + time.hour * 3600 + time.minute * 60 + time.second))
    }

    private var fullYear: Int? {
      year.map { year in
        switch year {
        case 70...99: year + 1900
        case 0...69: year + 2000
        default: year
        }
      }
    }

    /// Parses one or two digits, three times, with colons. Anything may follow that does not begin with a digit.
    private static func time(_ part: [UInt8]) -> (Int, Int, Int)? {
      let parts = part.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
      guard parts.count == 3, parts[0].allSatisfy(ASCII.isDigit), parts[1].allSatisfy(ASCII.isDigit),
        let hour = number(Array(parts[0]), digits: 1...2), let minute = number(Array(parts[1]), digits: 1...2),
        let second = number(Array(parts[2]), digits: 1...2)
      else { return nil }
      return (hour, minute, second)
    }

    /// Parses a number with this many digits. Anything may follow that does not begin with a digit.
    private static func number(_ part: [UInt8], digits: ClosedRange<Int>) -> Int? {
      let number = part.prefix(while: ASCII.isDigit)
      return digits.contains(number.count) ? Int(String(decoding: number, as: UTF8.self)) : nil
    }

    /// Parses the first three letters of the name of a month, in any case. Anything may follow.
    private static func month(_ part: [UInt8]) -> Int? {
      let name = part.prefix(3).map(ASCII.lowercased)
      return GregorianCalendar.months.firstIndex { $0.utf8.map(ASCII.lowercased) == name }.map { $0 + 1 }
    }
  }
}
