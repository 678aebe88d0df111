import FutureTreeHTTP
import HTTPTestSupport
import TestSupport
import Testing

@Suite("HTTPHeaders") struct HTTPHeadersTests {
  private func headers(_ fields: (String, String)...) throws -> HTTPHeaders { try HTTPHeaders(NameValuePairs(fields)) }

  @Test("Headers are equal if each name has the same values in the same order")
  func equality() throws {
    let one = try headers(("A", "1"), ("B", "2"), ("a", "3"))

    expectEqual(one, (try headers(("b", "2"), ("a", "1"), ("A", "3"))))
    expectEqual(one.hashValue, (try headers(("b", "2"), ("a", "1"), ("A", "3"))).hashValue)
    #expect(one != (try headers(("A", "3"), ("B", "2"), ("a", "1"))))
    #expect(one != (try headers(("A", "1"), ("B", "2"))))
    #expect(one != (try headers(("A", "1"), ("B", "2"), ("a", "3"), ("c", ""))))
    try expectEqual(HTTPHeaders.Field("A", "x"), HTTPHeaders.Field("a", "x"))
    #expect(try HTTPHeaders.Field("A", "x") != HTTPHeaders.Field("a", "X"))
  }

  @Test("Values are joined with commas, except those of Set-Cookie (RFC 9110, section 5.3)")
  func joined() throws {
    let all = try headers(
      ("Vary", "a"), ("Set-Cookie", "a=1; Expires=Wed, 01 Jan 2025"), ("vary", "b"), ("SET-cookie", "b=2"))

    expectEqual(all.joined("VARY"), "a, b")
    #expect(all.joined("Accept") == nil)
    #expect(all.joined("Set-Cookie") == nil)
    expectEqual(all.values(for: "set-cookie"), ["a=1; Expires=Wed, 01 Jan 2025", "b=2"])
    expectEqual(all.elements(of: "Set-Cookie"), ["a=1; Expires=Wed, 01 Jan 2025", "b=2"])
  }

  @Test(
    "The elements of a list are split at commas outside quotes",
    arguments: [
      ("a", ["a"]), ("a,b", ["a", "b"]), (" a \t,, b , ".trimmed, ["a", "b"]), (#"a="b,c", d"#, [#"a="b,c""#, "d"]),
      (#"a="b\",c", d"#, [#"a="b\",c""#, "d"]), (#"a="b, c"#, [#"a="b, c"#]), ("", []), (",", []),
    ])
  func elements(value: String, elements: [String]) throws {
    try expectEqual(headers(("X-List", value)).elements(of: "x-list"), elements)
  }

  @Test("Elements are those of all fields, in order")
  func elementsOfFields() throws {
    try expectEqual(headers(("V", "a, b"), ("W", "x"), ("v", "c")).elements(of: "V"), ["a", "b", "c"])
  }

  @Test("A Set-Cookie field without a value has no element")
  func emptyCookie() throws {
    try expectEqual(headers(("Set-Cookie", ""), ("Set-Cookie", "a")).elements(of: "set-cookie"), ["a"])
  }

  @Test("Fields can be added, found and removed")
  func changes() throws {
    var all = try headers(("A", "1"), ("B", "2"))

    try all.add(HTTPHeaders.Field("a", "3"))
    try all.add(contentsOf: headers(("C", "4")))

    #expect(all.contains("c"))
    #expect(!all.contains("d"))
    expectEqual(all.remove("a"), ["1", "3"])
    expectEqual(all.remove("a"), [])
    expectEqual(all.map(\.name), ["B", "C"])
    all.removeAll { $0.value == "2" }
    expectEqual(all, (try headers(("C", "4"))))
    #expect(try HTTPHeaders([:]).isEmpty)
    #expect(HTTPHeaders(all.filter { $0.name == "X" }).isEmpty)
  }

  @Test("Values with the same characters and other bytes are different")
  func normalization() {
    let (composed, decomposed) = (received([("A", "é")]), received([("A", "e\u{301}")]))

    #expect(composed != decomposed && composed[0] != decomposed[0])
    expectEqual(composed, received([("a", "é")]))
    expectEqual(composed.hashValue, received([("a", "é")]).hashValue)
  }

  @Test("An invalid field refuses all of them")
  func refused() {
    let error = #expect(throws: HTTPError.self) { try headers(("A", "1"), ("B", "\n")) }

    expectEqual(error?.code, .invalidHeaderValue)
  }
}

extension String {
  /// The text without blanks at its ends, which a value may not have.
  fileprivate var trimmed: String { String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed()) }
}
