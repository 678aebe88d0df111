import Foundation

/// The parsed fields of the three date formats, before the check that such a day exists (RFC 9110, section 5.6.7).
///
/// Foundation cannot be used: on Linux, a `DateFormatter` that is not lenient accepts a wrong day of the week, a missing
/// `GMT`, extra spaces, and digits that are not ASCII.
struct HTTPDateFields {
  /// The day of the week; 0 is Sunday.
  private var weekday = 0
  private var year = 0
  private var month = 0
  private var day = 0
  private var time = (hour: 0, minute: 0, second: 0)

  /// Parses `Sun, 06 Nov 1994 08:49:37 GMT`.
  init?(current bytes: [UInt8]) {
    var rest = bytes[...]
    guard let weekday = rest.dropName(GregorianCalendar.weekdays.map { $0.prefix(3) }), rest.drop(", "),
      let day = rest.dropNumber(2), rest.drop(" "), let month = rest.dropName(GregorianCalendar.months), rest.drop(" "),
      let year = rest.dropNumber(4), rest.drop(" "), let time = rest.dropTime(), rest.drop(" GMT"), rest.isEmpty
    else { return nil }
    (self.weekday, self.year, self.month, self.day, self.time) = (weekday, year, month + 1, day, time)
  }

  /// Parses `Sunday, 06-Nov-94 08:49:37 GMT`.
  init?(old bytes: [UInt8], now: Date) {
    var rest = bytes[...]
    guard let weekday = rest.dropName(GregorianCalendar.weekdays), rest.drop(", "), let day = rest.dropNumber(2),
      rest.drop("-"), let month = rest.dropName(GregorianCalendar.months), rest.drop("-"),
      let digits = rest.dropNumber(2),
      rest.drop(" "), let time = rest.dropTime(), rest.drop(" GMT"), rest.isEmpty, let now = HTTPDate(now)
    else { return nil }
    // The last year with these digits that is at most 50 years ahead.
    let latest = now.year + 50
    let year = latest - (latest - digits).dividedDown(by: 100).remainder
    (self.weekday, self.year, self.month, self.day, self.time) = (weekday, year, month + 1, day, time)
  }

  /// Parses `Sun Nov  6 08:49:37 1994`, the format of the C function `asctime`.
  init?(unix bytes: [UInt8]) {
    var rest = bytes[...]
    guard let weekday = rest.dropName(GregorianCalendar.weekdays.map { $0.prefix(3) }), rest.drop(" "),
      let month = rest.dropName(GregorianCalendar.months), rest.drop(" "),
      let day = rest.drop(" ") ? rest.dropNumber(1) : rest.dropNumber(2), rest.drop(" "), let time = rest.dropTime(),
      rest.drop(" "), let year = rest.dropNumber(4), rest.isEmpty
    else { return nil }
    (self.weekday, self.year, self.month, self.day, self.time) = (weekday, year, month + 1, day, time)
  }

  /// The seconds since 1970. `nil` if the date or the time does not exist, or the day of the week does not match.
  var secondsSince1970: Int64? {
    guard let day = GregorianCalendar.day(year, month, day), GregorianCalendar.weekday(ofDay: day) == weekday else {
      return nil
    }
    let isLeapSecond = time == (23, 59, 60)
    guard time.hour < 24, time.minute < 60, time.second < 60 || isLeapSecond else { return nil }
    return Int64(day) * 86_400 + Int64(time.hour * 3600 + time.minute * 60 + time.second)
  }
}

extension ArraySlice<UInt8> {
  fileprivate mutating func drop(_ text: some StringProtocol) -> Bool {
    guard starts(with: text.utf8) else { return false }
    self = dropFirst(text.utf8.count)
    return true
  }

  /// Removes one of the names from the front and returns its index.
  fileprivate mutating func dropName(_ names: [some StringProtocol]) -> Int? {
    for (index, name) in names.enumerated() where drop(name) { return index }
    return nil
  }

  /// Removes a number of exactly `count` digits. `count` is small, so that the number cannot overflow.
  fileprivate mutating func dropNumber(_ count: Int) -> Int? {
    let digits = prefix(count)
    guard digits.count == count, digits.allSatisfy(ASCII.isDigit) else { return nil }
    self = dropFirst(count)
    return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
  }

  fileprivate mutating func dropTime() -> (hour: Int, minute: Int, second: Int)? {
    guard let hour = dropNumber(2), drop(":"), let minute = dropNumber(2), drop(":"), let second = dropNumber(2) else {
      return nil
    }
    return (hour, minute, second)
  }
}
