import Foundation
import FutureTreeHTTP

/// A text that is accepted as a date names a second that the C library accepts, and a date of the C library is accepted.
func fuzzDates(_ bytes: [UInt8]) throws {
  var input = Input(bytes)
  let (text, other) = (input.text(), input.text())
  let now = moment(bytes) ?? Date(timeIntervalSince1970: 0)
  if let date = HTTPDate(text, now: now) { checkCount(of: date, text) }
  if let date = HTTPDate(now) {
    checkCount(of: date, date.description)
    checkFormats(of: date)
  }
  try checkWait(text, other, now: now)
}

/// Returns any time. Most times are in the years that HTTP can express.
private func moment(_ bytes: [UInt8]) -> Date? {
  guard bytes.count >= 8 else { return nil }
  let bits = bytes.suffix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
  let seconds = bits & 1 == 0 ? Double(bitPattern: bits) : Double(bits % 315_569_520_000) - 62_167_219_200
  return Date(timeIntervalSince1970: seconds)
}

private func checkCount(of date: HTTPDate, _ text: String) {
  let parts = broken(date)
  var again = parts
  again.tm_wday = 0
  check(timegm(&again) == date.secondsSince1970, "The C library counts another second for \(text)")
  check(again.tm_wday == parts.tm_wday, "It is another day of the week: \(text)")
  check(formatted(parts, "%a, %d %b ", "%H:%M:%S GMT") == date.description, "\(text) is written as \(date)")
  check(HTTPDate(date.description, now: date.date) == date, "It is another date when it is read again: \(text)")
  check(HTTPDate(date.date) == date, "Foundation's date is another: \(text)")
}

/// The two obsolete formats have the same meaning. Two digits of the year are enough if the year is that of `now`.
private func checkFormats(of date: HTTPDate) {
  let parts = broken(date)
  var old = formatted(parts, "%A, %d-%b-", "|%H:%M:%S GMT")
  let bar = old.firstIndex(of: "|") ?? old.endIndex
  let start = old.index(bar, offsetBy: -5)
  old =
    String(old[..<start]) + old[old.index(start, offsetBy: 2)..<old.index(before: bar)] + " " + old[bar...].dropFirst()
  check(HTTPDate(old, now: date.date) == date, "The obsolete \(old) is not \(date)")
  let unix = formatted(parts, "%a %b %e %H:%M:%S ", "").trimmingCharacters(in: .whitespaces)
  check(HTTPDate(unix, now: date.date) == date, "The obsolete \(unix) is not \(date)")
}

private func broken(_ date: HTTPDate) -> tm {
  var parts = tm()
  var seconds = time_t(date.secondsSince1970)
  gmtime_r(&seconds, &parts)
  return parts
}

/// Formats a date with a year of four digits, which `%Y` does not guarantee.
private func formatted(_ parts: tm, _ before: String, _ after: String) -> String {
  var parts = parts
  func text(_ format: String) -> String {
    var buffer = [CChar](repeating: 0, count: 100)
    let count = strftime(&buffer, buffer.count, format, &parts)
    return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
  let year = String(Int(parts.tm_year) + 1900)
  let digits = String(repeating: "0", count: max(0, 4 - year.count)) + year
  return text(before) + digits + (after.isEmpty ? "" : " ") + text(after)
}

private func checkWait(_ value: String, _ serverDate: String, now: Date) throws {
  var headers = HTTPHeaders()
  guard (try? headers.add("Retry-After", value)) != nil else { return }
  try? headers.add("Date", serverDate)
  let response = HTTPResponse(to: try HTTPRequest("http://a/"), status: .serviceUnavailable, headers: headers)
  let wait = response.retryAfter(now: WallClock { now })
  guard let wait else {
    return check(Int(value) == nil || value.hasPrefix("-") || value.hasPrefix("+"), "\(value) seconds were ignored.")
  }
  check((.zero ... .seconds(100 * 365 * 86_400)).contains(wait), "\(value) is a wait of \(wait).")
  if let seconds = Int(value), seconds < 1_000_000 {
    check(wait == .seconds(seconds), "\(value) is a wait of \(wait).")
  }
}
