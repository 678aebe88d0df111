import Foundation
import TestSupport
import Testing

@testable import FutureTreeHTTP

@Suite("HTTP dates") struct HTTPDateTests {
  private let now = Date(timeIntervalSince1970: 1_800_000_000)  // In January 2027.

  private func date(_ text: String, now: Date? = nil) -> HTTPDate? { HTTPDate(text, now: now ?? self.now) }

  @Test(
    "The three formats of RFC 9110 mean one instant, and the first is written",
    arguments: ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"])
  func formats(text: String) throws {
    let date = try #require(HTTPDate(text, now: now))

    expectEqual(date.secondsSince1970, 784_111_777)
    expectEqual(date.date, Date(timeIntervalSince1970: 784_111_777))
    expectEqual(date.description, "Sun, 06 Nov 1994 08:49:37 GMT")
  }

  @Test("An asctime date can have a day of two digits")
  func asctime() {
    expectEqual(date("Wed Nov 16 00:00:00 1994")?.description, "Wed, 16 Nov 1994 00:00:00 GMT")
  }

  @Test(
    "Other texts are not dates",
    arguments: [
      "", " ", "0", "120", "-1", "soon", "784111777", "06 Nov 1994", "1994-11-06T08:49:37Z", "06/11/1994 08:49:37",
      "Sun, 06 Nov 1994 08:49:37 PST", "Sun, 06 Nov 1994 08:49:37 +0100", "Sun, 06 Nov 1994 08:49:37 PM",
      "Sun, 06 Nov 1994 08:49:37.5 GMT", "Sun, 06 Nov 1994 08:49:37 GMT, x", "Dim, 06 Nov 1994 08:49:37 GMT",
      "Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:50:37 GMT", "Sun, 06 Nov 994 08:49:37 GMT",
      "Sun, 06 Nov 99999 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT",
      "Thu, 31 Nov 1994 08:49:37 GMT", "Tue, 29 Feb 1994 08:49:37 GMT", "Thu, 29 Feb 1900 08:49:37 GMT",
      "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 1994 08:49:60 GMT",
      "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 06 Nov +994 08:49:37 GMT", "Sun, 06 Nov 199٤ 08:49:37 GMT",
    ])
  func refused(text: String) {
    #expect(date(text) == nil)
  }

  @Test(
    "The variants that servers send mean the same instant",
    arguments: [
      "sun, 06 nov 1994 08:49:37 gmt", "SUN, 06 NOV 1994 08:49:37 GMT", "Sun, 6 Nov 1994 8:49:37 GMT",
      "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 08:49:37 UT",
      "Sun, 06 Nov 1994 08:49:37 +0000", "Sun, 06 Nov 1994 08:49:37 -0000", "Sun, 06 Nov 1994 08:49:37 GMT+00:00 (UTC)",
      "Sun, 06 Nov 1994 08:49:37Z", "Sun,06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 94 08:49:37 GMT",
      " Sun, 06 Nov 1994 08:49:37 GMT ", "Mon, 06 Nov 1994 08:49:37 GMT", "06 Nov 1994 08:49:37 GMT",
      "Sunday, 06-Nov-1994 08:49:37 GMT", "Sun Nov 6 08:49:37 1994", "Sun Nov 06 08:49:37 1994 GMT",
      "Sun Nov  6 08:49:37 UTC 1994", "Sunday, 6 November 1994 08:49:37 GMT",
    ])
  func variants(text: String) {
    expectEqual(date(text)?.secondsSince1970, 784_111_777)
  }

  @Test("Leap days, leap seconds and the limits of four-digit years are read")
  func edges() {
    expectEqual(date("Tue, 29 Feb 2000 00:00:00 GMT")?.secondsSince1970, 951_782_400)
    expectEqual(date("Sat, 31 Dec 2016 23:59:60 GMT")?.description, "Sun, 01 Jan 2017 00:00:00 GMT")
    expectEqual(date("Sat, 01 Jan 0000 00:00:00 GMT")?.description, "Sat, 01 Jan 0000 00:00:00 GMT")
    expectEqual(date("Fri, 31 Dec 9999 23:59:59 GMT")?.description, "Fri, 31 Dec 9999 23:59:59 GMT")
    #expect(date("Fri, 31 Dec 9999 23:59:60 GMT") == nil)
    expectEqual(HTTPDate(Date(timeIntervalSince1970: -0.5))?.description, "Wed, 31 Dec 1969 23:59:59 GMT")
    for seconds in [Double.nan, .infinity, -.infinity, 1e300, 253_402_300_800] {
      #expect(HTTPDate(Date(timeIntervalSince1970: seconds)) == nil)
    }
  }

  @Test("A two-digit year is at most 50 years ahead, and less than 50 years ago")
  func centuries() throws {
    func year(_ text: String, in now: String) throws -> Int? {
      try date(text, now: #require(date(now)).date)?.year
    }

    try expectEqual(year("Sunday, 06-Nov-94 08:49:37 GMT", in: "Thu, 01 Jan 2026 00:00:00 GMT"), 1994)
    try expectEqual(year("Wednesday, 01-Jan-76 00:00:00 GMT", in: "Thu, 01 Jan 2026 00:00:00 GMT"), 2076)
    try expectEqual(year("Saturday, 01-Jan-77 00:00:00 GMT", in: "Thu, 01 Jan 2026 00:00:00 GMT"), 1977)
    try expectEqual(year("Thursday, 01-Jan-05 00:00:00 GMT", in: "Sun, 01 Jan 2090 00:00:00 GMT"), 2105)
  }

  @Test("The calendar is Gregorian in 1500, unlike that of Foundation")
  func calendarIsNotAsStrict() {
    #expect(DateComponents(year: 1500, month: 2, day: 29).isValidDate(in: Calendar(identifier: .gregorian)))
    #expect(GregorianCalendar.day(1500, 2, 29) == nil)
  }

  #if os(Linux)
    @Test("Foundation's formatter accepts digits that are not ASCII")
    func formatterIsNotAsStrict() {
      let text = "Sun, 06 Nov 199٤ 08:49:37 GMT"
      let formatter = DateFormatter()
      formatter.locale = Locale(identifier: "en_US_POSIX")
      formatter.timeZone = TimeZone(identifier: "GMT")
      formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
      formatter.isLenient = false

      #expect(formatter.date(from: text) != nil && date(text) == nil)
    }
  #endif

  @Test("Every day of 400 years is written and read as by Foundation")
  func foundation() throws {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(identifier: "GMT")
    formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
    var differences: [String] = []

    for day in stride(from: -30 * 365, to: 370 * 365, by: 7) {
      let moment = Date(timeIntervalSince1970: Double(day) * 86_400 + Double(abs(day) * 7 % 86_400))
      let ours = try #require(HTTPDate(moment))
      let text = formatter.string(from: moment)
      if ours.description != text || date(text) != ours { differences.append(text) }
    }

    expectEqual(differences, [])
  }
}
