import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import TestSupport
import Testing

@Suite("HTTPEndpoint") struct HTTPEndpointTests {
  /// The target of a request for an endpoint, or the code of the error.
  private func target(_ endpoint: HTTPEndpoint, query: NameValuePairs<String?> = []) -> String {
    do {
      let request = try HTTPRequest(.get, to: endpoint, query: query)
      return (request.url?.origin ?? "") + request.path + (request.query.map { "?" + $0 } ?? "")
    } catch {
      return "\(error.code)"
    }
  }

  @Test("A literal is sent as it is written")
  func literal() {
    expectEqual(target("users/1?a=%20b&c"), "users/1?a=%20b&c")
    expectEqual(target("/users"), "/users")
    #expect(target("https://example.com:8443/a/b?c=d#e") == "https://example.com:8443/a/b?c=d")
    #expect(target("HTTP://example.com") == "http://example.com/")
    expectEqual(target(""), "")
  }

  @Test(
    "A hostile value cannot leave its segment, add a query or name a host",
    arguments: [
      ("../admin", "invalidURL"), ("a/./b", "invalidURL"), ("..;v=1", "invalidURL"), ("a/b", "users/a%2Fb/posts"),
      ("..a/b..", "users/..a%2Fb../posts"), ("1?role=admin", "users/1%3Frole%3Dadmin/posts"),
      ("1#", "users/1%23/posts"), ("//evil.example", "users/%2F%2Fevil.example/posts"),
      ("%2e%2e", "users/%252e%252e/posts"), ("a\r\nHost: b", "users/a%0D%0AHost%3A%20b/posts"),
      ("\\..\\", "invalidURL"), ("é", "users/%C3%A9/posts"), ("a;b=c", "users/a%3Bb%3Dc/posts"),
      (".", "invalidURL"), ("..", "invalidURL"), ("", "invalidURL"), ("\u{0}", "users/%00/posts"),
    ])
  func hostileSegment(value: String, expected: String) {
    expectEqual(target("users/\(value)/posts"), expected)
  }

  @Test("A segment of several values is checked as a whole, at every position")
  func wholeSegments() {
    let (dot, nothing) = (".", "")

    expectEqual(target("users/\(dot)\(dot)"), "invalidURL")
    expectEqual(target("users/.\(dot)/x"), "invalidURL")
    expectEqual(target("users/\(nothing)\(nothing)?a"), "invalidURL")
    expectEqual(target("\(nothing)/users"), "invalidURL")
    expectEqual(target("/\(nothing)"), "invalidURL")
    expectEqual(target("users/\(nothing)#top"), "invalidURL")
    expectEqual(target("users/v\(nothing)\(1)"), "users/v1")
    expectEqual(target("files/a\(dot)\(dot)b"), "files/a..b")
  }

  @Test("A value is checked together with the parameters that follow it in the literal")
  func parameters() {
    expectEqual(target("files/\("..");v=1/x"), "invalidURL")
    expectEqual(target("files/\("a");v=1/x"), "files/a;v=1/x")
  }

  @Test("A UUID can be a value")
  func uuid() {
    let id = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))

    expectEqual(target("users/\(id)"), "users/01020304-0506-0708-090A-0B0C0D0E0F10")
  }

  @Test("A value after a URL cannot change the last segment of its path")
  func behindURL() throws {
    let (base, query) = (try HTTPURL("https://example.com/v1"), try HTTPURL("https://example.com/v1?k=1"))

    expectEqual(target("\(base)\("x")"), "invalidURL")
    expectEqual(target("\(base)users"), "invalidURL")
    #expect(target("\(base)?q=\("a b")") == "https://example.com/v1?q=a%20b")
    expectEqual(target("\(query)/users"), "invalidURL")
    expectEqual(target("\(query)?q=1"), "invalidURL")
    #expect(target("\(query)&q=\("a&b")") == "https://example.com/v1?k=1&q=a%26b")
  }

  @Test("A value in the query stays in its item")
  func query() {
    expectEqual(target("search?q=\("a&b=c#d e")&page=\(2)"), "search?q=a%26b%3Dc%23d%20e&page=2")
    expectEqual(target("search?q=\("")"), "search?q=")
    expectEqual(target("search?\("..")/\("")"), "search?../")
  }

  @Test("Items are added after the query of the literal")
  func addedItems() {
    expectEqual(target("users?a=1", query: [("b", "x y"), ("c", nil)]), "users?a=1&b=x%20y&c")
    #expect(target("https://example.com/", query: [("b", "&")]) == "https://example.com/?b=%26")
    expectEqual(target("users", query: []), "users")
  }

  @Test(
    "A value cannot name the server",
    arguments: ["example.com", "example.com:80", "evil.example/", "user@evil.example", ""])
  func host(value: String) {
    #expect(target("https://\(value)/users") == "invalidURL")
    #expect(target("\(value)://example.com/users") == "invalidURL")
  }

  @Test("A value that continues the name of the host is refused")
  func hostContinued() {
    #expect(target("https://example.com\(".evil.example")/users") == "invalidURL")
    #expect(target("https://example.com:\(8080)/users") == "invalidURL")
    #expect(target("\("https"):\("//evil.example")") == "invalidURL")
    #expect(target("\("https://evil.example/")") == "https%3A%2F%2Fevil.example%2F")
  }

  @Test("An initial HTTPURL is kept unchanged, with the query that its description hides")
  func base() throws {
    let root = try HTTPURL("https://example.com:8443")
    let page = try HTTPURL("https://example.com/feed/?page=2")

    #expect(target("\(root)/users/\("a/b")") == "https://example.com:8443/users/a%2Fb")
    #expect(target("\(page)") == "https://example.com/feed/?page=2")
    #expect(target("\(try HTTPURL("https://example.com/v1/"))/users") == "https://example.com/v1/users")
    expectEqual(target("proxy/\(root)"), "proxy/https%3A%2F%2Fexample.com%3A8443%2F")
  }

  @Test("A literal knows its template: no value, no host and no query")
  func templates() throws {
    let (id, name) = (7, "a/{b}")
    let base = try HTTPURL("https://example.com/users/7")
    let endpoints: [(HTTPEndpoint, String?)] = [
      ("users", "users"), ("/users/\(id)/posts?page=\(id)", "/users/{}/posts"), ("users/\(name)#\(id)", "users/{}"),
      ("files/\(name).\(name)", "files/{}.{}"), ("https://example.com", "/"), ("", ""),
      ("https://example.com:8443/users/\(id)?a", "/users/{}"), ("HTTP://example.com?a", "/"), ("http/\(id)", "http/{}"),
      ("\(base)/posts", nil), (.url(base), nil), (.path(try HTTPPath("users/7")), nil),
    ]
    for (endpoint, template) in endpoints {
      expectEqual(try HTTPRequest(.get, to: endpoint).urlTemplate, template)
    }
  }

  @Test("A request with another target has no template, and a copy keeps its own")
  func replacedTarget() throws {
    var request = try HTTPRequest(.get, to: "users/\(7)")
    var copy = request
    copy.urlTemplate = "/users/{id}"
    request.target = .path(try HTTPPath("a"))

    expectEqual(request.urlTemplate, nil)
    expectEqual(copy.urlTemplate, "/users/{id}")
    expectEqual(try HTTPRequest("http://example.com/users/7").urlTemplate, nil)
  }

  @Test("Existing URLs and paths are endpoints")
  func made() throws {
    #expect(target(.url(try HTTPURL("https://example.com/a?b"))) == "https://example.com/a?b")
    expectEqual(target(.path(try HTTPPath(["users", "a/b"])), query: [("c", "d")]), "users/a%2Fb?c=d")
  }

  @Test("A URL of Foundation is an endpoint, and an invalid one fails the load")
  func foundation() throws {
    let base = try #require(URL(string: "http://a.example/b/"))
    let relative = try #require(URL(string: "c?d=e%20f", relativeTo: base))
    let file = URL(fileURLWithPath: "/secret")

    expectEqual(target(.url(relative), query: ["g": "h"]), "http://a.example/b/c?d=e%20f&g=h")
    try expectEqual(HTTPURL(base).absoluteString, "http://a.example/b/")
    expectEqual(#expect(throws: HTTPError.self) { try HTTPURL(file) }?.code, .invalidURL)
    let load = MockLoader().get(.url(file))
    expectEqual((load.outcomeIfCompleted?.error as? HTTPError)?.code, .invalidURL)
    #expect("\(load)".contains("secret") == false)
  }

  @Test("The error of a literal is reported when the endpoint is used, and the query is not printed")
  func printed() {
    let wrong: HTTPEndpoint = "//example.com"
    let secret: HTTPEndpoint = "users?token=\("secret")"

    #expect("\(wrong)".hasPrefix("invalidURL: "))
    expectEqual("\(secret)", "users?…")
    #expect(!String(reflecting: secret).contains("secret"))
    expectEqual(target(wrong), "invalidURL")
  }
}
