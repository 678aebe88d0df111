import Foundation
import TestSupport
import Testing

@testable import FutureTreeHTTP
@testable import FutureTreeHTTPStore

@Suite("Cookies: dates (RFC 6265bis, section 5.1.1)") struct CookieDateTests {
  private func seconds(_ text: String) -> Int? {
    CookieDate.parse(text).map { Int($0.timeIntervalSince1970) }
  }

  @Test(
    "Dates in any order and with any separators mean one instant",
    arguments: [
      "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
      "6 nov 1994 8:49:37", "8:49:37 6 NOVEMBER 94", "1994 Nov 06 08:49:37", "Nov/6/1994/08:49:37",
      "06 Nov 1994 08:49:37 +0500", "06x Novembre 1994y 08:49:37z", "\t06\tNov\t1994\t08:49:37",
      "06 Nov 1994 08:49:37 23:59:59 7 Dec 2000",
    ])
  func accepted(text: String) {
    expectEqual(seconds(text), 784_111_777)
  }

  @Test(
    "Years with two digits are those from 1970 to 2069",
    arguments: [("70", 1970), ("99", 1999), ("00", 2000), ("69", 2069), ("1601", 1601), ("9999", 9999)])
  func years(text: String, year: Int) throws {
    let date = try #require(CookieDate.parse("1 Jan \(text) 00:00:00"))

    expectEqual(HTTPDate(date)?.year, year)
  }

  @Test(
    "Other texts are not dates",
    arguments: [
      "", " ", "0", "06 Nov 1994", "Nov 1994 08:49:37", "06 1994 08:49:37", "06 Nov 08:49:37", "06 Nov 1994 08:49",
      "06 Nov 1994 8:4:", "06 Nov 1994 a8:49:37", "06 Nov 1994 008:49:37", "06 Nov 1994 08:49:370",
      "006 Nov 1994 08:49:37", "06 Nov 19940 08:49:37", "06 Nov 1600 08:49:37", "06 Nov 100 08:49:37",
      "00 Nov 1994 08:49:37", "31 Nov 1994 08:49:37", "32 Nov 1994 08:49:37", "29 Feb 1900 08:49:37",
      "06 Nov 1994 24:00:00", "06 Nov 1994 08:60:00", "06 Nov 1994 08:49:60", "06 Nox 1994 08:49:37",
    ])
  func refused(text: String) {
    #expect(seconds(text) == nil)
  }
}
