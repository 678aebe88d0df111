import Foundation
import FutureTree

extension HTTPResponse {
  /// Returns the delay that the server asks for before a retry, from `Retry-After` (RFC 9110, section 10.2.3).
  ///
  /// ```swift
  /// if let wait = response.retryAfter() { banner.show("Again in \(wait)") }
  /// ```
  ///
  /// Both forms are supported: a number of seconds, which can have a fraction, and a date. A date is compared with the `Date` of
  /// the same response, so that the result does not depend on the local clock. Without that field, it is compared with `now`. A
  /// date in the past means no delay. If there are several values, the longest delay applies, even if a platform joined them with
  /// commas. Values that are neither a number nor a date, including negative numbers, are ignored.
  ///
  /// - Parameter now: The local clock.
  /// - Returns: The delay, from zero to 100 years. `nil` if the response has no valid value.
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
  /// Splits a field value that a platform joined with commas. Most date formats contain one comma, after the day of the
  /// week.
  fileprivate static func values(_ joined: String) -> [String] {
    var values: [String] = []
    var elements = FieldSyntax.elements(of: joined)[...]
    while let element = elements.popFirst() {
      let rest = HTTPDateFields.isWeekday(element.utf8) ? elements.popFirst() : nil
      values.append(rest.map { "\(element), \($0)" } ?? element)
    }
    return values
  }

  fileprivate static func seconds(_ value: String) -> Duration? {
    // A larger number would not fit into a `Duration`.
    FieldSyntax.seconds(value).map { .seconds(min($0, 1e12)).clampedToMaximumTimerDuration }
  }

  fileprivate static func wait(until date: HTTPDate, from now: HTTPDate?) -> Duration? {
    now.map { .seconds(date.secondsSince1970 - $0.secondsSince1970).clampedToMaximumTimerDuration }
  }
}
