import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import Testing

@Suite("URLSessionLoader, on sockets", .onSockets) struct URLSessionLoaderTests {
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

  @Test("an answer arrives with status, headers and body")
  func answer() async throws {
    server.on("/ok", .respond(status: 201, headers: [("X-A", "b")], body: "hello"))

    let response = try await load("/ok").value

    #expect(response.status == .created)
    #expect(response.headers["x-a"] == "b")
    #expect(try response.body == Data("hello".utf8))
  }

  @Test("a request is sent as it was made, with its body")
  func request() async throws {
    server.on("/post?q=a%20b", .respond())
    var request = try HTTPRequest(.post, server.url("/post?q=a%20b"))
    try request.setHeader("X-Token", "t")
    request.body = .data(Data("body".utf8), contentType: "text/plain")

    _ = try await loader.load(request).value

    let received = try #require(server.record.requests.first)
    #expect(received.method == "POST")
    #expect(received.target == "/post?q=a%20b")
    #expect(received.values(for: "x-token") == ["t"])
    #expect(received.values(for: "content-type") == ["text/plain"])
    #expect(received.values(for: "accept-encoding") == ["identity"])
    #expect(received.body == Array("body".utf8))
  }

  @Test("an answer that redirects arrives, and is not followed")
  func redirect() async throws {
    server.on("/from", .respond(status: 302, headers: [("Location", server.url("/to"))]))

    let response = try await load("/from").value

    #expect(response.status.code == 302)
    #expect(response.headers["Location"] == server.url("/to"))
    #expect(!server.record.hasRequest(to: "/to"))
  }

  @Test(
    "a 401 that asks for a password arrives",
    arguments: ["Basic realm=\"x\"", "Bearer", "Digest realm=\"x\", nonce=\"n\""])
  func unauthorized(challenge: String) async throws {
    server.on("/private", .respond(status: 401, headers: [("WWW-Authenticate", challenge)], body: "who are you"))

    let response = try await load("/private").value

    #expect(response.status == .unauthorized)
    #expect(try response.body == Data("who are you".utf8))
  }

  @Test("a cancelled future closes its connection, and ends when that is done")
  func cancel() async throws {
    server.on("/stall", .stall)
    let future = try load("/stall")
    _ = await server.waitForRequest(to: "/stall").outcome

    let receipt = future.cancel(reason: "not needed")

    #expect(receipt.effect == .delivered)
    let outcome = await future.outcome
    #expect(outcome.ending == .cancelled)
    if case .cancelled(let reason) = outcome { #expect(reason.message == "not needed") }
    let record = await server.waitForClose(of: "/stall").outcome
    #expect(try record.get().abandonedPaths == ["/stall"])
  }

  @Test("a cancelled future closes its connection while the body arrives")
  func cancelInBody() async throws {
    let gate = LoopbackGate()
    server.on("/body", [.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123"), .hold(gate)])
    let future = try load("/body")
    _ = await server.waitForRequest(to: "/body").outcome

    future.cancel()

    #expect(await future.outcome.ending == .cancelled)
    _ = await server.waitForClose(of: "/body").outcome
  }

  @Test("force ends the future at once, and the connection is closed behind it")
  func force() async throws {
    server.on("/stall", .stall)
    let future = try load("/stall")
    _ = await server.waitForRequest(to: "/stall").outcome

    future.cancel(.forceImmediately)

    #expect(future.isCompleted)
    _ = await server.waitForClose(of: "/stall").outcome
  }

  @Test(
    "a body that is cut short is an error",
    arguments: [
      "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123456789",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
    ])
  func truncated(answer: String) async throws {
    server.on("/cut", [.send(answer), .close])

    let outcome = try await load("/cut").outcome

    #expect(code(of: outcome) == .truncatedBody)
  }

  /// Between the status line and the end of the head `URLSession` on Linux ends the process instead, and nothing above it
  /// can prevent that; see the note of `URLSessionLoader`.
  @Test("an answer cut in its status line or at any byte of its body is an error")
  func truncatedAnywhere() async throws {
    let answer = Array("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n01234567".utf8)
    for length in Array(0...16) + Array(38..<answer.count) {
      server.on("/cut/\(length)", [.send(Array(answer.prefix(length))), .close])

      let outcome = try await load("/cut/\(length)").outcome

      #expect(outcome.ending == .failed, "cut after \(length) bytes: \(outcome)")
    }
  }

  @Test(
    "an answer that does not say plainly where it ends is an error",
    arguments: [
      "Content-Length: 2\r\nContent-Length: 5", "Content-Length: 2\r\nTransfer-Encoding: chunked", "Content-Length: -5",
      "Content-Length: 99999999999999999999999", "Content-Length: 2, 3", "Content-Length: two",
      "Content-Length: 2\u{1}", "Content-Length: 2é", "Transfer-Encoding: chunked\u{b}",
    ])
  func ambiguous(fields: String) async throws {
    server.on("/bad", [.send("HTTP/1.1 200 OK\r\n\(fields)\r\n\r\n2\r\nok\r\n0\r\n\r\n"), .close])

    let outcome = try await load("/bad").outcome

    #expect(outcome.ending == .failed, "\(outcome)")
  }

  @Test("blanks around the value of a field are no part of it")
  func blanks() async throws {
    server.on("/blanks", [.send("HTTP/1.1 200 OK\r\nContent-Length:\t2 \t\r\nX-A: \ta\t\r\n\r\nok")])

    let response = try await load("/blanks").value

    #expect(response.headers["Content-Length"] == "2")
    #expect(response.headers["X-A"] == "a")
  }

  @Test("an encoded body is an error, because nobody can say whether it is whole")
  func encoded() async throws {
    server.on("/gzip", .respond(headers: [("Content-Encoding", "gzip")], body: "not gzip"))

    #expect(code(of: try await load("/gzip").outcome) == .encodedBody)
  }

  @Test("a refused connection, an unknown host and a deadline are three errors")
  func connections() async throws {
    let closed = try Loopback.server()
    let refusedURL = closed.url("/")
    closed.stop()
    server.on("/stall", .stall)

    let refused = loader.load(try HTTPRequest(refusedURL))
    let unknown = loader.load(try HTTPRequest("http://nobody.invalid/"))
    let late = try load("/stall") { $0[option: RequestTimeout.self] = .milliseconds(50) }

    #expect(code(of: await refused.outcome) == .cannotConnect)
    #expect(code(of: await unknown.outcome) == .unknownHost)
    #expect(code(of: await late.outcome) == .timedOut)
  }

  @Test("a deadline passes also while the body trickles")
  func trickle() async throws {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
    server.on("/drip", [.send(head), .drip(String(repeating: "x", count: 1000), every: .milliseconds(10))])

    let outcome = try await load("/drip") { $0[option: RequestTimeout.self] = .milliseconds(200) }.outcome

    #expect(code(of: outcome) == .timedOut)
  }

  @Test("a connection that is closed or reset, and an answer that is not HTTP, are errors")
  func brokenPeers() async throws {
    server.on("/close", .close)
    server.on("/reset", .reset)
    server.on("/garbage", [.send("\u{0}\u{1}garbage\r\n\r\n"), .close])

    #expect(code(of: try await load("/close").outcome) == .connectionLost)
    #expect(code(of: try await load("/reset").outcome) == .connectionLost)
    #expect(code(of: try await load("/garbage").outcome) == .invalidResponse)
  }

  @Test("a body over the limit is an error, declared or not")
  func limit() async throws {
    let loader = URLSessionLoader(.init(timeout: nil, maximumBodySize: 10))
    server.on("/declared", .respond(body: "0123456789A"))
    server.on("/chunked", [.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nB\r\n0123456789A\r\n0\r\n\r\n")])
    server.on("/fits", .respond(body: "0123456789"))

    #expect(code(of: await loader.load(try HTTPRequest(server.url("/declared"))).outcome) == .bodyTooLarge)
    #expect(code(of: await loader.load(try HTTPRequest(server.url("/chunked"))).outcome) == .bodyTooLarge)
    #expect(try await loader.load(try HTTPRequest(server.url("/fits"))).value.body.count == 10)
  }

  @Test("a HEAD request, a 204 and a 304 have no body, whatever their headers declare")
  func noBody() async throws {
    server.on("/head", [.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n")])
    server.on("/204", [.send("HTTP/1.1 204 No Content\r\n\r\n")])
    server.on("/304", [.send("HTTP/1.1 304 Not Modified\r\nContent-Length: 100\r\n\r\n")])

    for method in [HTTPMethod.head, try HTTPMethod("head")] {
      #expect(try await loader.load(try HTTPRequest(method, server.url("/head"))).value.status == .ok)
    }
    #expect(try await load("/204").value.status == .noContent)
    #expect(try await load("/304").value.status == .notModified)
  }

  @Test("a reset cancels what is on its way, waits for it, and leaves the loader usable")
  func reset() async throws {
    server.on("/stall", .stall)
    server.on("/ok", .respond(body: "ok"))
    let loads = [try load("/stall"), try load("/stall")]
    _ = await server.waitUntil { $0.requests.count == 2 }.outcome

    try await loader.reset().value

    #expect(loads.allSatisfy { $0.outcomeIfCompleted?.ending == .cancelled })
    #expect(try await load("/ok").value.status == .ok)
  }

  @Test("deadlines that are no times do not crash", arguments: [Duration.seconds(-1), .zero, .seconds(Int64.max)])
  func strangeDeadlines(timeout: Duration) async throws {
    // What is due at once must not race an answer.
    server.on("/", timeout > .zero ? .respond() : .stall)

    let outcome = try await load("/") { $0[option: RequestTimeout.self] = timeout }.outcome

    #expect(outcome.ending == (timeout > .zero ? .succeeded : .failed))
  }

  @Test("a loader that is dropped finishes what it began")
  func dropped() async throws {
    let gate = LoopbackGate()
    server.on("/held", [.hold(gate), .respond(body: "held")])
    var dropped: URLSessionLoader? = URLSessionLoader(.patient)
    let future = dropped?.load(try HTTPRequest(server.url("/held")))
    _ = await server.waitForRequest(to: "/held").outcome

    dropped = nil
    gate.open()

    #expect(try await future?.value.body == Data("held".utf8))
  }
}
