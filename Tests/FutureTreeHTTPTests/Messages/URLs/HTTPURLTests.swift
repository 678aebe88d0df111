import FutureTreeHTTP
import TestSupport
import Testing

@Suite("HTTPURL") struct HTTPURLTests {
  @Test("A URL has its parts as written")
  func parts() throws {
    let url = try HTTPURL("https://Example.com:8443/a%20b/c;d?x=1&y=%2F#part")

    expectEqual(url.scheme, .https)
    expectEqual(url.host, "example.com")
    expectEqual(url.port, 8443)
    expectEqual(url.path, "/a%20b/c;d")
    expectEqual(url.query, "x=1&y=%2F")
    #expect(url.origin == "https://example.com:8443")
    #expect(url.absoluteString == "https://example.com:8443/a%20b/c;d?x=1&y=%2F")
  }

  @Test("A URL without a path has the path /, and the port of its scheme")
  func defaults() throws {
    #expect(try HTTPURL("http://example.com").absoluteString == "http://example.com/")
    #expect(try HTTPURL("http://example.com?q").absoluteString == "http://example.com/?q")
    #expect(try HTTPURL("http://example.com").port == 80)
    #expect(try HTTPURL("HTTPS://example.com").port == 443)
  }

  @Test(
    "Unambiguous hosts are allowed",
    arguments: [
      "localhost", "127.0.0.1", "a-b.example", "xn--bcher-kva.example", "example.com.", "_service.example", "[::1]",
      "[2001:db8::1]", "[::ffff:192.0.2.1]", "[1:2:3:4:5:6:7:8]", "1.example",
    ])
  func hosts(host: String) throws {
    #expect(try HTTPURL("http://\(host)/").host == host)
    #expect(try HTTPURL("http://\(host):8080/").port == 8080)
  }

  @Test("Ambiguous URLs are refused")
  func refused() {
    for text in Self.refused {
      let error = #expect(throws: HTTPError.self, "\(text.debugDescription)") { _ = try HTTPURL(text) }
      expectEqual(error?.code, .invalidURL)
    }
  }

  @Test(
    "Brackets and bars of a query are percent-encoded, and nothing else",
    arguments: [
      ("?filter[name]=a|b&c[]=[1]", "?filter%5Bname%5D=a%7Cb&c%5B%5D=%5B1%5D"), ("?a=%5B|%7C", "?a=%5B%7C%7C"),
      ("?[?]#[|]", "?%5B?%5D"),
    ])
  func queryMarks(query: String, expected: String) throws {
    try expectEqual(HTTPURL("http://[::1]/a\(query)").absoluteString, "http://[::1]/a\(expected)")
    try expectEqual(HTTPURL("http://a.example").resolving("b\(query)").query.map { "?" + $0 }, expected)
    try expectEqual(HTTPPath("a\(query)").query.map { "?" + $0 }, expected)
    for wrong in ["http://a.example/|\(query)", "http://a.example/\(query) ", "http://a|b/\(query)"] {
      #expect(throws: HTTPError.self, "\(wrong)") { try HTTPURL(wrong) }
    }
  }

  @Test(
    "International hosts are converted to Punycode, and only they",
    arguments: [
      ("http://bücher.example", "http://xn--bcher-kva.example/"),
      ("https://BÜCHER.Example:8443/a?b=c#u", "https://xn--bcher-kva.example:8443/a?b=c"),
      ("http://www.例え.テスト/?q=http://ü", nil), ("http://www.例え.テスト/", "http://www.xn--r8jz45g.xn--zckzah/"),
      ("http://xn--bcher-kva.example/", "http://xn--bcher-kva.example/"), ("http://a.example/bücher", nil),
      ("http://a.example/?//bücher", nil), ("http://bu\u{308}cher.example/", "http://xn--bcher-kva.example/"),
    ])
  func international(text: String, expected: String?) throws {
    expectEqual(try? HTTPURL(text).absoluteString, expected)
    guard let expected else { return }
    let host = try HTTPURL(expected).host
    try expectEqual(HTTPURL("http://a.example").resolving("//\(host)/").host, host)
    try expectEqual(HTTPRequest(text).url?.host, host)
  }

  @Test("A host of parts is converted, and a host that a server sent is refused")
  func internationalParts() throws {
    try expectEqual(HTTPURL(host: "bücher.example").host, "xn--bcher-kva.example")
    #expect(throws: HTTPError.self) { try HTTPURL(host: "１２７.0.0.1") }
    let base = try HTTPURL("http://a.example")
    #expect(throws: HTTPError.self) { try base.resolving(received: "http://bücher.example/") }
  }

  /// No list of arguments, because test runners print arguments, control bytes included.
  private static let refused = [
    "", "example.com", "/path", "ftp://example.com/", "file:///etc/passwd", "javascript:1", "http:/example.com",
    "http://", "http:///path", "http://user@example.com/", "http://user:secret@example.com/", "http://@example.com/",
    "http://127.0.0.1:1\\@localhost/", "http://ho%0Ast/", "http://ho%73t/", "http://１２７.0.0.1/",
    "http://bücher\u{FF0F}a/", "http://bü%41.example/", "http://bü@a/", "http://a\u{3002}b.example/",
    "http://ＥＸＡＭＰＬＥ.com/", "http://\u{200D}/", "http://ü_\u{0}/", "http://\u{301}/",
    "http://\u{FF58}n--pypal-4ve.com/", "http://xn--bcher-kva\u{AD}.example/",
    "http://x\u{AD}n--bcher-kva.example/", "http://xn-\u{34F}-bcher-kva.example/",
    "http://xn-\u{200B}-bcher-kva.example/",
    "http://\u{FF58}\u{FF4E}\u{FF0D}\u{FF0D}bcher-kva.example/", "http://xn\u{FE63}\u{FE63}bcher-kva.example/",
    "http://0x7f.1/", "http://0x7f000001/", "http://2130706433/", "http://127.1/", "http://127.0.0.01/",
    "http://1.2.3.4.5/", "http://256.0.0.1/", "http://1.2.3.4./", "http://a..b/", "http://.example/",
    "http://-a.example/",
    "http://a-.example/", "http://a b/", "http://a\tb/", "http://a\u{0}b/", "http://[::1/", "http://[::1]x/",
    "http://[1::2::3]/", "http://[12345::]/", "http://[::1%25lo]/", "http://[1:2:3:4:5:6:7]/",
    "http://example.com:0/",
    "http://example.com:65536/", "http://example.com:/", "http://example.com:+80/", "http://example.com:8 0/",
    "http://example.com/a b", "http://example.com/a\r\nX: y", "http://example.com/%zz", "http://example.com/%2",
    "http://example.com/a[b]", "http://example.com/a|b", "http://example.com/\"", "http://example.com/<",
    "http://example.com/a\\b",
    "http://example.com/%2e%2e/a", "http://example.com/a/%2E", "http://example.com/.%2e?", "http:example.com", "http:",
    "http://example.com/ä", "http://a\(String(repeating: "b", count: 63)).example/",
  ]
}
