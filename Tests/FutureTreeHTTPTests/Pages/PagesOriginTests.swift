import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("H10: pages at other origins", .tags(.h10)) struct PagesOriginTests {
  private let mock = MockLoader()

  /// Answers with a link to the next page.
  private func link(_ url: String, from path: RequestMatcher = .any) throws {
    mock.on(path, .respond(headers: try HTTPHeaders([("Link", "<\(url)>; rel=next")])))
  }

  private func secret(_ url: String) throws -> HTTPRequest {
    var request = try HTTPRequest(url)
    for name in ["Authorization", "Cookie", "Referer", "X-Mine"] { try request.setHeader(name, sentinel) }
    try request.setHeader("Accept", "text/plain")
    request.sensitiveHeaders.insert("X-Mine")
    request.bearerToken = try BearerToken(sentinel)
    request.basicCredentials = try BasicCredentials(userName: "user", password: sentinel)
    return request
  }

  /// Whether a request has no credential of `secret`.
  private func isBare(_ request: HTTPRequest) -> Bool {
    request.headers.map(\.name) == ["Accept"] && request.bearerToken == nil && request.basicCredentials == nil
  }

  /// Loads all pages.
  private func load(_ pages: HTTPPages) async throws -> Int {
    try await pages.reduce(0) { count, _ in count + 1 }
  }

  static let others = [
    "https://other.org/b", "http://example.com/b", "https://example.com:444/b", "https://www.example.com/b",
    "https://example.com./b",
  ]

  @Test("A page at another origin is refused by default", arguments: others, [0, 2])
  func refused(url: String, lookAhead: Int) async throws {
    try link(url)
    mock.onOthers(.text(""))
    let first = try secret("https://example.com/a")
    let base = try HTTPURL("https://example.com/a")

    let linked = await #expect(throws: HTTPError.self) {
      try await load(mock.pages(followingLinksFrom: first, lookAhead: lookAhead))
    }
    let derived = await #expect(throws: HTTPError.self) {
      try await load(mock.pages(first, lookAhead: lookAhead) { _ in HTTPRequest(.get, try base.resolving(url)) })
    }

    for error in [linked, derived] {
      expectEqual(error?.code, .pageAtOtherOrigin)
      expectEqual(error?.response?.request.url, base)
      expectEqual(error.map { "\($0)".contains(sentinel) }, false)
    }
    expectEqual(mock.requests.count, 2)
  }

  @Test("A page at the same origin keeps the request", arguments: ["/b", "https://EXAMPLE.com:443/b", "b?c"])
  func sameOrigin(url: String) async throws {
    try link(url)
    mock.onOthers(.text(""))
    let first = try secret("https://example.com/a")

    try await expectEqual(load(mock.pages(followingLinksFrom: first)), 2)

    #expect(mock.requests[1].headers == first.headers && mock.requests[1].bearerToken == first.bearerToken)
    expectEqual(mock.requests[1].basicCredentials, first.basicCredentials)
  }

  @Test("An allowed page at another origin gets no credentials, and neither do the pages after it")
  func allowed() async throws {
    try link("https://other.org/b", from: "/a")
    try link("https://example.com/c", from: "/b")
    mock.onOthers(.text(""))
    let pages = mock.pages(followingLinksFrom: try secret("https://example.com/a"), allowsOtherOrigins: true)

    try await expectEqual(load(pages), 3)

    expectEqual(mock.requests.map { $0.url?.host }, ["example.com", "other.org", "example.com"])
    expectEqual(mock.requests.map(isBare), [false, true, true])
  }

  @Test("A request of the closure for another origin loses the credentials of earlier requests, and keeps its own")
  func allowedClosure() async throws {
    mock.onOthers(.text(""))
    let first = try secret("https://example.com/1")
    let urls = ["https://b.org/2", "https://c.org/3", "https://example.com/4"]
    let pages = mock.pages(first, allowsOtherOrigins: true) { response in
      let number = Int(response.request.path.dropFirst()) ?? 0
      guard number < 4 else { return nil }
      var next = number == 3 ? first : response.request
      next.target = .url(try HTTPURL(urls[number - 1]))
      if number < 3 { try next.addHeader("Cookie", "own=\(number)") }
      return next
    }

    try await expectEqual(load(pages), 4)

    expectEqual(mock.requests.map { $0.headers.values(for: "Cookie") }, [[sentinel], ["own=1"], ["own=2"], [sentinel]])
    expectEqual(mock.requests.map { $0.headers["Authorization"] }, [sentinel, nil, nil, sentinel])
  }

  @Test("A request for a third origin loses the credentials of the first request")
  func thirdOrigin() async throws {
    mock.onOthers(.text(""))
    let first = try secret("https://example.com/1")
    let pages = mock.pages(first, limit: 3, allowsOtherOrigins: true) { response in
      guard response.request.url?.host == "example.com" else {
        var next = first
        next.target = .url(try HTTPURL("https://c.org/"))
        return next
      }
      return try HTTPRequest("https://b.org/")
    }

    await #expect(throws: HTTPError.self) { try await load(pages) }

    #expect(mock.requests.count == 3 && isBare(mock.requests[2]))
  }

  @Test("A page without encryption after a page with encryption is always refused")
  func insecure() async throws {
    try link("http://example.com/b")
    let pages = mock.pages(followingLinksFrom: try HTTPRequest("https://example.com/a"), allowsOtherOrigins: true)

    let error = await #expect(throws: HTTPError.self) { try await load(pages) }

    expectEqual(error?.code, .pageAtOtherOrigin)
    expectEqual(error?.message.contains("not encrypted"), true)
  }
}

// MARK: - Paths

extension PagesOriginTests {
  private func api(_ transport: (any HTTPLoader)? = nil) throws -> any HTTPLoader {
    ApplyEnvironment(try ServerEnvironment(host: "example.com", pathPrefix: "/v1")) --> (transport ?? mock)
  }

  @Test("After a request with only a path, links to the server of the layer are followed")
  func path() async throws {
    try link("https://example.com/v1/b?c")
    try link("?d")
    mock.onOthers(.text(""))

    try await expectEqual(load(api().pages(followingLinksFrom: HTTPRequest(.get, path: "a"))), 3)

    #expect(
      mock.requests.map { $0.url?.absoluteString }
        == ["https://example.com/v1/a", "https://example.com/v1/b?c", "https://example.com/v1/b?d"])
  }

  @Test("After a request with only a path, links to another server are refused")
  func pathToOther() async throws {
    try link("https://other.org/")

    let error = await #expect(throws: HTTPError.self) {
      try await load(api().pages(followingLinksFrom: HTTPRequest(.get, path: "a")))
    }

    expectEqual(error?.code, .pageAtOtherOrigin)
    expectEqual(mock.requests.count, 1)
  }

  @Test("Requests with only a path have the origin of the first request")
  func paths() async throws {
    mock.onOthers(.text(""))
    let pages = try api().pages(HTTPRequest(.get, path: "a"), limit: 3) { _ in try HTTPRequest(.get, path: "b") }

    await #expect(throws: HTTPError.self) { try await load(pages) }

    expectEqual(mock.requests.map { $0.url?.path }, ["/v1/a", "/v1/b", "/v1/b"])
  }

  @Test("If the origin of the first request is unknown, a URL is refused")
  func unknownOrigin() async throws {
    let link = try HTTPHeaders(["Link": "</b>; rel=next"])
    let loads = Locked(0)
    let end = AnsweringEnd { request in
      loads.withLock { $0 += 1 }
      return HTTPResponse(to: request, status: .ok, headers: link)
    }
    let first = try HTTPRequest(.get, path: "a")

    let derived = await #expect(throws: HTTPError.self) {
      try await load(end.pages(first) { _ in try HTTPRequest("https://example.com/") })
    }
    let linked = await #expect(throws: HTTPError.self) { try await load(end.pages(followingLinksFrom: first)) }

    expectEqual(derived?.code, .pageAtOtherOrigin)
    expectEqual(linked?.code, .missingHost)
    expectEqual(loads.value, 2)
  }

  @Test("A redirect to another origin does not change the origin of the first request", arguments: [false, true])
  func redirected(hasPath: Bool) async throws {
    mock.on("/v1/a", .respond(status: HTTPStatus(307), headers: try HTTPHeaders([("Location", "https://other.org/a")])))
    try link("https://example.com/v1/b", from: "/a")
    try link("https://other.org/c", from: "/v1/b")
    let first = hasPath ? try HTTPRequest(.get, path: "a") : try HTTPRequest("https://example.com/v1/a")

    let error = await #expect(throws: HTTPError.self) {
      try await load(api(Redirect() --> mock).pages(followingLinksFrom: first))
    }

    expectEqual(error?.code, .pageAtOtherOrigin)
    #expect(
      mock.requests.map { $0.url?.absoluteString }
        == ["https://example.com/v1/a", "https://other.org/a", "https://example.com/v1/b"])
  }
}

// MARK: - Following links

extension PagesOriginTests {
  @Test("Linked requests keep the method, the fields, the body and the options of the first request")
  func kept() async throws {
    try link("/b")
    try link("/c")
    mock.onOthers(.text(""))
    var first = try HTTPRequest(.post, "https://example.com/a?x")
    try first.setHeader("Accept", "text/plain")
    first.body = .data(.init("query".utf8), contentType: "text/plain")
    first.deadline = .after(.seconds(60))

    try await expectEqual(load(mock.pages(followingLinksFrom: first)), 3)

    expectEqual(mock.requests.map { $0.url?.absoluteString.dropFirst(19) }, ["/a?x", "/b", "/c"])
    #expect(mock.requests.allSatisfy { $0.method == .post && $0.headers == first.headers })
    #expect(mock.requests.allSatisfy { $0.deadline != nil })
    #expect(mock.requests.allSatisfy { RequestMatcher.body("query").matches($0) })
  }

  @Test("A malformed link is an error after its page, not the last page")
  func malformed() async throws {
    try link("/b")
    mock.on("/b", .respond(headers: try HTTPHeaders([("Link", "</c; rel=next")])))
    var iterator = mock.pages(followingLinksFrom: anyRequest("/a")).makeAsyncIterator()

    for _ in 1...2 { #expect(try await iterator.next() != nil) }
    let error = await #expect(throws: HTTPError.self) { _ = try await iterator.next() }

    expectEqual(error?.code, .invalidLink)
    expectEqual(mock.requests.count, 2)
  }
}
