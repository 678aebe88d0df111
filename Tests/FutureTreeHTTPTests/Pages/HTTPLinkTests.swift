import Foundation
import FutureTreeHTTP
import HTTPTestSupport
import TestSupport
import Testing

@Suite("Links of the field Link") struct HTTPLinkTests {
  private func read(_ values: String...) throws -> [String] {
    try HTTPHeaders(NameValuePairs(values.map { ("Link", $0) })).links.map(HTTPLinkTests.text)
  }

  private static func text(_ link: HTTPLink) -> String {
    let parameters = link.parameters.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
    return (["<\(link.target)>"] + link.relations + parameters).joined(separator: " ")
  }

  @Test("The examples of RFC 8288 are read")
  func examples() throws {
    #expect(
      try read(#"<http://example.com/TheBook/chapter2>; rel="previous"; title="previous chapter""#)
        == ["<http://example.com/TheBook/chapter2> previous title=previous chapter"])
    #expect(try read(#"</>; rel="http://example.net/foo""#) == ["</> http://example.net/foo"])
    try expectEqual(read(##"</terms>; rel="copyright"; anchor="#foo""##), ["</terms> copyright anchor=#foo"])
    try expectEqual(
      read(
        "</TheBook/chapter2>; rel=\"previous\"; title*=UTF-8'de'letztes%20Kapitel, "
          + "</TheBook/chapter4>; rel=\"next\"; title*=UTF-8'de'n%c3%a4chstes%20Kapitel"),
      ["</TheBook/chapter2> previous", "</TheBook/chapter4> next"])
    #expect(
      try read(#"<http://example.org/>; rel="start http://example.net/relation/other""#)
        == ["<http://example.org/> start http://example.net/relation/other"])
    #expect(
      try read(#"<https://example.org/>; rel="start", <https://example.org/index>; rel="index""#)
        == ["<https://example.org/> start", "<https://example.org/index> index"])
  }

  @Test(
    "Blanks, quotes, empty elements and repeated parameters are read",
    arguments: [
      ("", []), (" ,, \t,", []), ("<a>;rel=next", ["<a> next"]), ("<a> ; rel = next ; b = c ", ["<a> next b=c"]),
      ("<>; rel=self", ["<> self"]), (",, <a>; rel=x ,, <b>; rel=y ,", ["<a> x", "<b> y"]),
      (#"<a,b;c>; rel="x"; t="1,2;<d>; rel=y""#, [#"<a,b;c> x t=1,2;<d>; rel=y"#]),
      (#"<a>; rel="x"; t="q\"\\\z""#, [#"<a> x t=q"\z"#]), ("<a>; REL=\"Next  PREV\"", ["<a> next prev"]),
      ("<a>; rel=next; rel=prev; t=1; T=2", ["<a> next t=1"]), ("<a>; rel=x; b; c=", ["<a> x b= c="]),
      ("<a>; rel=x;", ["<a> x"]), ("<a>; rel=x <b>; rel=y", ["<a> x <b>"]), ("<a>; ; =1; rel=x", ["<a> x"]),
      ("<a>; rel=a b; t=c d ", ["<a> a b t=c d"]),
    ] as [(String, [String])])
  func accepted(value: String, expected: [String]) throws {
    let headers = HTTPHeaders([try HTTPHeaders.Field("Link", value.trimmingCharacters(in: .whitespaces))])

    expectEqual(headers.links.map(HTTPLinkTests.text), expected)
  }

  @Test(
    "A link without a relation type is omitted", arguments: ["<a>", "<a>; rel", "<a>; rel=\"\"", "<a>; title=next"])
  func withoutRelation(value: String) throws {
    try expectEqual(read(value + ", <b>; rel=x"), ["<b> x"])
  }

  @Test(
    "A malformed part ends the list of its field, and other fields are read",
    arguments: [
      ("a", 0), ("<a", 0), ("<a; rel=x", 0), ("a>; rel=x", 0), ("\"<b>; rel=y\"", 0),
      ("<a>; rel=\"x\"y, <b>; rel=y", 1), ("<a>; rel=x, b, <b>; rel=y", 1), ("<a>; rel=x; t=\"u, <b>; rel=y", 1),
      ("<a>; rel=\"x", 1), ("<a>; rel=x; t=\"\\", 1), ("<a>; rel=x, <b", 1), ("<a>rel=x, <b>; rel=y", 0),
    ] as [(String, Int)])
  func malformed(value: String, count: Int) throws {
    let links = try HTTPHeaders([("Link", value), ("link", "<z>; rel=last")]).links
    let response = HTTPResponse(to: anyRequest(), status: .ok, headers: try HTTPHeaders([("Link", value)]))

    expectEqual(links.count, count + 1)
    expectEqual(links.last?.target, "z")
    let error = #expect(throws: HTTPError.self) { try response.linkedURL("next") }
    expectEqual(error?.code, .invalidLink)
  }

  @Test("Names and relation types are compared without case")
  func cases() throws {
    let link = try #require(HTTPHeaders([("LINK", "<a>; Rel=NeXt; TiTle=T")]).links.first)

    #expect(link.isOf(relation: "nExT"))
    expectEqual(link["TITLE"], "T")
    #expect(!link.isOf(relation: "nex"))
    #expect(link["rel"] == nil)
  }

  @Test("At most 250 links are read, and a link that can be missing is an error")
  func count() throws {
    let many = Array(repeating: "<a>; rel=x", count: 250)
    let fields = { (values: [String]) in try HTTPHeaders(NameValuePairs(values.map { ("Link", $0) })) }
    let response = { (headers: HTTPHeaders) in HTTPResponse(to: anyRequest(), status: .ok, headers: headers) }

    for headers in [
      try fields(many + ["<b>; rel=next"]), try fields([(many + ["<b>; rel=next"]).joined(separator: ",")]),
    ] {
      expectEqual(headers.links.count, 250)
      let error = #expect(throws: HTTPError.self) { try response(headers).linkedURL("next") }
      expectEqual(error?.code, .invalidLink)
    }
    #expect(try response(try fields(many)).linkedURL("next") == nil)
  }

  @Test("No text shows the target or the values of a link")
  func secrets() throws {
    let field = "</a?\(sentinel)>; rel=next; title=\(sentinel); anchor=\"/\(sentinel)\""
    let headers = try HTTPHeaders([("Link", field)])
    var dumped = ""
    dump(headers.links, to: &dumped)
    let broken = HTTPResponse(
      to: anyRequest(), status: .ok, headers: try HTTPHeaders([("Link", "<http://\(sentinel)@[/>; rel=next")]))
    let error = #expect(throws: HTTPError.self) { try broken.linkedURL("next") }

    expectEqual("\(headers.links[0])", "next, anchor: …, title: …")
    #expect(!dumped.contains(sentinel))
    expectEqual(error.map { "\($0)".contains(sentinel) }, false)
  }
}

// MARK: - URLs of links

extension HTTPLinkTests {
  private func linked(_ fields: String..., from url: String = "https://example.com/a/b?c") throws -> String? {
    let headers = try HTTPHeaders(NameValuePairs(fields.map { ("Link", $0) }))
    return try HTTPResponse(to: HTTPRequest(url), status: .ok, headers: headers).linkedURL("next")?.absoluteString
  }

  @Test("The URL of a link is resolved relative to the URL of the request")
  func resolved() throws {
    #expect(try linked("<d?e>; rel=next") == "https://example.com/a/d?e")
    #expect(try linked("<?page=2>; rel=\"prev NEXT\"") == "https://example.com/a/b?page=2")
    #expect(try linked("<//other.org/>; rel=next") == "https://other.org/")
    #expect(try linked("<x>; rel=prev", "<y>; rel=next, <z>; rel=next") == "https://example.com/a/y")
    #expect(try linked("<x>; rel=prev") == nil)
    #expect(try linked() == nil)
  }

  @Test("A link has the languages of all parameters `hreflang`, in order")
  func languages() throws {
    let field = "</a>; hreflang=en; rel=alternate; HREFLANG=\"de-CH\"; hreflang=fr, </b>; rel=alternate"
    let links = try HTTPHeaders([("Link", field)]).links

    #expect(links.map(\.languages) == [["en", "de-CH", "fr"], []] && links[0]["hreflang"] == "en")
  }

  @Test("A link of another resource is ignored")
  func anchors() throws {
    #expect(try linked("<x>; rel=next; anchor=\"/other\", <y>; rel=next") == "https://example.com/a/y")
    #expect(try linked("<x>; rel=next; anchor=\"#part\"") == nil)
    #expect(try linked("<x>; rel=next; anchor=\"https://example.com/a/b?c\"") == "https://example.com/a/x")
    #expect(try linked("<x>; rel=next; anchor=\"\"") == "https://example.com/a/x")
  }

  @Test(
    "An invalid target is an error with the response",
    arguments: ["ftp://a/", "http://u:p@a/", "//a\\b", "//[/", "http://"])
  func invalidTarget(target: String) throws {
    let error = #expect(throws: HTTPError.self) { try linked("<\(target)>; rel=next") }

    expectEqual(error?.code, .invalidLink)
    #expect(error?.response != nil)
    #expect(error?.underlying is HTTPError)
  }

  @Test("A link of a response to a path has no URL")
  func path() throws {
    let headers = try HTTPHeaders([("Link", "<x>; rel=next")])
    let response = HTTPResponse(to: try HTTPRequest(.get, path: "a"), status: .ok, headers: headers)
    let error = #expect(throws: HTTPError.self) { try response.linkedURL("next") }

    expectEqual(error?.code, .missingHost)
    #expect(try response.linkedURL("prev") == nil)
  }
}

// MARK: - Hostile input

extension HTTPLinkTests {
  private static let fields = [
    #"<http://example.com/TheBook/chapter2>; rel="previous next"; title="a \"b\", <c>""#,
    ##"</a>; rel=next, </b>; rel="x"; title*=UTF-8'de'n%c3%a4chstes; anchor="#foo" , , <c> ; d"##,
  ]

  /// Reads a field as a server may send it, and checks what holds for any field.
  private func check(_ bytes: some Collection<UInt8>) {
    guard let field = try? HTTPHeaders.Field("Link", String(decoding: bytes, as: UTF8.self)) else { return }
    let links = HTTPHeaders([field]).links
    let length = links.reduce(0) { $0 + $1.target.utf8.count + 2 }
    #expect(links.count <= 250 && length <= field.value.utf8.count && links.allSatisfy { !$0.relations.isEmpty })
    _ = try? HTTPResponse(to: anyRequest(), status: .ok, headers: HTTPHeaders([field])).linkedURL("next")
  }

  @Test("Every prefix of a field is read")
  func prefixes() {
    for field in HTTPLinkTests.fields {
      for count in 0...field.utf8.count { check(field.utf8.prefix(count)) }
    }
  }

  @Test("Every change of one byte of a field is read")
  func changes() {
    let marks = Array("<>;,=\"\\ *a%#".utf8)
    for field in HTTPLinkTests.fields.map({ Array($0.utf8) }) {
      for index in field.indices {
        check(field[..<index] + field[(index + 1)...])
        for mark in marks {
          check(field[..<index] + [mark] + field[(index + 1)...])
          check(field[..<index] + [mark] + field[index...])
        }
      }
    }
  }

  @Test("Random links are read as they were written")
  func random() throws {
    var state: UInt64 = 1
    func below(_ bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int((state >> 33) % UInt64(bound))
    }
    func text(of alphabet: String, from count: Int) -> String {
      String((0..<(count + below(6))).map { _ in Array(alphabet)[below(alphabet.count)] })
    }
    for _ in 0..<500 {
      var (written, expected): ([String], [String]) = ([], [])
      for _ in 0..<below(4) {
        let (target, relation, title) = (
          text(of: "ab/?;,=\" ", from: 0), text(of: "xyz", from: 1), text(of: "a<>;,=\"\\ ", from: 0)
        )
        let quoted = title.replacing("\\", with: #"\\"#).replacing("\"", with: #"\""#)
        written.append("<\(target)>\(text(of: " ", from: 0));rel=\(relation); title=\"\(quoted)\"")
        expected.append("<\(target)> \(relation) title=\(title)")
      }
      try expectEqual(read(written.joined(separator: text(of: ",", from: 1))), expected)
    }
  }

  @Test(
    "Long fields are read in linear time", .timeLimit(.minutes(20)),
    arguments: [
      "<", ">", ",", ";", "\"", "\\\"", "<a", "<>", "<>,", "<a>;", "<a>;rel=x,", "<a>;a=\"", "<a>;=", "a ", "; ;",
      "<a>; \t",
    ])
  func long(piece: String) {
    let text = String(repeating: piece, count: 100_000 / piece.utf8.count)

    for front in ["", "<a>;rel=\"", "<a>;rel=x;", "<a>;rel="] { check((front + text + "x").utf8) }
  }
}
