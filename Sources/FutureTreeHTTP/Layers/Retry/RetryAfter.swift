import Foundation
import FutureTree

extension HTTPResponse {
  /// How long the server asks to wait before the request is sent again, by `Retry-After` (RFC 9110, section 10.2.3).
  ///
  /// ```swift
  /// if let wait = response.retryAfter() { banner.show("Again in \(wait)") }
  /// ```
  ///
  /// Both forms are read, a number of seconds and a date. A date is compared with the `Date` of the same response, which is
  /// the server's own clock, so that it does not matter whether that of this machine is right; without one, with `now`. A
  /// date that has passed asks for no wait. Of several fields, the longest counts, also where a platform joined them with
  /// commas; what is neither number nor date, a negative number included, counts as not there.
  ///
  /// - Parameter now: what this machine takes for the date.
  /// - Returns: nil if the server does not say; never less than zero. More than a century is a century.
  public func retryAfter(now: WallClock = .system) -> Duration? {
    let values = headers.values(for: "Retry-After").flatMap(RetryAfter.values)
    guard !values.isEmpty else { return nil }
    let here = now.now
    let there = headers["Date"].flatMap { HTTPDate($0, now: here) } ?? HTTPDate(here)
    return values.compactMap { value in
      RetryAfter.seconds(value) ?? HTTPDate(value, now: here).flatMap { RetryAfter.wait(until: $0, from: there) }
    }.max()
  }
}

enum RetryAfter {
  /// The values of a field that a platform joined with commas. Most dates have one comma, behind the day of the week.
  fileprivate static func values(_ joined: String) -> [String] {
    var values: [String] = []
    var elements = FieldSyntax.elements(of: joined)[...]
    while let element = elements.popFirst() {
      let isWeekday = GregorianCalendar.weekdays.contains { element == $0 || element == $0.prefix(3) }
      let rest = isWeekday ? elements.popFirst() : nil
      values.append(rest.map { "\(element), \($0)" } ?? element)
    }
    return values
  }

  /// `delay-seconds`: digits, and nothing else. However many there are, there is no overflow.
  fileprivate static func seconds(_ value: String) -> Duration? {
    guard !value.isEmpty, value.utf8.allSatisfy(ASCII.isDigit) else { return nil }
    return Int64(value).map { .seconds($0).clampedToMaximumTimerDuration } ?? .century
  }

  fileprivate static func wait(until date: HTTPDate, from now: HTTPDate?) -> Duration? {
    now.map { .seconds(date.secondsSince1970 - $0.secondsSince1970).clampedToMaximumTimerDuration }
  }
}
