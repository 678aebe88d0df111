import Foundation
import FutureTree
import FutureTreeAsyncHTTPClient
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting
import Testing

extension Outcome {
  var code: HTTPError.Code? { if case .failure(let error as HTTPError) = self { error.code } else { nil } }

  var message: String? { if case .failure(let error as HTTPError) = self { error.message } else { nil } }
}

@Suite("AsyncHTTPClientLoader") struct AsyncHTTPClientLoaderTests {
  private let server: LoopbackServer
  private let loader = AsyncHTTPClientLoader(.init(timeout: nil))

  init() throws {
    server = try LoopbackServer()
  }

  private func load(
    _ path: String, _ change: (inout HTTPRequest) throws -> Void = { _ in }
  ) throws -> Future<HTTPResponse> {
    var request = try HTTPRequest(server.url(path))
    try change(&request)
    return loader.load(request)
  }

  @Test("A response arrives with status, headers and body")
  func answer() async throws {
    server.on("/ok", .respond(status: 201, headers: [("X-A", "b")], body: "hello"))

    let response = try await load("/ok").value

    #expect(response.status == .created)
    #expect(response.headers["x-a"] == "b")
    #expect(try response.body == Data("hello".utf8))
  }

  @Test("A request is sent unchanged, with its body", arguments: [0, 1, 2])
  func request(kind: Int) async throws {
    server.on("/post", .respond())
    var request = try HTTPRequest(.post, server.url("/post?q=a%20b"))
    try request.setHeader("X-Token", "t")
    try request.addHeader("x-token", "u")
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("body-\(UUID())")
    try Data("body".utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    request.body =
      switch kind {
      case 0: .data(Data("body".utf8), contentType: "text/plain")
      case 1: .file(file, contentType: "text/plain")
      default: .stream(contentType: "text/plain") { HTTPBodyReader(InputStream(data: Data("body".utf8))) }
      }

    _ = try await loader.load(request).value

    let received = try #require(server.record.requests.first)
    #expect(received.method == "POST")
    #expect(received.target == "/post?q=a%20b")
    #expect(received.headers.filter { $0.name.lowercased() == "x-token" }.map(\.value) == ["t", "u"])
    #expect(received.values(for: "content-type") == ["text/plain"])
    #expect(received.values(for: "accept-encoding") == ["gzip, deflate"])
    #expect(received.values(for: "host") == ["127.0.0.1:\(server.port)"])
    #expect(received.body == Array("body".utf8))
    #expect(received.values(for: "transfer-encoding") == (kind == 2 ? ["chunked"] : []))
  }

  @Test("A redirect arrives, and is not followed")
  func redirect() async throws {
    server.on("/from", .respond(status: 302, headers: [("Location", server.url("/to"))]))

    #expect(try await load("/from").value.status.code == 302)
    #expect(!server.record.hasRequest(to: "/to"))
  }

  @Test("A cancelled future closes its connection, and ends when it is closed", arguments: [true, false])
  func cancel(isBeforeHead: Bool) async throws {
    let gate = LoopbackGate()
    server.on(
      "/held", isBeforeHead ? .stall : [.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123"), .hold(gate)])
    let future = try load("/held")
    _ = await server.waitForRequest(to: "/held").outcome

    future.cancel(reason: "not needed")

    let outcome = await future.outcome
    if case .cancelled(let reason) = outcome { #expect(reason.message == "not needed") }
    #expect(outcome.ending == .cancelled)
    _ = try await server.waitForClose(of: "/held").value
  }

  @Test("A forced future ends at once, its connection is closed afterward, and a reset waits for it")
  func force() async throws {
    server.on("/stall", .stall)
    let future = try load("/stall")
    _ = await server.waitForRequest(to: "/stall").outcome

    future.cancel(.forceImmediately)

    #expect(future.isCompleted)
    try await loader.reset().value
    _ = try await server.waitForClose(of: "/stall").value
  }

  @Test("A request that is cancelled before it begins is never sent")
  func unsent() async throws {
    server.on("/", .respond())
    let loads = try (0..<100).map { _ in try load("/") }
    for load in loads { load.cancel() }

    for load in loads { _ = await load.outcome }

    try await loader.reset().value
  }

  @Test("A response that is cut at any byte is an error, also inside its head")
  func cutAnywhere() async throws {
    let answers = [
      "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n01234567",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    ]
    for answer in answers {
      let bytes = Array(answer.utf8)
      let head = try #require(answer.utf8.firstRange(of: "\r\n\r\n".utf8)).upperBound.utf16Offset(in: answer)
      for length in 0..<bytes.count {
        server.on("/cut/\(length)", [.send(Array(bytes.prefix(length))), .close])

        let outcome = try await load("/cut/\(length)").outcome

        let expected: Set<HTTPError.Code> = length < head ? [.connectionLost, .invalidResponse] : [.truncatedBody]
        #expect(expected.contains(outcome.code ?? .invalidURL), "\(length): \(outcome)")
      }
    }
  }

  @Test(
    "A reader of a stream that is cut receives each byte that arrived, also if the reader is behind",
    arguments: [1_000, 1 << 20], [true, false])
  func cutStream(bufferLimit: Int, isLate: Bool) async throws {
    let chunks = (0..<200).map { LoopbackStep.chunk([UInt8](repeating: $0, count: 1_000)) }
    server.on("/cut", .steps([.respond(headers: [("Transfer-Encoding", "chunked")])] + chunks + [.close]))
    let response = try await load("/cut") { request in
      request.delivery = .stream(bufferLimit: bufferLimit)
    }.value
    if isLate { _ = try await server.waitUntil { $0.openConnectionCount == 0 }.value }

    var (received, code) = (Data(), nil as HTTPError.Code?)
    do {
      for try await chunk in response.bodyStream { received += chunk }
    } catch let error as HTTPError { code = error.code }

    #expect(received == Data((0..<200).flatMap { [UInt8](repeating: $0, count: 1_000) }))
    #expect(code == .truncatedBody)
    try await loader.reset().value
  }

  @Test("A cut stream that is cancelled while its reader is behind ends as cancelled")
  func cutStreamCancelled() async throws {
    let chunks = (0..<200).map { LoopbackStep.chunk([UInt8](repeating: $0, count: 1_000)) }
    server.on("/cut", .steps([.respond(headers: [("Transfer-Encoding", "chunked")])] + chunks + [.close]))
    let response = try await load("/cut") { request in
      request.delivery = .stream(bufferLimit: 1_000)
    }.value
    _ = try await server.waitUntil { $0.openConnectionCount == 0 }.value

    response.transfer.cancel()

    #expect(await response.transfer.outcome.ending == .cancelled)
    try await loader.reset().value
  }

  @Test("Trailers after the last chunk are accepted")
  func trailers() async throws {
    server.on(
      "/trailers",
      [.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n")])

    #expect(try await load("/trailers").value.body == Data("ok".utf8))
  }

  @Test(
    "A response with ambiguous framing is an error",
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

  @Test("A refused connection, an unknown host and a deadline have different errors")
  func connections() async throws {
    let down = try RefusingPort()
    server.on("/stall", .stall)

    let refused = loader.load(try HTTPRequest(down.url()))
    let unknown = loader.load(try HTTPRequest("http://nobody.invalid/"))
    let late = try load("/stall") { $0.timeout = .milliseconds(50) }

    #expect(await refused.outcome.code == .cannotConnect)
    #expect(await unknown.outcome.code == .unknownHost)
    #expect(await late.outcome.code == .timedOut)
    withExtendedLifetime(down) {}
  }

  @Test("A deadline ends a load whose body arrives slowly")
  func trickle() async throws {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
    server.on("/drip", [.send(head), .drip(String(repeating: "x", count: 1000), every: .milliseconds(10))])
    let clock = ManualClock()
    let loader = AsyncHTTPClientLoader(.init(timeout: .seconds(20)), clock: clock)
    let load = loader.load(try HTTPRequest(server.url("/drip")))
    _ = try await server.waitForRequest(to: "/drip").value

    clock.advance(by: .seconds(20))

    #expect(load.outcomeIfCompleted?.code == .timedOut)
    _ = try await server.waitForClose(of: "/drip").value
  }

  @Test("A closed connection, a reset connection and a response without HTTP are errors")
  func brokenPeers() async throws {
    server.on("/close", .close)
    server.on("/reset", .reset)
    server.on("/garbage", [.send("\u{0}\u{1}garbage\r\n\r\n"), .close])

    #expect(try await load("/close").outcome.code == .connectionLost)
    #expect(try await load("/reset").outcome.code == .connectionLost)
    #expect(try await load("/garbage").outcome.code == .invalidResponse)
  }

  @Test("A body over the limit is an error, declared or not, and its connection is closed")
  func limit() async throws {
    let loader = AsyncHTTPClientLoader(.init(timeout: nil, maximumBodySize: 10))
    server.on("/declared", .respond(body: "0123456789A"))
    server.on("/chunked", [.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nB\r\n0123456789A\r\n"), .stall])
    server.on("/fits", .respond(body: "0123456789"))

    #expect(await loader.load(try HTTPRequest(server.url("/declared"))).outcome.code == .bodyTooLarge)
    #expect(await loader.load(try HTTPRequest(server.url("/chunked"))).outcome.code == .bodyTooLarge)
    _ = try await server.waitForClose(of: "/chunked").value
    #expect(try await loader.load(try HTTPRequest(server.url("/fits"))).value.body.count == 10)
  }

  @Test("A HEAD request, a 204 and a 304 have no body, whatever their headers declare")
  func noBody() async throws {
    server.on("/head", [.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n")])
    server.on("/204", [.send("HTTP/1.1 204 No Content\r\n\r\n")])
    server.on("/304", [.send("HTTP/1.1 304 Not Modified\r\nContent-Length: 100\r\n\r\n")])

    #expect(try await loader.load(try HTTPRequest(.head, server.url("/head"))).value.status == .ok)
    #expect(try await load("/204").value.status == .noContent)
    #expect(try await load("/304").value.status == .notModified)
  }

  @Test("A reset cancels the loads in flight, waits for them, and leaves the loader usable")
  func reset() async throws {
    server.on("/stall", .stall)
    server.on("/ok", .respond(body: "ok"))
    let loads = [try load("/stall"), try load("/stall")]
    _ = await server.waitUntil { $0.requests.count == 2 }.outcome

    try await loader.reset().value

    #expect(loads.allSatisfy { $0.outcomeIfCompleted?.ending == .cancelled })
    #expect(try await load("/ok").value.status == .ok)
  }

  @Test("After a shutdown, loads fail, and a second shutdown has no effect")
  func shutdown() async throws {
    server.on("/stall", .stall)
    server.on("/ok", .respond(body: "ok"))
    let stalled = try load("/stall")
    _ = await server.waitForRequest(to: "/stall").outcome

    try await loader.shutdown().value
    try await loader.shutdown().value

    #expect(stalled.outcomeIfCompleted?.ending == .cancelled)
    #expect(try await load("/ok").outcome.code == .transportFailed)
    _ = try await server.waitUntilAllClosed().value
  }

  @Test("A dropped loader completes its loads, and closes its connections")
  func dropped() async throws {
    let gate = LoopbackGate()
    server.on("/held", [.hold(gate), .respond(body: "held")])
    var dropped: AsyncHTTPClientLoader? = AsyncHTTPClientLoader(.init(timeout: nil))
    let future = dropped?.load(try HTTPRequest(server.url("/held")))
    _ = await server.waitForRequest(to: "/held").outcome

    dropped = nil
    gate.open()

    #expect(try await future?.value.body == Data("held".utf8))
    _ = try await server.waitUntilAllClosed().value
  }

  @Test("A body for a file is written, and a truncated one leaves no file")
  func file() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("files-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appendingPathComponent("body")
    server.on("/whole", .respond(body: String(repeating: "x", count: 300_000)))
    server.on("/cut", [.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123"), .close])

    let cut = try await load("/cut") { $0.delivery = .file(file) }.outcome
    #expect(cut.code == .truncatedBody)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
    let whole = try await load("/whole") { $0.delivery = .file(file) }.value

    #expect(whole.status == .ok)
    #expect(try Data(contentsOf: file).count == 300_000)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["body"])
  }
}
