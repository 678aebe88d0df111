import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("URLSessionLoader", .onSockets) struct URLSessionLoaderTests {
  private let server: LoopbackServer
  private let loader = URLSessionLoader(.patient)

  init() throws {
    server = try Loopback.server()
  }

  private func load(_ path: String, _ change: (inout HTTPRequest) throws -> Void = { _ in }) throws -> Future<
    HTTPResponse
  > {
    var request = try HTTPRequest(server.url(path))
    try change(&request)
    return loader.load(request)
  }

  private func code(of outcome: Outcome<HTTPResponse>) -> HTTPError.Code? {
    if case .failure(let error as HTTPError) = outcome { error.code } else { nil }
  }

  @Test("A response arrives with status, headers and body")
  func answer() async throws {
    server.on("/ok", .respond(status: 201, headers: [("X-A", "b")], body: "hello"))

    let response = try await load("/ok").value

    expectEqual(response.status, .created)
    expectEqual(response.headers["x-a"], "b")
    try expectEqual(response.body, Data("hello".utf8))
  }

  @Test("A request is sent unchanged, with its body")
  func request() async throws {
    server.on("/post?q=a%20b", .respond())
    var request = try HTTPRequest(.post, server.url("/post?q=a%20b"))
    try request.setHeader("X-Token", "t")
    request.body = .data(Data("body".utf8), contentType: "text/plain")

    _ = try await loader.load(request).value

    let received = try #require(server.record.requests.first)
    expectEqual(received.method, "POST")
    expectEqual(received.target, "/post?q=a%20b")
    expectEqual(received.values(for: "x-token"), ["t"])
    expectEqual(received.values(for: "content-type"), ["text/plain"])
    expectEqual(received.values(for: "accept-encoding"), ["identity"])
    expectEqual(received.body, Array("body".utf8))
  }

  @Test(
    "A truncated body is an error",
    arguments: [
      "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123456789",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
    ])
  func truncated(answer: String) async throws {
    server.on("/cut", [.send(answer), .close])

    let outcome = try await load("/cut").outcome

    expectEqual(code(of: outcome), .truncatedBody)
  }

  @Test("Blanks around a field value are not part of it")
  func blanks() async throws {
    server.on("/blanks", [.send("HTTP/1.1 200 OK\r\nContent-Length:\t2 \t\r\nX-A: \ta\t\r\n\r\nok")])

    let response = try await load("/blanks").value

    expectEqual(response.headers["Content-Length"], "2")
    expectEqual(response.headers["X-A"], "a")
  }

  @Test("An encoded body is an error, because its completeness is unknown")
  func encoded() async throws {
    server.on("/gzip", .respond(headers: [("Content-Encoding", "gzip")], body: "not gzip"))

    expectEqual(code(of: try await load("/gzip").outcome), .encodedBody)
  }

  @Test("Many loaders that begin at once do not occupy all threads of Dispatch")
  func manyLoaders() async {
    await #expect(processExitsWith: .success) {
      let down = try RefusingPort()
      let request = try HTTPRequest(down.url())
      let loads = (0..<600).map { _ in URLSessionLoader(.patient).load(request) }
      for load in loads { _ = await load.outcome }
      withExtendedLifetime(down) {}
    }
  }

  @Test("A refused connection, an unknown host and a deadline have different errors")
  func connections() async throws {
    let down = try RefusingPort()
    server.on("/stall", .stall)

    let refused = loader.load(try HTTPRequest(down.url()))
    let unknown = loader.load(try HTTPRequest("http://nobody.invalid/"))
    let late = try load("/stall") { $0.timeout = .milliseconds(50) }

    expectEqual(code(of: await refused.outcome), .cannotConnect)
    expectEqual(code(of: await unknown.outcome), .unknownHost)
    expectEqual(code(of: await late.outcome), .timedOut)
    withExtendedLifetime(down) {}
  }

  @Test("A closed connection, a reset connection and a response without HTTP are errors")
  func brokenPeers() async throws {
    server.on("/close", .close)
    server.on("/reset", .reset)
    server.on("/garbage", [.send("\u{0}\u{1}garbage\r\n\r\n"), .close])

    expectEqual(code(of: try await load("/close").outcome), .connectionLost)
    expectEqual(code(of: try await load("/reset").outcome), .connectionLost)
    expectEqual(code(of: try await load("/garbage").outcome), .invalidResponse)
  }

  @Test("A body over the limit is an error, declared or not")
  func limit() async throws {
    let loader = URLSessionLoader(.init(timeout: nil, maximumBodySize: 10))
    server.on("/declared", .respond(body: "0123456789A"))
    server.on("/chunked", [.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nB\r\n0123456789A\r\n0\r\n\r\n")])
    server.on("/fits", .respond(body: "0123456789"))

    expectEqual(code(of: await loader.load(try HTTPRequest(server.url("/declared"))).outcome), .bodyTooLarge)
    expectEqual(code(of: await loader.load(try HTTPRequest(server.url("/chunked"))).outcome), .bodyTooLarge)
    try await expectEqual(loader.load(try HTTPRequest(server.url("/fits"))).value.body.count, 10)
  }

  @Test("A HEAD request, a 204 and a 304 have no body, whatever their headers declare")
  func noBody() async throws {
    server.on("/head", [.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n")])
    server.on("/204", [.send("HTTP/1.1 204 No Content\r\n\r\n")])
    server.on("/304", [.send("HTTP/1.1 304 Not Modified\r\nContent-Length: 100\r\n\r\n")])

    for method in [HTTPMethod.head, try HTTPMethod("head")] {
      try await expectEqual(loader.load(try HTTPRequest(method, server.url("/head"))).value.status, .ok)
    }
    try await expectEqual(load("/204").value.status, .noContent)
    try await expectEqual(load("/304").value.status, .notModified)
  }

  @Test("Extreme deadlines do not trap", arguments: [Duration.seconds(-1), .zero, .seconds(Int64.max)])
  func strangeDeadlines(timeout: Duration) async throws {
    // A timeout that is due at once must not race a response.
    server.on("/", timeout > .zero ? .respond() : .stall)

    let outcome = try await load("/") { $0.timeout = timeout }.outcome

    expectEqual(outcome.ending, timeout > .zero ? .succeeded : .failed)
  }

  @Test("A dropped loader completes its loads")
  func dropped() async throws {
    let gate = LoopbackGate()
    server.on("/held", [.hold(gate), .respond(body: "held")])
    var dropped: URLSessionLoader? = URLSessionLoader(.patient)
    let future = dropped?.load(try HTTPRequest(server.url("/held")))
    _ = await server.waitForRequest(to: "/held").outcome

    dropped = nil
    gate.open()

    try await expectEqual(future?.value.body, Data("held".utf8))
  }
}
