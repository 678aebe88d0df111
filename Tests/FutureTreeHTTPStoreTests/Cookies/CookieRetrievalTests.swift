import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPStore
import FutureTreeHTTPTesting
import TestSupport
import Testing

@Suite("Cookies: sending (RFC 6265bis, section 5.8.3)") struct CookieRetrievalTests {
  private let jar = CookieJar()

  private func store(_ texts: String..., from url: String = "https://example.com/") throws {
    for text in texts { #expect(jar.store(text, from: try HTTPURL(url))) }
  }

  private func sent(_ url: String) throws -> String {
    let mock = MockLoader()
    mock.answer()
    _ = (StoreCookies(in: jar) --> mock).load(try HTTPRequest(url))
    return mock.requests.first?.headers["Cookie"] ?? "none"
  }

  @Test(
    "A cookie of a host goes to that host, and one of a domain to all its hosts, on any port",
    arguments: [
      ("https://example.com/", "host=1; domain=1"), ("https://example.com:8443/", "host=1; domain=1"),
      ("https://a.b.example.com/", "domain=1"), ("https://notexample.com/", "none"), ("https://com/", "none"),
      ("https://example.com.evil.org/", "none"),
    ])
  func hosts(url: String, header: String) throws {
    try store("host=1", "domain=1; Domain=example.com")

    try expectEqual(sent(url), header)
  }

  @Test(
    "A cookie goes to its path and to all paths below it (section 5.1.4)",
    arguments: [
      ("/a", "slash=1; no=1"), ("/a/", "slash=1; no=1"), ("/a/b?c", "slash=1; no=1"), ("/ab", "none"), ("/", "none"),
      ("/A", "none"),
    ])
  func paths(path: String, header: String) throws {
    try store("no=1; Path=/a")
    if path != "/a" { try store("slash=1; Path=/a/") }

    #expect(try sent("https://example.com\(path)") == (path == "/a" ? "no=1" : header))
  }

  @Test("A secure cookie goes only over https, and to this machine")
  func secure() throws {
    try store("a=1; Secure")
    try store("b=1; Secure", from: "https://localhost/")

    #expect(try sent("https://example.com/") == "a=1" && sent("http://example.com/") == "none")
    #expect(try sent("http://localhost:8080/") == "b=1")
  }

  @Test("Longer paths go first, and then earlier cookies")
  func order() throws {
    try store("c=1; Path=/", "a=1; Path=/x/y", "d=1; Path=/", "b=1; Path=/x")

    #expect(try sent("https://example.com/x/y/z") == "a=1; b=1; c=1; d=1")
  }

  @Test("A cookie without a name is sent as its value")
  func noName() throws {
    try store("=alone", "empty=")

    #expect(try sent("https://example.com/") == "alone; empty=")
  }

  @Test("A used cookie stays longer than an unused one")
  func lastUse() throws {
    let jar = CookieJar(limits: .init(perDomain: 2))
    let url = try HTTPURL("https://example.com/")
    jar.store("a=1; Path=/a", from: url)
    jar.store("b=1; Path=/b", from: url)
    let mock = MockLoader()
    mock.answer()
    _ = (StoreCookies(in: jar) --> mock).load(try HTTPRequest("https://example.com/a"))

    jar.store("c=1", from: url)

    expectEqual(jar.cookies.map(\.name), ["a", "c"])
  }

  @Test("No description contains a value")
  func secrecy() throws {
    try store("a=\("se" + "cret")")
    let cookie = try #require(jar.cookies.first)
    var dumped = ""
    dump(jar, to: &dumped)
    dump(cookie, to: &dumped)

    expectEqual(cookie.value, "secret")
    expectEqual("\(cookie)", "a=… for example.com/")
    expectEqual("\(jar)", "CookieJar(1 cookies)")
    #expect(!dumped.contains("secret"))
  }
}
