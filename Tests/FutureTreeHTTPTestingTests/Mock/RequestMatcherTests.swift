import Foundation
import FutureTreeHTTP
import FutureTreeHTTPTesting
import TestSupport
import Testing

@Suite("RequestMatcher") struct RequestMatcherTests {
  private let request: HTTPRequest

  init() throws {
    var request = try HTTPRequest(.post, "http://api.example.com/users/7?page=1&page=2&name=Ada%20L&flag")
    try request.addHeader("X-Token", "swordfish")
    try request.addHeader("X-Token", "second")
    request.body = .data(Data("body of it".utf8))
    self.request = request
  }

  static let matching: [RequestMatcher] = [
    .any, .method(.post), .method(.get, .post), .host("api.example.com"), .host("*.EXAMPLE.com"), .host("**.com"),
    .path("/users/7"), "/users/*", .path("/**"), .query("page"), .query("page", "2"), .query("name", "Ada L"),
    .query("flag"), .query("flag", ""), .header("x-token"), .header("X-Token", "second"), .body("body of it"),
    .body(Data("body of it".utf8)), .body("ten bytes") { $0.count == 10 },
    .matching("a POST") { $0.method == .post }, .method(.post) && "/users/*" && .header("X-Token"),
    .method(.get) || "/users/*", !.method(.get), !(.method(.post) && "/posts"),
  ]

  @Test("A matcher matches, and its negation does not", arguments: matching)
  func matches(matcher: RequestMatcher) {
    #expect(matcher.matches(request))
    #expect(!(!matcher).matches(request))
  }

  static let mismatching: [(RequestMatcher, String)] = [
    (.method(.get), "its method is POST"), (.host("*.com"), "its host is api.example.com"),
    (.path("/users"), "its path is /users/7"), ("/users/*/posts", "its path is /users/7"),
    (.query("size"), "it has no query item size"), (.query("page", "3"), "its query item page has another value"),
    (.header("Accept"), "it has no header Accept"), (.header("X-Token", "x"), "its header X-Token has another value"),
    (.body("other"), "its body differs"), (.matching("a big one") { _ in false }, "it is not a big one"),
    (!.method(.post), "it matches method POST"), (.method(.post) && "/posts", "its path is /users/7"),
    (.method(.get) || "/posts", "its method is POST, and its path is /users/7"),
  ]

  @Test("A mismatch reports its reason", arguments: mismatching)
  func mismatches(matcher: RequestMatcher, reason: String) async {
    let mock = MockLoader()
    mock.on(matcher, .status(.ok))

    let outcome = await mock.load(request).outcome

    #expect(!matcher.matches(request))
    guard case .failure(let error as UnexpectedRequest) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    expectEqual(error.mismatches.count, 1)
    #expect(
      error.mismatches[0].hasPrefix("\(matcher), created at FutureTreeHTTPTestingTests/RequestMatcherTests.swift:"))
    #expect(error.mismatches[0].hasSuffix(": \(reason)"))
  }

  @Test("No message shows a query, a header value or a body")
  func secrets() async {
    let mock = MockLoader()
    let everything: RequestMatcher = .query("page", "9") || .header("X-Token", "tunafish") || .body("other body")
    mock.on(everything, .status(.ok))

    let outcome = await mock.load(request).outcome

    let printed = "\(outcome) \(everything) \(String(describing: mock.verificationError))"
    for secret in ["swordfish", "tunafish", "page=", "Ada", "body of it", "other body"] {
      #expect(!printed.contains(secret))
    }
  }

  @Test("JSON bodies match in any order of keys, and other values and broken JSON do not")
  func json() throws {
    var request = try HTTPRequest(.post, "https://example.com/session")
    request.body = .data(Data(#"{ "b": [1, 2.5], "a": null }"#.utf8))

    #expect(RequestMatcher.body(json: #"{"a":null,"b":[1,2.5]}"#).matches(request))
    #expect(!RequestMatcher.body(json: #"{"a":null,"b":[2.5,1]}"#).matches(request))
    request.body = .data(Data("3".utf8))
    #expect(RequestMatcher.body(json: " 3 ").matches(request))
    request.body = .data(Data("{".utf8))
    #expect(!RequestMatcher.body(json: "3").matches(request))
  }

  @Test("An empty body matches no other body, and a file body matches none")
  func bodies() throws {
    var request = try HTTPRequest(.post, "http://example.com/")

    #expect(RequestMatcher.body("").matches(request))
    #expect(!RequestMatcher.body("x").matches(request))
    request.body = .file(URL(fileURLWithPath: "/dev/null"))
    #expect(!RequestMatcher.body("").matches(request))
  }
}

extension MockLoader {
  var verificationError: MockVerificationError? {
    do throws(MockVerificationError) {
      try verify()
      return nil
    } catch {
      return error
    }
  }
}
