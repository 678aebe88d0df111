import FutureTree
import FutureTreeHTTP
import HTTPTestSupport
import TestSupport
import Testing

@Suite("Server environments") struct ServerEnvironmentTests {
  private func environment(
    prefix: String = "/v1", headers: NameValuePairs<String> = [], query: NameValuePairs<String?> = []
  ) throws -> ServerEnvironment {
    try ServerEnvironment(
      scheme: .http, host: "api.example", port: 8080, pathPrefix: prefix, headers: headers, query: query)
  }

  @Test(
    "A relative path is below the prefix, and a path with a leading slash is not",
    arguments: [
      ("/v1", "users/1", "/v1/users/1"), ("v1/", "users/1", "/v1/users/1"), ("/v1", "/users/1", "/users/1"),
      ("/", "users", "/users"), ("", "users", "/users"), ("/v1", "", "/v1"), ("/v1/", "", "/v1/"), ("/v1", "/", "/"),
      ("/v1", "a/../b/./", "/v1/b/"), ("/a/../v1", "x", "/v1/x"), ("/v1", "x?y=1", "/v1/x?y=1"), ("/v1", "?y", "/v1?y"),
    ])
  func paths(prefix: String, path: String, result: String) throws {
    let request = try environment(prefix: prefix).applied(to: HTTPRequest(.get, path: path))

    #expect(request.url?.absoluteString == "http://api.example:8080" + result)
  }

  @Test("Missing headers and query items are added")
  func missing() throws {
    let environment = try environment(
      headers: [("X-Team", "blue"), ("Accept", "text/html"), ("X-Team", "red")],
      query: [("key", "k&1"), ("page", "9"), ("a b", nil)])
    var request = try HTTPRequest(.put, path: "x?page=2&a+b=3")
    try request.setHeader("accept", "application/json")
    request.body = .data(.init("a".utf8))

    let applied = try environment.applied(to: request)

    expectEqual(applied.url?.query, "page=2&a+b=3&key=k%261")
    expectEqual(
      applied.headers.map { "\($0.name)=\($0.value)" }, ["accept=application/json", "X-Team=blue", "X-Team=red"])
    expectEqual(applied.method, .put)
    expectEqual(applied.body.contentLength, 1)
    try expectEqual(
      environment.applied(to: applied).url, applied.url, "Applying the environment again changes nothing.")
    try expectEqual(environment.applied(to: applied).headers, applied.headers)
  }

  @Test("A URL of the same origin keeps its path, and gets headers and query items")
  func sameOrigin() throws {
    let environment = try environment(headers: [("X-Key", "1")], query: [("k", "2")])

    let applied = try environment.applied(to: HTTPRequest("http://API.example:8080/x"))

    #expect(applied.url?.absoluteString == "http://api.example:8080/x?k=2")
    expectEqual(applied.headers["X-Key"], "1")
  }

  @Test(
    "A URL of another origin gets neither headers nor query items",
    arguments: ["http://other.example:8080/x", "https://api.example:8080/x", "http://api.example/x"])
  func otherOrigin(url: String) throws {
    let environment = try environment(headers: [("X-Key", "1")], query: [("k", "2")])

    let applied = try environment.applied(to: HTTPRequest(url))

    expectEqual(applied.url?.absoluteString, url)
    #expect(applied.headers.isEmpty)
  }

  @Test("A request can have its own environment")
  func option() throws {
    var request = try HTTPRequest(.get, path: "x")
    #expect(request.serverEnvironment == nil)

    request.serverEnvironment = try environment()

    expectEqual(request.serverEnvironment?.host, "api.example")
    expectEqual(request[option: ServerEnvironment.self]?.pathPrefix, "/v1")
    expectEqual(request.serverEnvironment?.port, 8080)
    expectEqual(request.serverEnvironment?.scheme, .http)
  }

  @Test("A request with only a path has no URL, and fails where a URL is required")
  func missingHost() throws {
    let request = try HTTPRequest(.get, path: "/users?token=sentinel")

    let error = #expect(throws: HTTPError.self) { try request.requireURL() }

    #expect(request.url == nil)
    expectEqual(request.path, "/users")
    expectEqual(error?.code, .missingHost)
    expectEqual(error.map { "\($0)" }?.contains("GET /users"), true)
    expectEqual(error.map { "\($0)" }?.contains("sentinel"), false)
    #expect(try HTTPRequest("http://a/b").path == "/b")
  }

  @Test("A transport refuses a request without a host, and a body type that splits the head")
  func transport() throws {
    let loader = SystemLoader(.patient)
    var split = try HTTPRequest(.post, "http://127.0.0.1:9/")
    split.body = .data(.init(), contentType: "text/plain\r\nX-Injected: 1")

    let outcomes = [try HTTPRequest(.get, path: "x"), split].map { loader.load($0).outcomeIfCompleted }

    let codes = outcomes.map { outcome -> HTTPError.Code? in
      guard case .failure(let error)? = outcome else { return nil }
      return (error as? HTTPError)?.code
    }
    expectEqual(codes, [.missingHost, .invalidHeaderValue])
    withExtendedLifetime(loader) {}
  }

  @Test("A path that names a host or leaves the prefix is refused")
  func refusedPaths() {
    for path in [
      "//evil.example/x", "http://evil.example/", "https:x", "a:b", "../x", "a/../../x", "..", "/a/..//evil",
      "a/..//evil",
      "\\\\evil", "a b", "/a\r\nX: y", "%zz", "/%2e%2e/x", "a/%2E%2E/x", "[", "é", "///x", ".//x",
    ] {
      let error = #expect(throws: HTTPError.self, "\(path.debugDescription)") { try HTTPRequest(.get, path: path) }
      expectEqual(error?.code, .invalidURL)
    }
  }

  @Test("A path of segments is encoded, and is below the prefix")
  func segments() throws {
    let path = try HTTPPath(["a b", "c/d", "e:f"], query: [("q", "1 2"), ("r", nil)])

    let url = try environment().applied(to: HTTPRequest(.get, path: path)).url

    #expect(url?.absoluteString == "http://api.example:8080/v1/a%20b/c%2Fd/e:f?q=1%202&r")
    #expect(!path.isAbsolute)
    for segments in [["", "a"], [".."], ["a", "."]] {
      #expect(throws: HTTPError.self) { try HTTPPath(segments) }
    }
  }

  @Test("An invalid environment is refused, and its error names the part")
  func refused() {
    let codes: [HTTPError.Code?] = [
      #expect(throws: HTTPError.self) { try ServerEnvironment(host: "a/b") }?.code,
      #expect(throws: HTTPError.self) { try ServerEnvironment(host: "a", port: 0) }?.code,
      #expect(throws: HTTPError.self) { try ServerEnvironment(host: "a", pathPrefix: "/v1?x") }?.code,
      #expect(throws: HTTPError.self) { try ServerEnvironment(host: "a", pathPrefix: "//b") }?.code,
      #expect(throws: HTTPError.self) { try ServerEnvironment(host: "a", headers: [("Host", "b")]) }?.code,
      #expect(throws: HTTPError.self) { try ServerEnvironment(host: "a", headers: [("A b", "c")]) }?.code,
      #expect(throws: HTTPError.self) { try ServerEnvironment(host: "a", headers: [("A", "b\n")]) }?.code,
    ]

    expectEqual(
      codes,
      [
        .invalidURL, .invalidURL, .invalidURL, .invalidURL, .forbiddenHeader, .invalidHeaderName, .invalidHeaderValue,
      ])
  }
}
