import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

/// RFC 9111, sections 5.2.1 and 5.4: what a request demands.
@Suite("Cache: demands of requests (RFC 9111, section 5.2.1)") struct CacheDemandTests {
  private let api = CachedAPI()

  /// Stores a response that is 20 seconds old and fresh for another 40.
  private func storeOne(_ extra: String = "") {
    api.answer("one", [("Cache-Control", "max-age=60" + extra)])
    api.answer("two", [("Cache-Control", "max-age=60")])
    api.load()
    api.clock.advance(by: .seconds(20))
  }

  @Test(
    "Sections 5.2.1.1 and 5.2.1.3: `max-age` and `min-fresh` limit what is used",
    arguments: [
      ("max-age=20", "one"), ("max-age=19", "two"), ("max-age=0", "two"), ("max-age=x", "two"), ("max-age", "two"),
      ("min-fresh=40", "one"), ("min-fresh=41", "two"), ("min-fresh=x", "two"), ("no-cache", "two"),
      ("no-cache, only-if-cached", ""), ("only-if-cached", "one"), ("max-stale=1", "one"), ("unknown=1", "one"),
    ])
  func directives(value: String, body: String) {
    storeOne()

    let answer = api.load("/", [("Cache-Control", value)])

    expectEqual(answer.summary.split(separator: "|")[0], (body.isEmpty ? "none" : "200 \(body)"))
  }

  @Test(
    "Section 5.2.1.2: `max-stale` allows stale responses",
    arguments: [("max-stale=30", "one"), ("max-stale=29", "two"), ("max-stale", "one"), ("max-stale=x", "two")])
  func maximumStaleness(value: String, body: String) {
    storeOne()
    api.clock.advance(by: .seconds(70))

    #expect(api.load("/", [("Cache-Control", value)]).summary.hasPrefix("200 \(body)|"))
  }

  @Test("RFC 5861, section 4: a request can allow stale responses instead of an error")
  func staleIfError() {
    storeOne()
    api.load("/", [("Cache-Control", "no-cache")])
    api.clock.advance(by: .seconds(80))
    api.answer("down", status: 503)

    let answer = api.load("/", [("Cache-Control", "stale-if-error=30")])

    expectEqual(answer.summary, "200 two|fwd=stale; fwd-status=503; detail=stale-if-error")
  }

  @Test("Section 5.4: `Pragma: no-cache` counts without `Cache-Control`")
  func pragma() {
    storeOne()

    #expect(api.load("/", [("Pragma", "no-cache"), ("Cache-Control", "x")]).summary.hasPrefix("200 one|hit"))
    expectEqual(api.load("/", [("Pragma", "No-Cache")]).summary, "200 two|fwd=request; fwd-status=200; stored")
  }

  @Test("Section 5.2.1.7: a request for a stored response that does not exist fails")
  func onlyIfCached() {
    let load = api.start("/", [("Cache-Control", "only-if-cached")])

    expectEqual(load.text, "notCached")
    expectEqual(api.sentCount, 0)
  }

  @Test("The options select the same behavior")
  func options() {
    storeOne()
    api.clock.advance(by: .seconds(100))

    expectEqual(api.load("/", caching: .preferCached).summary, "200 one|hit; ttl=-60")
    expectEqual(api.load("/", caching: .onlyCached).summary, "200 one|hit; ttl=-60")
    expectEqual(api.load("/other", caching: .onlyCached).summary, "none")
    expectEqual(api.load("/", caching: .reload).summary, "200 two|fwd=stale; fwd-status=200; stored")
    api.answer("three", [("Cache-Control", "max-age=60")])
    expectEqual(api.load("/", caching: .off).summary, "200 three|no status")
    expectEqual(api.load().summary, "200 two|hit; ttl=60")
  }

  @Test("A response that must be validated is not used although the option allows stale responses")
  func mustRevalidate() {
    storeOne(", must-revalidate")
    api.clock.advance(by: .seconds(100))

    #expect(api.load("/", caching: .onlyCached) == nil)
    expectEqual(api.load("/", caching: .preferCached).summary, "200 two|fwd=stale; fwd-status=200; stored")
  }
}
