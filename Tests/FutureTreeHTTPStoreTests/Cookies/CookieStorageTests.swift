import Foundation
import FutureTreeHTTP
import FutureTreeHTTPStore
import FutureTreeTesting
import TestSupport
import Testing

@Suite("Cookies: storing (RFC 6265bis, section 5.7)") struct CookieStorageTests {
  private let clock = ManualClock()
  private let jar: CookieJar

  init() {
    jar = CookieJar(date: clock.wallClock())
  }

  @discardableResult
  private func store(_ text: String, _ url: String = "https://www.example.com/a/b") throws -> Bool {
    jar.store(text, from: try HTTPURL(url))
  }

  private func names(_ url: String) throws -> [String] { jar.cookies(for: try HTTPURL(url)).map(\.name) }

  @Test("A cookie without `Domain` is one of its host, and has the directory of the request as its path")
  func standard() throws {
    try store("a=1")

    let cookie = try #require(jar.cookies.first)
    expectEqual(cookie.domain, "www.example.com")
    #expect(cookie.isHostOnly)
    expectEqual(cookie.path, "/a")
    #expect(cookie.expires == nil)
    #expect(!cookie.isSecure)
    #expect(!cookie.isHTTPOnly)
    expectEqual(cookie.sameSite, .unspecified)
    expectEqual(cookie.value, "1")
  }

  @Test(
    "The path of a cookie that sets none is the directory of the request (section 5.1.4)",
    arguments: [("", "/"), ("/", "/"), ("/a", "/"), ("/a/", "/a"), ("/a/b", "/a"), ("/a/b/?c=/d/e", "/a/b")])
  func standardPath(path: String, cookiePath: String) throws {
    try store("a=1", "https://example.com\(path)")

    expectEqual(jar.cookies.first?.path, cookiePath)
  }

  @Test(
    "A host sets cookies for itself and for domains that contain it (section 5.1.3)",
    arguments: [
      ("https://www.example.com/", "example.com", true), ("https://www.example.com/", "www.example.com", true),
      ("https://www.example.com/", "a.www.example.com", false), ("https://www.example.com/", "ample.com", false),
      ("https://www.example.com/", "other.com", false), ("https://www.example.com/", "example.com.", false),
      ("https://www.example.com/", "com", false), ("https://localhost/", "localhost", true),
      ("https://10.0.0.1/", "10.0.0.1", true), ("https://10.0.0.1/", "0.0.1", false), ("https://[::1]/", "[::1]", true),
    ])
  func domains(url: String, domain: String, isStored: Bool) throws {
    try expectEqual(store("a=1; Domain=\(domain)", url), isStored)
  }

  @Test("A domain that is a public suffix is only allowed for the host itself, and then for nothing below it")
  func publicSuffix() throws {
    let jar = CookieJar(publicSuffixes: PublicSuffixes(list: "github.io"))
    let host = try HTTPURL("https://github.io/")

    #expect(!jar.store("a=1; Domain=github.io", from: try HTTPURL("https://ada.github.io/")))
    #expect(jar.store("a=1; Domain=github.io", from: host))
    expectEqual(jar.cookies.first?.isHostOnly, true)
    #expect(jar.cookies(for: try HTTPURL("https://ada.github.io/")).isEmpty)
  }

  @Test("`Max-Age` takes precedence over `Expires`, and both are limited to 400 days (section 5.5)")
  func expiry() throws {
    let now = clock.wallClock().now
    let past = "Expires=Sun, 06 Nov 1994 08:49:37 GMT"
    for (name, attributes) in [
      ("a", "Max-Age=60; \(past)"), ("b", "Max-Age=99999999999"), ("c", "Expires=1 Jan 9999 00:00:00"),
      ("d", past), ("e", "Max-Age=0"), ("f", "Max-Age=-1; Expires=1 Jan 9999 00:00:00"),
    ] { try store("\(name)=1; \(attributes)") }

    let limit = now + 400 * 86_400
    expectEqual(jar.cookies.map(\.name), ["a", "b", "c"])
    expectEqual(jar.cookies.map(\.expires), [now + 60, limit, limit])
  }

  @Test("An expired cookie is neither listed nor sent, and a past expiry removes a cookie")
  func expired() throws {
    try store("a=1; Max-Age=60")
    try store("b=1; Max-Age=120")

    clock.advance(by: .seconds(60))
    #expect(try names("https://www.example.com/a") == ["b"] && jar.cookies.map(\.name) == ["b"])

    try store("b=; Max-Age=0")
    expectEqual(jar.cookies, [])
  }

  @Test("A cookie replaces one with the same name, domain and path, and keeps its place")
  func replaced() throws {
    try store("a=1; Path=/")
    try store("b=1; Path=/")
    try store("a=2; Path=/; Secure; HttpOnly")
    try store("a=3; Path=/a")
    try store("a=4; Path=/; Domain=www.example.com")

    expectEqual(jar.cookies.map(\.value), ["2", "1", "3", "4"])
    expectEqual(jar.cookies.map(\.isHostOnly), [true, true, true, false])
  }

  @Test("`Secure` is accepted over https, and from this machine")
  func secure() throws {
    #expect(try store("a=1; Secure"))
    #expect(try !store("b=1; Secure", "http://www.example.com/"))
    #expect(try store("c=1; Secure", "http://localhost:8080/"))
  }

  @Test(
    "An insecure connection does not replace or hide a secure cookie",
    arguments: [
      ("s=2; Path=/x", false), ("s=2; Path=/x/y", false), ("s=2; Path=/", true), ("s=2; Path=/xy", true),
      ("s=2; Path=/x; Domain=example.com", false), ("t=2; Path=/x", true),
    ])
  func insecure(text: String, isStored: Bool) throws {
    try store("s=1; Secure; Path=/x")

    #expect(try store(text, "http://www.example.com/") == isStored)
    expectEqual(jar.cookies.first { $0.path == "/x" && $0.isHostOnly }?.value, "1")
  }

  @Test("`SameSite=None` needs `Secure`")
  func sameSite() throws {
    #expect(try !store("a=1; SameSite=None"))
    #expect(try store("a=1; SameSite=None; Secure"))
    #expect(try store("b=1; SameSite=Strict"))
    #expect(try names("https://www.example.com/a") == ["a", "b"])
  }

  @Test(
    "The prefixes of names are checked in any case (section 5.4)",
    arguments: [
      ("__Secure-a=1", false), ("__Secure-a=1; Secure", true), ("__SECURE-a=1", false),
      ("__Host-a=1; Secure; Path=/", true), ("__Host-a=1; Path=/", false), ("__Host-a=1; Secure", false),
      ("__Host-a=1; Secure; Path=/x", false), ("__host-a=1; Secure; Path=/; Domain=www.example.com", false),
      ("=__Secure-a=1; Secure", false), ("__Host-a; Secure; Path=/", false), ("=__secure-", false), ("=_Host-a", true),
      ("__Secure-\u{301}=1", false), ("__Host-\u{301}=1", false), ("=__Secure-\u{301}", false),
    ])
  func prefixes(text: String, isStored: Bool) throws {
    try expectEqual(store(text), isStored)
  }

  @Test("Names with the same characters and other bytes are different cookies")
  func normalization() throws {
    for name in ["é", "e\u{301}"] { try store("\(name)=1; Path=/") }
    try store("é=2; Path=/")

    expectEqual(jar.cookies.map { Array($0.name.utf8) }, [Array("é".utf8), Array("e\u{301}".utf8)])
    expectEqual(jar.cookies.map(\.value), ["2", "1"])
  }

  @Test("A `__Host-` cookie from the root directory still needs the attribute `Path`")
  func hostPrefix() throws {
    #expect(try !store("__Host-a=1; Secure", "https://example.com/"))
  }

  @Test("Beyond the limit of a domain, insecure cookies go first, and then the least recently used")
  func perDomain() throws {
    let jar = CookieJar(limits: .init(perDomain: 3), date: clock.wallClock())
    let url = try HTTPURL("https://example.com/")
    for name in ["a", "b"] { jar.store("\(name)=1; Secure; Path=/\(name)", from: url) }
    jar.store("c=1; Path=/c", from: url)
    _ = jar.store("other=1", from: try HTTPURL("https://other.example/"))

    jar.store("d=1; Secure", from: url)
    expectEqual(jar.cookies.map(\.name), ["a", "b", "other", "d"])
    jar.store("a=2; Secure; Path=/a", from: url)
    jar.store("e=1; Secure", from: url)
    expectEqual(jar.cookies.map(\.name), ["a", "other", "d", "e"])
  }

  @Test("Beyond the total limit, expired cookies go first, and then the least recently used of all domains")
  func total() throws {
    let jar = CookieJar(limits: .init(total: 3), date: clock.wallClock())
    func store(_ name: String, _ attributes: String = "") throws {
      jar.store("\(name)=1\(attributes)", from: try HTTPURL("https://\(name).example/"))
    }
    try store("a")
    try store("b", "; Max-Age=1")
    try store("c")

    clock.advance(by: .seconds(1))
    try store("d")
    expectEqual(jar.cookies.map(\.name), ["a", "c", "d"])
    try store("e")
    expectEqual(jar.cookies.map(\.name), ["c", "d", "e"])
  }

  @Test("Limits of zero store nothing", arguments: [CookieJar.Limits(perDomain: -1), CookieJar.Limits(total: 0)])
  func noCookies(limits: CookieJar.Limits) throws {
    let jar = CookieJar(limits: limits)

    #expect(!jar.store("a=1", from: try HTTPURL("https://example.com/")) && jar.cookies == [])
  }
}
