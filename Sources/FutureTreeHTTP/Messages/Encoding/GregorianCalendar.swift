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
