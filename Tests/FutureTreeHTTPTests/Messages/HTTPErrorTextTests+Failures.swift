import Foundation
import FutureTree
import FutureTreeHTTPStore
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTP

// One failure or more for each code of `HTTPError`.
extension HTTPErrorTextTests {
  var requests: [Failure] {
    [
      ("invalidMethod", { _ = try HTTPMethod("a b") }),
      ("invalidURL", { _ = try HTTPURL("http://") }),
      ("invalidURL", { _ = try HTTPPath("//a") }),
      ("invalidURL", { _ = try HTTPPath("../a") }),
      ("invalidURL", { _ = try HTTPPath(["", "a"]) }),
      ("invalidURL", { _ = try HTTPPath([".."]) }),
      ("invalidURL", { _ = try HTTPPath("a:b") }),
      ("invalidURL", { _ = try await mock.get("a/\("")/b").value }),
      ("invalidURL", { _ = try await mock.get("http://\("a")/").value }),
      ("invalidURL", { _ = try await mock.get("\(try HTTPURL("http://a/b"))c").value }),
      ("invalidHeaderValue", { try HTTPBody.data(Data(), contentType: "text").checkContentType() }),
      ("invalidHeaderName", { _ = try HTTPHeaders.Field("a b", "c") }),
      ("invalidHeaderValue", { _ = try HTTPHeaders.Field("a", "b\n") }),
      ("forbiddenHeader", { try forbidden() }),
      ("invalidCommand", { _ = try HTTPRequest(curl: "curl -k https://a/") }),
      ("invalidCommand", { _ = try HTTPRequest(curl: "curl https://a/?b&c") }),
      ("missingHost", { _ = try HTTPRequest(.get, path: "feed").requireURL() }),
      ("forbiddenBody", { try await send(.head, .data(Data("a".utf8))) }),
    ]
  }

  var bodies: [Failure] {
    [
      (
        "unsupportedTrailers",
        {
          var request = try HTTPRequest(.put, "http://example.com/film")
          (request.body, request.trailers) = (.data(Data()), try .counting())
          _ = try HTTPExchange(of: request, .init(timeout: nil, idleTimeout: nil, maximumBodySize: 1))
        }
      ),
      ("unencodableBody", { _ = try HTTPBody.json([Double.nan]) }),
      ("unreadableBody", { _ = try OpenFile(try #require(URL(string: "http://a/"))) }),
      ("unreadableBody", { _ = try OpenFile(URL(filePath: "/")) }),
      ("unreadableBody", { _ = try OpenFile(URL(filePath: "/no/such/file")) }),
      ("wrongBodyLength", { try HTTPBody.stream(length: -1) { throw Oops() }.checkLength() }),
      (
        "bodyNotReplayable",
        { try await redirected("http://example.com/a", status: HTTPStatus(307), body: Self.streamed) }
      ),
      ("unwritableBody", { try BodyFile.check(try #require(URL(string: "http://a/"))) }),
      ("unwritableBody", { try BodyFile.check(URL(filePath: "/")) }),
      ("storeFailed", { try fault(ofCookies: nil) }),
      ("storeFailed", { try fault(ofCookies: "damaged") }),
    ]
  }

  var chains: [Failure] {
    [
      ("resetInProgress", { try await loadDuringReset() }),
      ("deadlineExceeded", { try await load(late, Throttle(1) --> mock) }),
      ("deadlineExceeded", { try await load(late, Coalesce() --> mock) }),
      ("deadlineExceeded", { try await load(late, Timeout() --> mock) }),
      ("notCached", { try await load(onlyCached, CacheResponses(in: HTTPCache()) --> mock) }),
      (
        "circuitOpen",
        {
          let api = CircuitBreaker(CircuitThreshold(of: 1)) --> mock
          mock.answer(status: .serviceUnavailable)
          _ = try await api.load(anyRequest()).value
          try await load(anyRequest(), api)
        }
      ),
      ("queueFull", { try await load(anyRequest(), Throttle(0, queueLimit: 0) --> mock) }),
      ("invalidConfiguration", { _ = try PlatformConfiguration.headers(["Cookie": "a"]) }),
      ("invalidConfiguration", { _ = try PlatformConfiguration.headers(["Accept-Encoding": "gzip"]) }),
      ("invalidConfiguration", { _ = try PlatformConfiguration.headers([1: "a"]) }),
      ("invalidConfiguration", { _ = try PlatformConfiguration.duration(0, of: "timeoutIntervalForRequest") }),
      ("timedOut", { try timedOut() }),
      ("timedOut", { throw TimeoutState.Kind.attempt.error(anyRequest(), .seconds(1)) }),
      ("timedOut", { throw TimeoutState.Kind.firstByte.error(anyRequest(), .seconds(1)) }),
      ("timedOut", { throw TimeoutState.Kind.idle.error(anyRequest(), .seconds(1)) }),
    ]
      + [-1003, -1004, -1005, -1200, -9999].map { number in
        (Self.name(number), { throw try Self.reported(number) })
      }
  }

  var credentials: [Failure] {
    [
      ("invalidCredentials", { _ = try BasicCredentials(userName: "a:b", password: "c") }),
      ("invalidCredentials", { _ = try BasicCredentials(userName: "a\n", password: "c") }),
      ("invalidCredentials", { _ = try BearerToken("") }),
      ("invalidCredentials", { _ = try BearerToken("a\n") }),
      ("insecureCredentials", { try await load(anyRequest(), BearerAuth(try BearerToken("a")) --> mock) }),
      ("credentialsUnavailable", { try await load(secure, BearerAuth { throw Oops() } --> mock) }),
    ]
  }

  var answers: [Failure] {
    [
      (
        "bodyInFile",
        { _ = try HTTPResponse(to: anyRequest(), status: .ok, content: .file(URL(filePath: "/a"), size: 3)).body }
      ),
      ("unacceptableStatus", { _ = try await answered(status: .notFound).validated().value }),
      ("undecodableBody", { _ = try await answered(body: "[1, x]").decoded(as: [Int].self).value }),
      ("undecodableBody", { _ = try await answered(body: #"{"a": null}"#).decoded(as: [String: Int].self).value }),
      ("tooManyRedirects", { try await redirected("http://example.com/a", limit: 0) }),
      ("insecureRedirect", { try await redirected("http://example.com/a", from: "https://example.com/") }),
      ("invalidRedirect", { try await redirected("file:///etc/passwd") }),
      ("invalidRedirect", { try await redirected("") }),
      ("invalidRedirect", { try Self.redirectedOutOfASCII() }),
      ("invalidRedirect", { try Self.redirectedToNowhere() }),
      ("invalidLink", { try await linked("</b") }),
      ("invalidLink", { try await linked("<ftp://a/>; rel=next") }),
      ("tooManyPages", { try await linked("</b>; rel=next", limit: 1) }),
      ("pageAtOtherOrigin", { try await linked("<https://a/>; rel=next") }),
      ("pageAtOtherOrigin", { try await linked("<http://a/>; rel=next", from: "https://a/") }),
      ("pageAtOtherOrigin", { try await pagedWithoutHost() }),
      ("invalidResponse", { throw try Self.reported(-1002) }),
      ("invalidResponse", { throw try Self.reported(-1, "Failed writing header") }),
      ("bodyTooLarge", { try transfer(("Content-Length", "100")) }),
      ("truncatedBody", { try transfer(("Content-Length", "5")) }),
      ("ambiguousBody", { try transfer(("Content-Length", "x")) }),
      ("ambiguousBody", { try transfer(("Content-Length", "5"), ("Transfer-Encoding", "chunked")) }),
      ("encodedBody", { try transfer(("Content-Encoding", "gzip")) }),
    ]
  }
}

// MARK: - Helpers

extension HTTPErrorTextTests {
  private static var streamed: HTTPBody { .stream(length: 1, isReplayable: false) { HTTPBodyReader { _ in Data() } } }
  private var secure: HTTPRequest { get throws { try HTTPRequest("https://example.com/") } }

  /// A request with a deadline that has passed.
  private var onlyCached: HTTPRequest {
    var request = anyRequest()
    request.caching = .onlyCached
    return request
  }

  private var late: HTTPRequest {
    var request = anyRequest()
    request.deadline = .after(.seconds(-1))
    return request
  }

  private func load(_ request: HTTPRequest, _ api: any HTTPLoader) async throws {
    _ = try await api.load(request).value
  }

  private func forbidden() throws {
    var request = anyRequest()
    try request.setHeader("Host", "a")
  }

  private func send(_ method: HTTPMethod, _ body: HTTPBody) async throws {
    var request = try HTTPRequest(method, "http://127.0.0.1:9/")
    request.body = body
    try await load(request, SystemLoader())
  }

  private func loadDuringReset() async throws {
    let held = mock.hold()
    let api = ResetGuard() --> mock
    let load = api.load(anyRequest())
    let reset = api.reset()
    defer { held.complete(.cancelled) }
    _ = (load, reset)
    try await self.load(anyRequest(), api)
  }

  private func answered(status: HTTPStatus = .ok, body: String = "") -> Future<HTTPResponse> {
    let mock = MockLoader()
    mock.answer(status: status, body: body)
    return mock.load(anyRequest())
  }

  private func redirected(
    _ location: String, from url: String = "http://example.com/", status: HTTPStatus = HTTPStatus(302), limit: Int = 5,
    body: HTTPBody = .empty
  ) async throws {
    let mock = MockLoader()
    var headers = HTTPHeaders()
    try headers.add("Location", location)
    mock.answer(status: status, headers: headers)
    var request = try HTTPRequest(.post, url)
    request.body = body
    try await load(request, Redirect(limit: limit) --> mock)
  }

  private func linked(_ link: String, from url: String = "http://example.com/", limit: Int? = nil) async throws {
    let mock = MockLoader()
    mock.answer(headers: try HTTPHeaders([("Link", link)]))
    for try await _ in mock.pages(followingLinksFrom: try HTTPRequest(url), limit: limit) {}
  }

  private func pagedWithoutHost() async throws {
    let end = AnsweringEnd { HTTPResponse(to: $0, status: .ok) }
    for try await _ in end.pages(try HTTPRequest(.get, path: "a"), next: { _ in anyRequest() }) {}
  }

  private static func redirectedOutOfASCII() throws {
    let response = HTTPResponse(
      to: anyRequest(), status: HTTPStatus(302), headers: HTTPHeaders(), content: .data(Data()), marks: .hidesLocation)
    _ = try RedirectRules.request(after: anyRequest(), answeredWith: response)
  }

  private static func redirectedToNowhere() throws {
    var receiver = try ResponseReceiver(for: anyRequest(), maximumSize: 10)
    try receiver.receiveUnreportedHead(HTTPStatus(302), [])
  }

  private func transfer(_ fields: (String, String)...) throws {
    var receiver = try ResponseReceiver(for: anyRequest(), maximumSize: 10, decoding: .platform(accepting: []))
    try receiver.receiveHead(.ok, fields.map { (name: $0, value: $1) })
    _ = try receiver.finish()
  }

  /// - Parameter contents: The contents of the file. If they are `nil`, a directory has its name.
  private func fault(ofCookies contents: String?) throws {
    let folder = try Folder()
    let file = folder.file("cookies")
    if let contents {
      try PrivateFile(file, name: "file", code: .storeFailed).write(Data(contents.utf8))
    } else {
      try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false)
    }
    let fault = Locked<HTTPError?>(nil)
    _ = CookieJar(file: file) { fault.value = $0 }
    if let fault = fault.value { throw fault }
  }

  private func timedOut() throws {
    var state = ExchangeState(ExchangeState.Rules(idleTimeout: .seconds(1)))
    if case .end(.failure(let error), _) = state.idleTimerFired(now: .seconds(1)).0 { throw error }
  }

  private static func reported(_ number: Int, _ text: String = "") throws -> HTTPError {
    let error = NSError(domain: NSURLErrorDomain, code: number, userInfo: [NSLocalizedDescriptionKey: text])
    let end = URLErrorTable.end(error, request: try HTTPRequest("http://example.com/"), hasHead: false)
    guard case .failed(let failure) = end else { throw Oops() }
    return failure
  }

  private static func name(_ number: Int) -> String {
    [-1003: "unknownHost", -1004: "cannotConnect", -1005: "connectionLost", -1200: "insecureConnection"][number]
      ?? "transportFailed"
  }
}
