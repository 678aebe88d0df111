import Foundation
import FutureTree
import FutureTreeHTTP
import HTTPTestSupport
import TestSupport
import Testing

/// H11 (no printed secret): no query, no header value and no byte of a body is printed.
@Suite("H11: no printed secret, in messages", .tags(.h11)) struct RedactionTests {
  private let secret = sentinel

  private func request() throws -> HTTPRequest {
    var request = try HTTPRequest(.post, "https://example.com/path?key=\(secret)")
    try request.setHeader("Authorization", secret)
    request.body = .data(Data(secret.utf8))
    request.serverEnvironment = try environment()
    return request
  }

  private func environment() throws -> ServerEnvironment {
    try ServerEnvironment(host: "a", headers: [("X-Key", secret)], query: [("key", secret)])
  }

  @Test("Requests, responses and their parts print no secret")
  func messages() throws {
    let request = try request()
    let response = HTTPResponse(to: request, status: .ok, headers: request.headers, body: Data(secret.utf8))
    let relative = try HTTPRequest(.get, path: "path?key=\(secret)")
    let url = try #require(request.url)

    let values: [Any] = [
      request, response, relative, request.headers, request.headers[0], request.target, relative.target, url,
      try HTTPPath("a?\(secret)"), try environment(), request.serverEnvironment as Any,
    ]

    for value in values { #expect(!showsSecret(value), "\(type(of: value))") }
    #expect("\(request)" == "POST https://example.com/path?…")
    expectEqual("\(relative)", "GET path?…")
    #expect(try "\(environment())" == "https://a/")
  }

  @Test("A loader with a request in flight, and its future, print no secret")
  func loaders() async throws {
    let server = try Loopback.server()
    server.on("/held", .stall)
    let loader = SystemLoader(.patient)
    var request = try HTTPRequest(server.url("/held?\(secret)"))
    try request.setHeader("Authorization", secret)

    // The loader does not change while it is printed: the request has arrived, and no response is sent.
    let future = loader.load(request)
    _ = await server.waitForRequest(to: "/held").outcome

    for value in [loader, ResetGuard() --> loader, future, future.tree()] as [Any] {
      #expect(!showsSecret(value), "\(type(of: value))")
    }
    future.cancel(.forceImmediately)
    _ = await future.outcome
  }

  @Test("Bodies, their contents and the parts of forms print no secret")
  func bodies() throws {
    let part = try HTTPBody.Part.data("name", Data(secret.utf8), fileName: secret)
    let bodies: [HTTPBody] = [
      try .json([secret: secret]), .form([(secret, secret)]), try .multipart([.text("a", secret), part]),
      .file(URL(fileURLWithPath: "/home/\(secret)/a")),
      .stream { [secret] in HTTPBodyReader(InputStream(data: Data(secret.utf8))) },
    ]

    for value in bodies.flatMap({ [$0, $0.content] as [Any] }) + [part, HTTPBody.Part.text("a", secret)] {
      #expect(!showsSecret(value), "\(type(of: value))")
    }
    #expect(showsSecret(Data(secret.utf8)), "The test finds bytes.")
  }

  @Test("Errors and their contents print no secret")
  func errors() throws {
    struct Value: Codable { var number: Int }
    let response = HTTPResponse(to: try request(), status: .ok, body: Data(#"{"number":"\#(secret)"}"#.utf8))
    let kept = HTTPError(
      .undecodableBody, "It is no Value.", response: response, underlying: CocoaError(.fileNoSuchFile))
    let errors: [HTTPError?] = [
      kept,
      #expect(throws: HTTPError.self) { try HTTPURL("http://user:\(secret)@example.com/") },
      #expect(throws: HTTPError.self) { try HTTPURL("http://example.com/?a b=\(secret)") },
      #expect(throws: HTTPError.self) { try HTTPPath("//\(secret)@host") },
      #expect(throws: HTTPError.self) { try HTTPHeaders([("A", "\(secret)\n")]) },
      #expect(throws: HTTPError.self) { try HTTPBody.data(Data(), contentType: "\(secret)\n").checkContentType() },
      #expect(throws: HTTPError.self) { try HTTPBody.Part.data("a", Data(), contentType: "\(secret)\n") },
      #expect(throws: HTTPError.self) { try HTTPBody.file(URL(fileURLWithPath: "/\(secret)")).makeReader() },
      #expect(throws: HTTPError.self) { try HTTPBody.multipart([.file("a", URL(fileURLWithPath: "/\(secret)"))]) },
    ]

    for error in errors { #expect(try !showsSecret(#require(error))) }
  }
}
