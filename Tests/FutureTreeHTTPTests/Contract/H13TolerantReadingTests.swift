import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

/// H13 (tolerant reading): what a server sends is read as browsers and the current RFCs read it.
@Suite("H13: tolerant reading, of references", .tags(.h13)) struct H13ReferenceTests {
  /// References, and the URLs to which they lead from `https://example.com/a/b`.
  static let references: [(reference: String, target: String)] = [
    ("/my file", "/my%20file"), ("/x?filter[name]=a", "/x?filter%5Bname%5D=a"), ("/x?a|b", "/x?a%7Cb"),
    ("/x?q=\"a\"", "/x?q=%22a%22"), ("/{id}^`<>", "/%7Bid%7D%5E%60%3C%3E"), ("/[x]", "/%5Bx%5D"),
    ("/x#a b", "/x"), ("/x#[\"|\\%", "/x"), ("/a?b#c?d", "/a?b"), ("/100%", "/100%25"), ("/%zz?%2", "/%25zz?%252"),
    ("/%20?%7c", "/%20?%7c"), ("c\\d", "/a/c/d"), ("\\d", "/d"), ("/x\\..\\y", "/y"), ("/x?\\", "/x?%5C"),
    ("/x/%2e%2E/y/%2e/z/.%2e", "/y/"), ("/a\tb", "/ab"), ("my file:x", "/a/my%20file:x"),
    ("https://example.com:/x", "/x"), ("//example.com:/x y", "/x%20y"), ("HTTPS://EXAMPLE.com/[", "/%5B"),
    ("/x, y", "/x,%20y"), ("?a b", "/a/b?a%20b"),
  ]

  @Test("A redirect leads to the URL that browsers load", arguments: references)
  func redirect(location: String, target: String) throws {
    let mock = MockLoader()
    mock.on(.any, .redirect(to: location), .text("there"))

    let load = (Redirect() --> mock).load(try HTTPRequest("https://example.com/a/b"))

    #expect(load.text == "success" && mock.requests.last?.url?.absoluteString == "https://example.com" + target)
  }

  @Test("A link leads to the URL that browsers load", arguments: references)
  func link(reference: String, target: String) throws {
    guard !reference.contains(">") else { return }  // It ends the target of a link.
    let headers = try HTTPHeaders([("Link", "<\(reference)>; rel=next; hreflang=en; hreflang=de")])
    let response = HTTPResponse(to: try HTTPRequest("https://example.com/a/b"), status: .ok, headers: headers)

    #expect(try response.linkedURL("next")?.absoluteString == "https://example.com" + target)
  }

  /// Read in different ways, these would lead to another origin, or use a credential.
  static let ambiguous: [String] = [
    "\\\\other.example\\b", "/\\other.example", "\\/other.example", "https:\\\\other.example", "//other.example\\b",
    "https://example.com\\@other.example/", "https://user@example.com/", "https:other.example", "https:/other.example",
    "https:///other.example", "https://ex%61mple.com/", "https://exa mple.com/", "https://127.1/",
    "https://0x7f000001/",
    "https://example.com:0/", "https://example.com:443x/", "ftp://example.com/", "javascript:alert(1)",
    "https://a.example/x, https://b.example/y", "/b, /c", "//[::1/", "https://exam\tple.com:x/",
  ]

  @Test("A reference whose host or credential depends on the reader is refused", arguments: ambiguous)
  func refused(location: String) throws {
    let mock = MockLoader()
    mock.on(.any, .redirect(to: location))

    let load = (Redirect() --> mock).load(try HTTPRequest("https://example.com/a/b"))

    expectEqual(load.text, "invalidRedirect")
    expectEqual(mock.requests.count, 1)
  }
}

@Suite("H13: tolerant reading, of times", .tags(.h13)) struct H13TimeTests {
  /// The time until the second attempt. The clock shows 10:00:00.
  private func delay(_ retryAfter: String, _ strategy: RetryStrategy = .default) throws -> Duration? {
    let clock = ManualClock()
    let mock = MockLoader(clock: clock)
    let headers = try HTTPHeaders([("Retry-After", retryAfter)])
    mock.on(.any, .respond(status: .tooManyRequests, headers: headers), .text("ok"))
    let date = clock.wallClock(origin: Date(timeIntervalSince1970: 1_698_832_800))
    _ = (Retry(strategy, clock: clock, date: date, random: .constant(1)) --> mock).load(anyRequest())
    return clock.nextDeadline.map { $0 - clock.now }
  }

  @Test("A retry waits until the date that the server sent, in each of its forms", arguments: formsOfDate)
  func dates(text: String) throws {
    try expectEqual(delay(text), .seconds(10))
  }

  @Test(
    "A retry waits for the seconds that the server sent, also for a part of one",
    arguments: [
      ("2", 2000), ("2.0", 2000), ("1.5", 1500), ("0.30", 300), ("5.", 5000), ("2, 2.5", 2500), (" 2 ", 2000),
    ])
  func seconds(text: String, milliseconds: Int) throws {
    try expectEqual(delay(text.trimmingCharacters(in: .whitespaces)), .milliseconds(milliseconds))
  }

  @Test(
    "A `Retry-After` that cannot be read leaves the delay of the strategy",
    arguments: ["soon", "-1", "1e3", ".5", "1.5.1", "0x10", "Wed, 01 Nov 2023 10:00:10 PST", "2023-11-01T10:00"])
  func unreadable(text: String) throws {
    try expectEqual(delay(text), .milliseconds(250))
    try expectEqual(delay(text, .constant(.seconds(3))), .seconds(3))
  }
}

@Suite("H13: tolerant reading, of bodies", .tags(.h13)) struct H13BodyTests {
  private struct Item: Codable, Sendable, Equatable {
    var id: Int
  }

  static let withoutValue: [(status: Int, body: String)] = [
    (204, ""), (205, ""), (304, ""), (200, ""), (200, " \r\n\t"),
  ]

  private func mock(_ status: Int, _ body: String) -> MockLoader {
    let mock = MockLoader()
    mock.onOthers(.respond(status: HTTPStatus(status), body: Data(body.utf8)))
    return mock
  }

  @Test("A body without a value is `nil` for an optional type", arguments: withoutValue)
  func none(status: Int, body: String) throws {
    let load = mock(status, body).load(anyRequest()).decoded(as: Item?.self)

    let item = try #require(load.outcomeIfCompleted).get()
    #expect(item == nil)
  }

  @Test("Every method that decodes accepts an empty body for an optional type")
  func methods() async throws {
    let mock = mock(204, "")
    let item = Item(id: 1)

    #expect(try await mock.get("http://a/", as: Item?.self).value == nil)
    #expect(try await mock.delete("http://a/", as: Item?.self).value == nil)
    #expect(try await mock.post("http://a/", json: item, as: Item?.self).value == nil)
    #expect(try await mock.put("http://a/", json: item, as: Item?.self).value == nil)
    #expect(try await mock.patch("http://a/", json: item, as: Item?.self).value == nil)
    #expect(try await mock.upload("http://a/", body: .data(Data("a".utf8)), as: Item?.self).value == nil)
  }

  @Test("An empty body is an error for other types", arguments: withoutValue)
  func required(status: Int, body: String) {
    let load = mock(status, body).load(anyRequest()).decoded(as: [Item?].self)

    expectEqual(load.text, "undecodableBody")
  }

  @Test("A value, `null`, and an invalid body are decoded as for other types")
  func values() throws {
    func item(_ body: String) throws -> Item?? {
      try mock(200, body).load(anyRequest()).decoded(as: Item?.self).outcomeIfCompleted?.get()
    }

    #expect(try item(#"{"id": 1}"#) == .some(.some(Item(id: 1))) && item("null") == .some(.none))
    #expect(throws: HTTPError.self) { try item("x") }
    #expect(throws: HTTPError.self) { try item("[]") }
  }
}
