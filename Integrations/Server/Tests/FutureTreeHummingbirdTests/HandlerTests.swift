import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeHummingbird
import Hummingbird
import ServerTestSupport
import Testing

@testable import FutureTreeHummingbird

@Suite("Handlers that return futures") struct HandlerTests {
  private let router = Router(context: TestContext.self)
  private let mock = MockLoader()

  @Test("The value of the future is the response, and the connection stays open for the next request")
  func value() async throws {
    router.future(.get, "users/:id") { _, context in
      let id = try context.parameters.require("id")
      return Future.task { "user \(id)" }
    }

    try await withServer(router) { address in
      let client = try await RawClient.get("/users/1", from: address)
      #expect(try await client.receive(through: "user 1").hasPrefix("HTTP/1.1 200 OK\r\n"))
      try await client.send("GET /users/2 HTTP/1.1\r\nHost: a\r\n\r\n")
      _ = try await client.receive(through: "user 2")
    }
  }

  @Test("A route in a group has the path of the group")
  func group() async throws {
    router.group("users").future(.get) { _, _ in .succeeded("everyone") }

    try await withServer(router) { address in
      _ = try await RawClient.get("/users", from: address).receive(through: "everyone")
    }
  }

  @Test("A response of a backend keeps its status, fields and body, without the fields of its connection")
  func backendResponse() async throws {
    let fields = try HTTPHeaders([
      ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"), ("Connection", "close, X-Hop"), ("X-Hop", "1"),
      ("Keep-Alive", "timeout=5"), ("Transfer-Encoding", "chunked"), ("Content-Length", "999"), ("X-End", "2"),
      ("Upgrade", "h2c"), ("TE", "trailers"), ("Trailer", "X-Sum"), ("Proxy-Connection", "close"),
    ])
    mock.on("/users", .respond(status: .created, headers: fields, body: Data("hello".utf8)))
    router.future(.get, "users") { [mock] _, _ in mock.load(try HTTPRequest("http://backend/users")) }

    try await withServer(router) { address in
      let client = try await RawClient.get("/users", from: address)
      let text = try await client.receive(through: "hello")
      let lines = text.components(separatedBy: "\r\n")
      #expect(lines.first == "HTTP/1.1 201 Created")
      let names = lines.dropFirst().prefix { !$0.isEmpty }.map { $0.prefix { $0 != ":" }.lowercased() }
      #expect(names.filter { $0 != "date" } == ["set-cookie", "set-cookie", "x-end", "content-length"])
      #expect(lines.contains("Content-Length: 5"))
    }
  }

  @Test("A stream is sent while it arrives")
  func stream() async throws {
    let feed = mock.stream()
    router.future(.get, "feed") { [mock] _, _ in mock.load(try .streaming("http://backend/feed")) }

    try await withServer(router) { address in
      let client = try await RawClient.get("/feed", from: address)
      #expect(try await client.receive(through: "\r\n\r\n").lowercased().contains("transfer-encoding: chunked"))
      feed.send("one")
      _ = try await client.receive(through: "3\r\none\r\n")
      feed.send("three")
      _ = try await client.receive(through: "5\r\nthree\r\n")
      feed.finish()
      _ = try await client.receive(through: "0\r\n\r\n")
    }
  }

  @Test("A stream that fails closes the connection before the end of the body")
  func failedStream() async throws {
    let feed = mock.stream()
    router.future(.get, "feed") { [mock] _, _ in mock.load(try .streaming("http://backend/feed")) }

    try await withServer(router) { address in
      let client = try await RawClient.get("/feed", from: address)
      _ = try await client.receive(through: "\r\n\r\n")
      #expect(feed.send("one"))
      _ = try await client.receive(through: "3\r\none\r\n")
      feed.fail(HTTPError(.connectionLost, "The server closed the connection."))
      #expect(try await client.receiveAll() == "")
    }
  }

  @Test("A file is sent with its length, and is kept")
  func file() async throws {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try Data("a file".utf8).write(to: url)
    defer { try? FileManager.default.removeItem(at: url) }
    router.future(.get, "file") { _, _ in
      .succeeded(HTTPResponse(to: try HTTPRequest("http://backend/"), status: .ok, content: .file(url, size: 6)))
    }

    try await withServer(router) { address in
      let client = try await RawClient.get("/file", from: address)
      #expect(try await client.receive(through: "a file").contains("\r\nContent-Length: 6\r\n"))
    }
    #expect(FileManager.default.fileExists(atPath: url.path))
  }

  @Test("A file whose size has changed closes the connection before its end", arguments: [5, 7])
  func changedFile(size: Int) async throws {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try Data("a file".utf8).write(to: url)
    defer { try? FileManager.default.removeItem(at: url) }
    router.future(.get, "file") { _, _ in
      .succeeded(HTTPResponse(to: try HTTPRequest("http://backend/"), status: .ok, content: .file(url, size: size)))
    }

    try await withServer(router) { address in
      let text = try await RawClient.get("/file", from: address).receiveAll()
      #expect(text.contains("\r\nContent-Length: \(size)\r\n"))
      #expect(text.hasSuffix(size == 5 ? "\r\n\r\n" : "a file"))
    }
  }

  @Test("A response to HEAD keeps the length of the backend, and the connection stays open")
  func head() async throws {
    mock.on("/film", .respond(headers: try HTTPHeaders([("Content-Length", "999")])))
    router.future(.head, "film") { [mock] _, _ in mock.load(try HTTPRequest(.head, "http://backend/film")) }
    router.future(.get, "next") { _, _ in .succeeded("the next response") }

    try await withServer(router) { address in
      let client = try await RawClient.connect(to: address)
      try await client.send("HEAD /film HTTP/1.1\r\nHost: a\r\n\r\nGET /next HTTP/1.1\r\nHost: a\r\n\r\n")
      let text = try await client.receive(through: "the next response")
      #expect(text.contains("\r\nContent-Length: 999\r\n"))
    }
  }

  @Test(
    "A failed future has the status of the error table",
    arguments: [
      (HTTPError(.timedOut, "?"), 504), (HTTPError(.deadlineExceeded, "?"), 504), (HTTPError(.cannotConnect, "?"), 502),
      (HTTPError(.unknownHost, "?"), 502), (HTTPError(.connectionLost, "?"), 502),
      (HTTPError(.truncatedBody, "?"), 502),
      (HTTPError(.unacceptableStatus, "?"), 502), (HTTPError(.queueFull, "?"), 503),
      (HTTPError(.resetInProgress, "?"), 503), (HTTPError(.invalidURL, "?"), 500),
      (AllFailed(errors: [HTTPError(.queueFull, "?"), HTTPError(.timedOut, "?")]), 504),
      (TimeoutError(duration: .seconds(1)), 504), (FutureCancelled(reason: "?"), 503), (CancellationError(), 503),
    ] as [(any Error, Int)])
  func statuses(error: any Error, status: Int) {
    #expect(errorStatus(of: error)?.code == status)
  }

  @Test("An error of FutureTree has a response without a body, and so without a secret")
  func errorResponse() async throws {
    mock.fail(HTTPError(.cannotConnect, "token=secret"))
    router.future(.get, "users") { [mock] _, _ in mock.load(try HTTPRequest("http://backend/users?token=secret")) }

    try await withServer(router) { address in
      let text = try await RawClient.get("/users", "Connection: close", from: address).receiveAll()
      #expect(text.hasPrefix("HTTP/1.1 502 Bad Gateway\r\n"))
      #expect(text.hasSuffix("\r\n\r\n"))
      #expect(!text.contains("secret"))
    }
  }

  @Test("A cancelled future has the status 503")
  func cancelledFuture() async throws {
    router.future(.get, "users") { _, _ in Future<String>.cancelled("no need") }

    try await withServer(router) { address in
      let text = try await RawClient.get("/users", "Connection: close", from: address).receiveAll()
      #expect(text.hasPrefix("HTTP/1.1 503 "))
    }
  }

  @Test("An error that has its own response is passed on, from the handler and from its future")
  func ownErrorResponse() async throws {
    router.future(.get, "thrown") { _, _ -> Future<String> in throw Hummingbird.HTTPError(.notFound) }
    router.future(.get, "failed") { _, _ in Future<String>.failed(Hummingbird.HTTPError(.gone, message: "It is gone."))
    }

    try await withServer(router) { address in
      let thrown = try await RawClient.get("/thrown", "Connection: close", from: address).receiveAll()
      #expect(thrown.hasPrefix("HTTP/1.1 404 "))
      let failed = try await RawClient.get("/failed", "Connection: close", from: address).receiveAll()
      #expect(failed.hasPrefix("HTTP/1.1 410 "))
      #expect(failed.contains("It is gone."))
    }
  }
}

typealias HTTPError = FutureTreeHTTP.HTTPError
typealias HTTPRequest = FutureTreeHTTP.HTTPRequest
typealias HTTPResponse = FutureTreeHTTP.HTTPResponse

extension HTTPRequest {
  /// A request for a body as a stream.
  static func streaming(_ url: String) throws -> HTTPRequest {
    var request = try HTTPRequest(url)
    request.delivery = .stream()
    return request
  }
}
