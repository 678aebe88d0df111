import Foundation
import FutureTreeHTTP
import TestSupport
import Testing

/// RFC 3986, section 5.2.
@Suite("Resolving references") struct HTTPURLResolvingTests {
  private let base = "http://a/b/c/d;p?q"

  @Test(
    "The normal examples of section 5.4.1 are resolved as specified",
    arguments: [
      ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"), ("/g", "http://a/g"),
      ("//g", "http://g/"), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"), ("#s", "http://a/b/c/d;p?q"),
      ("g#s", "http://a/b/c/g"), ("g?y#s", "http://a/b/c/g?y"), (";x", "http://a/b/c/;x"), ("g;x", "http://a/b/c/g;x"),
      ("g;x?y#s", "http://a/b/c/g;x?y"), ("", "http://a/b/c/d;p?q"), (".", "http://a/b/c/"), ("./", "http://a/b/c/"),
      ("..", "http://a/b/"), ("../", "http://a/b/"), ("../g", "http://a/b/g"), ("../..", "http://a/"),
      ("../../", "http://a/"), ("../../g", "http://a/g"),
    ])
  func normal(reference: String, url: String) throws {
    try expectEqual(HTTPURL(base).resolving(reference).absoluteString, url)
  }

  @Test(
    "The abnormal examples of section 5.4.2 are resolved as specified",
    arguments: [
      ("../../../g", "http://a/g"), ("../../../../g", "http://a/g"), ("/./g", "http://a/g"), ("/../g", "http://a/g"),
      ("g.", "http://a/b/c/g."), (".g", "http://a/b/c/.g"), ("g..", "http://a/b/c/g.."), ("..g", "http://a/b/c/..g"),
      ("./../g", "http://a/b/g"), ("./g/.", "http://a/b/c/g/"), ("g/./h", "http://a/b/c/g/h"),
      ("g/../h", "http://a/b/c/h"), ("g;x=1/./y", "http://a/b/c/g;x=1/y"), ("g;x=1/../y", "http://a/b/c/y"),
      ("g?y/./x", "http://a/b/c/g?y/./x"), ("g?y/../x", "http://a/b/c/g?y/../x"), ("g#s/./x", "http://a/b/c/g"),
      ("g#s/../x", "http://a/b/c/g"),
    ])
  func abnormal(reference: String, url: String) throws {
    try expectEqual(HTTPURL(base).resolving(reference).absoluteString, url)
  }

  @Test("Other schemes, and references that only look absolute, are refused")
  func schemes() throws {
    for reference in ["g:h", "http:g", "https:", "javascript:alert(1)", "file:///etc", "mailto:a@b"] {
      let error = #expect(throws: HTTPError.self, "\(reference)") { try HTTPURL(base).resolving(reference) }
      expectEqual(error?.code, .invalidURL)
    }
  }

  @Test("A reference with invalid characters is refused")
  func refused() throws {
    for reference in ["a b", "a\r\nb", "//user@g", "//g:0/", "//", "///x", "%zz", "/%2e%2e/x", "a\\b", "[", "ä"] {
      let error = #expect(throws: HTTPError.self, "\(reference.debugDescription)") {
        try HTTPURL(base).resolving(reference)
      }
      expectEqual(error?.code, .invalidURL)
    }
  }

  @Test("A whole URL replaces the base, and a colon after a slash does not end a scheme")
  func whole() throws {
    #expect(try HTTPURL(base).resolving("HTTPS://G:444/x/../y").absoluteString == "https://g:444/y")
    #expect(try HTTPURL(base).resolving("./g:h").absoluteString == "http://a/b/c/g:h")
    #expect(try HTTPURL("https://a:8443").resolving("//b").absoluteString == "https://b/")
    #expect(try HTTPURL("https://a:8443").resolving("x?").absoluteString == "https://a:8443/x?")
  }

  @Test("Dot segments of a URL are resolved when it is parsed")
  func dotSegments() throws {
    #expect(try HTTPURL("http://a/b/../../c/./d/..").absoluteString == "http://a/c/")
    #expect(try HTTPURL("http://a/b//../c").absoluteString == "http://a/b/c")
    #expect(try HTTPURL("http://a/...").absoluteString == "http://a/...")
    #expect(try HTTPURL("http://a/?../x").absoluteString == "http://a/?../x")
  }
}

@Suite("Resolving references of servers") struct HTTPURLReceivedTests {
  private let base = "https://a.example/b/c?q"

  private func resolved(_ reference: String) throws -> String {
    try HTTPURL(base).resolving(received: reference).absoluteString
  }

  @Test("Control characters, spaces at both ends and bytes beyond ASCII are read as by the URL Standard")
  func bytes() throws {
    #expect(try resolved(" \u{1}/d\u{1F} \n") == "https://a.example/d")
    #expect(try resolved("ht\ntps://\tb.exa\rmple/") == "https://b.example/")
    #expect(try resolved("/a\r\nX: y") == "https://a.example/aX:%20y")
    #expect(try resolved("/\u{0}\u{7F}") == "https://a.example/%00%7F")
    #expect(try resolved("/ä?ö#ü") == "https://a.example/%C3%A4?%C3%B6")
    #expect(try resolved("") == "https://a.example/b/c?q" && resolved(" ") == "https://a.example/b/c?q")
  }

  @Test("A combining character does not hide a delimiter")
  func combining() throws {
    #expect(try resolved("/x#\u{301}secret") == "https://a.example/x")
    #expect(try resolved("/x?\u{301}") == "https://a.example/x?%CC%81")
    #expect(try resolved("/..\u{301}/y") == "https://a.example/..%CC%81/y")
    #expect(throws: HTTPError.self) { try resolved("//b.example:\u{301}80/") }
    #expect(throws: HTTPError.self) { try resolved("https://b.example\u{301}/") }
  }

  @Test("Encoded dots that are a part of a segment, and dots in a query, stay")
  func dots() throws {
    #expect(try resolved("/a%2e/%2e%2e%2e/b?%2e%2e/c") == "https://a.example/a%2e/%2e%2e%2e/b?%2e%2e/c")
    #expect(try resolved("%2E%2E/%2e/d") == "https://a.example/d")
  }

  @Test("Any reference is a URL that the strict parser accepts as the same, or is refused")
  func random() throws {
    var state: UInt64 = 1
    let parts = [
      "/", "\\", ":", "?", "#", "%", "[", "]", "@", ".", "..", "%2e", " ", "\t", "\u{301}", "ä", "a", "80", "//",
      "https:", "b.example", "|", "&", "=",
    ]
    let base = try HTTPURL(base)
    var accepted = 0
    for _ in 0..<5000 {
      let reference = (0..<(1 + state >> 61)).map { _ in
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return parts[Int((state >> 33) % UInt64(parts.count))]
      }.joined()
      let url = try? base.resolving(received: reference)
      if let strict = try? base.resolving(reference) {
        // An international host of a program is converted.
        expectEqual(url, strict.host.contains("xn--") ? nil : strict, "\(reference.debugDescription)")
      }
      guard let url else { continue }
      accepted += 1
      let again = try? HTTPURL(url.absoluteString)
      #expect(again == url && again?.origin == url.origin, "\(reference.debugDescription)")
    }
    #expect(accepted > 1000)
  }

  @Test("A program's reference is resolved strictly")
  func strict() throws {
    let references = [
      "/my file", "/x?a b", "/a|b", "/a[b]?c", "/100%", "c\\d", "/ä", "https://a.example:/", "/%2e%2e/x",
    ]
    for reference in references {
      #expect(throws: HTTPError.self, "\(reference)") { try HTTPURL(base).resolving(reference) }
    }
  }
}

@Suite("Building URLs") struct HTTPURLBuildingTests {
  @Test("Parts are percent-encoded where needed")
  func parts() throws {
    let url = try HTTPURL(
      scheme: .http, host: "Example.com", port: 8080, path: ["a b", "c/d", "ü?#%;", "@me:x", ""],
      query: [("q", "a&b=c+d"), ("all", nil), ("none", ""), ("q", "2"), ("ü", "/?")])

    #expect(
      url.absoluteString == "http://example.com:8080/a%20b/c%2Fd/%C3%BC%3F%23%25%3B/@me:x/"
        + "?q=a%26b%3Dc%2Bd&all&none=&q=2&%C3%BC=%2F%3F")
    try expectEqual(HTTPURL(url.absoluteString), url)
  }

  @Test("A URL without path and query is the root of its host, with the port of its scheme")
  func root() throws {
    #expect(try HTTPURL(host: "a").absoluteString == "https://a/")
    #expect(try HTTPURL(host: "[::1]", port: 1).absoluteString == "https://[::1]:1/")
  }

  @Test("Any text is one segment or one item, and is read back unchanged", arguments: 0...255)
  func everyByte(byte: Int) throws {
    let text = "a" + String(UnicodeScalar(UInt8(byte))) + "b"
    let built = try HTTPURL(host: "a", path: [text, text], query: [(text, text), (text, nil)])

    let parsed = try HTTPURL(built.absoluteString)

    expectEqual(parsed, built)
    expectEqual(parsed.path.dropFirst().split(separator: "/").map { $0.removingPercentEncoding }, [text, text])
    let items = try #require(parsed.query).split(separator: "&").map { $0.split(separator: "=") }
    expectEqual(items.map { $0.map(\.removingPercentEncoding) }, [[text, text], [text]])
  }

  @Test("Dot segments and invalid hosts are refused")
  func refused() throws {
    for segments in [["."], ["a", ".."], ["..", "a"]] {
      let error = #expect(throws: HTTPError.self) { try HTTPURL(host: "a", path: segments) }
      expectEqual(error?.code, .invalidURL)
    }
    for host in ["", "a:80", "user@a", "a/b", "a?b", "a#b", "[::1", "a b", "a\r\n", "a:", "127.1"] {
      let error = #expect(throws: HTTPError.self, "\(host.debugDescription)") { try HTTPURL(host: host) }
      expectEqual(error?.code, .invalidURL)
    }
    #expect(throws: HTTPError.self) { try HTTPURL(host: "a", port: 0) }
    #expect(throws: HTTPError.self) { try HTTPURL("http://a/").appending(path: [".."]) }
  }

  @Test(
    "Segments are appended to the path, and its last slash is replaced",
    arguments: [
      ("http://a", ["b"], "http://a/b"), ("http://a/b", ["c", "d"], "http://a/b/c/d"),
      ("http://a/b/?q", ["c/"], "http://a/b/c%2F?q"), ("http://a/b", [""], "http://a/b/"),
      ("http://a/b", ["", "c"], "http://a/b//c"), ("http://a/b?q", [], "http://a/b?q"),
    ])
  func appendingPath(url: String, segments: [String], result: String) throws {
    try expectEqual(HTTPURL(url).appending(path: segments).absoluteString, result)
  }

  @Test("Items are appended to the query")
  func appendingQuery() throws {
    #expect(try HTTPURL("http://a/").appending(query: [("b", "c d"), ("e", nil)]).query == "b=c%20d&e")
    #expect(try HTTPURL("http://a/?x=1").appending(query: [("y", "2")]).query == "x=1&y=2")
    #expect(try HTTPURL("http://a/?x&").appending(query: [("y", "2")]).query == "x&y=2")
    #expect(try HTTPURL("http://a/?").appending(query: [("y", "2")]).query == "y=2")
    #expect(try HTTPURL("http://a/").appending(query: []).query == nil)
  }

  @Test("An origin is scheme, host and port")
  func origins() throws {
    let url = try HTTPURL("https://a/b?c")

    #expect(try url.hasSameOrigin(as: HTTPURL("https://A:443/x")))
    for other in ["http://a/", "https://b/", "https://a:444/", "http://a:443/"] {
      #expect(try !url.hasSameOrigin(as: HTTPURL(other)))
    }
  }
}
