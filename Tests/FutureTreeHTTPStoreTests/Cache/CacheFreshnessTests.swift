import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPStore
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

/// RFC 9111, section 4.2: how long a response is fresh, and how old it is.
@Suite("Cache: freshness (RFC 9111, section 4.2)") struct CacheFreshnessTests {
  private let api = CachedAPI()

  /// Returns the lifetime that the cache computes for a response with these fields.
  private func lifetime(status: Int = 200, _ fields: [(String, String)]) -> String {
    api.answer(status: status, fields)
    api.load("/", caching: .reload)
    let status = api.load("/", caching: .onlyCached).summary
    return status.split(separator: "ttl=").last.map(String.init) ?? status
  }

  @Test(
    "Section 5.2.2.1: `max-age` is a number of seconds, and large numbers do not overflow",
    arguments: [
      ("max-age=60", "60"), ("max-age=\"60\"", "60"), ("MAX-AGE=60", "60"), ("max-age=0", "0"),
      ("max-age=99999999999999999999", "1000000000"), ("max-age=x", "0"), ("max-age", "0"), ("max-age=-1", "0"),
      ("max-age=+60", "0"), ("max-age=1.5", "1"), ("max-age=", "0"), ("max-age = 60", "60"),
      ("max-age=60, max-age=30", "30"), ("s-maxage=100, max-age=60", "60"), ("s-maxage=100", "0"),
    ])
  func maximumAge(value: String, expected: String) {
    expectEqual(lifetime([("Cache-Control", value)]), expected)
  }

  @Test("Section 4.2.1: `max-age` takes precedence over `Expires`, even if the date is invalid")
  func precedence() {
    expectEqual(lifetime([("Cache-Control", "max-age=60"), ("Expires", api.date(600))]), "60")
    expectEqual(lifetime([("Cache-Control", "max-age=60"), ("Expires", "0")]), "60")
  }

  @Test("Section 5.3: `Expires` counts from the date of the response, and an invalid date is in the past")
  func expires() {
    expectEqual(lifetime([("Expires", api.date(60))]), "60")
    expectEqual(lifetime([("Expires", api.date(60)), ("Date", api.date(20))]), "40")
    expectEqual(lifetime([("Expires", api.date(-60))]), "0")
    for value in ["0", "-1", "", "now"] { #expect(lifetime([("Expires", value)]) == "0") }
    expectEqual(lifetime([("Expires", api.date(60)), ("Expires", api.date(90))]), "0")
  }

  @Test("Section 4.2.2: without a lifetime, a tenth of the time since the last change counts, at most a day")
  func heuristic() {
    expectEqual(lifetime([("Last-Modified", api.date(-1000))]), "100")
    expectEqual(lifetime([("Last-Modified", api.date(-10_000_000))]), "86400")
    expectEqual(lifetime([("Last-Modified", api.date(1000))]), "0")
    expectEqual(lifetime([("Last-Modified", "yesterday")]), "0")
    expectEqual(lifetime([]), "0")
    expectEqual(lifetime(status: 403, [("Last-Modified", api.date(-1000)), ("Cache-Control", "private")]), "0")
    expectEqual(lifetime(status: 403, [("Last-Modified", api.date(-1000)), ("Cache-Control", "public")]), "100")
  }

  @Test(
    "Section 4.2.3: the age is the larger of the apparent age and the sent age with the delay",
    arguments: [
      (date: 0, age: "0", delay: 0, expected: "0"), (date: -30, age: "0", delay: 0, expected: "30"),
      (date: 0, age: "40", delay: 0, expected: "40"), (date: -50, age: "40", delay: 0, expected: "50"),
      (date: 0, age: "40", delay: 7, expected: "47"), (date: 0, age: "x", delay: 7, expected: "7"),
      (date: 0, age: "3, 9", delay: 0, expected: "3"), (date: 100, age: "0", delay: 0, expected: "0"),
    ])
  func age(date: Int, age: String, delay: Int, expected: String) throws {
    let held = api.mock.hold()
    let load = api.start()
    let sent = api.date(date)
    api.clock.advance(by: .seconds(delay))
    held.answer(headers: try HTTPHeaders([("Date", sent), ("Age", age), ("Cache-Control", "max-age=1000")]))

    expectEqual(load.text, "success")
    expectEqual(api.load()?.headers["Age"], expected)
  }

  @Test("Section 4.2: a response whose age reaches its lifetime is stale")
  func boundary() {
    api.answer("one", [("Cache-Control", "max-age=60")])
    api.answer("two", [("Cache-Control", "max-age=60")])
    api.load()

    api.clock.advance(by: .seconds(59))
    expectEqual(api.load().summary, "200 one|hit; ttl=1")
    api.clock.advance(by: .seconds(1))
    expectEqual(api.load().summary, "200 two|fwd=stale; fwd-status=200; stored")
  }

  @Test(
    "Section 4.2.4: `must-revalidate` and `no-cache` are never answered stale",
    arguments: ["must-revalidate", "no-cache"])
  func mustRevalidate(directive: String) {
    api.answer("one", [("Cache-Control", "max-age=10, stale-if-error=600, stale-while-revalidate=600, \(directive)")])
    api.answer(status: 503)
    api.load()
    api.clock.advance(by: .seconds(20))

    #expect(api.load("/", caching: .onlyCached) == nil)
    expectEqual(api.load()?.status, .serviceUnavailable)
  }

  @Test(
    "Section 5.2.2.4: `no-cache` is validated even while it is fresh, with and without names",
    arguments: ["no-cache", "no-cache=\"x\""])
  func noCache(directive: String) {
    api.answer("one", [("Cache-Control", "max-age=60, \(directive)"), ("ETag", "\"a\"")])
    api.answer(status: 304)
    api.load()

    expectEqual(api.load().summary, "200 one|fwd=request; fwd-status=304")
  }

  @Test("RFC 5861, section 3: a response is used while it is validated in the background")
  func staleWhileRevalidate() {
    api.answer("one", [("Cache-Control", "max-age=10, stale-while-revalidate=30")])
    api.load()
    api.clock.advance(by: .seconds(20))
    let held = api.mock.hold()

    let stale = api.load()
    let again = api.load()
    expectEqual(stale.summary, "200 one|hit; ttl=-10")
    expectEqual(stale?.headers["Age"], "20")
    expectEqual(again.summary, "200 one|hit; ttl=-10")
    expectEqual(api.sentCount, 2)
    held.answer(headers: try! HTTPHeaders([("Cache-Control", "max-age=10")]), body: "two")

    expectEqual(api.load().summary, "200 two|hit; ttl=10")
    expectEqual(api.sentCount, 2)
  }

  @Test("RFC 5861, section 3: a background validation that fails keeps the response")
  func failedRefresh() {
    api.answer("one", [("Cache-Control", "max-age=10, stale-while-revalidate=30")])
    api.mock.fail(Oops())
    api.load()
    api.clock.advance(by: .seconds(20))
    api.load()

    expectEqual(api.load("/", caching: .onlyCached).summary, "200 one|hit; ttl=-10")
  }

  @Test("RFC 5861, section 3: the time has an end")
  func tooStale() {
    api.answer("one", [("Cache-Control", "max-age=10, stale-while-revalidate=30")])
    api.answer("two", [("Cache-Control", "max-age=10")])
    api.load()
    api.clock.advance(by: .seconds(40))

    expectEqual(api.load().summary, "200 two|fwd=stale; fwd-status=200; stored")
  }

  @Test("RFC 5861, section 4: a stale response replaces an error", arguments: [500, 502, 503, 504, nil] as [Int?])
  func staleIfError(status: Int?) {
    api.answer("one", [("Cache-Control", "max-age=10, stale-if-error=30")])
    if let status { api.answer("down", status: status) } else { api.mock.fail(Oops()) }
    api.load()
    api.clock.advance(by: .seconds(20))

    let fwdStatus = status.map { "fwd-status=\($0); " } ?? ""
    expectEqual(api.load().summary, "200 one|fwd=stale; \(fwdStatus)detail=stale-if-error")
    expectEqual(api.cache.count, 1)
  }

  @Test("RFC 5861, section 4: other answers are passed on, and the time has an end", arguments: [(404, 20), (503, 41)])
  func noReplacement(status: Int, seconds: Int) {
    api.answer("one", [("Cache-Control", "max-age=10, stale-if-error=30")])
    api.answer("down", status: status, [("Cache-Control", "no-store")])
    api.load()
    api.clock.advance(by: .seconds(seconds))

    expectEqual(api.load()?.status, HTTPStatus(status))
  }

  @Test("A clock that moves back makes no response younger than on its arrival")
  func clockMovesBack() {
    let now = Locked(1_800_000_000.0)
    let cache = HTTPCache(date: WallClock { Date(timeIntervalSince1970: now.value) })
    let mock = MockLoader()
    mock.answer(headers: try! HTTPHeaders([("Cache-Control", "max-age=60"), ("Age", "5")]))
    let chain = CacheResponses(in: cache) --> mock
    _ = chain.load(anyRequest())
    now.value -= 1000

    let age = chain.load(anyRequest()).outcomeIfCompleted.flatMap { try? $0.get() }?.headers["Age"]

    expectEqual(age, "5")
  }
}
