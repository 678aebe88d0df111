import AsyncHTTPClient
import Foundation
import FutureTree
import FutureTreeAsyncHTTPClient
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting
import NIOConcurrencyHelpers
import NIOCore
import Testing

@Suite("AsyncHTTPClientLoader, trailers, interim responses, expectations and timings", .timeLimit(.minutes(20)))
struct MessageTests {
  private let loader: AsyncHTTPClientLoader
  private let server: LoopbackServer

  init() throws {
    server = try LoopbackServer()
    loader = try secureLoader()
  }

  private func texts(_ fields: FutureTreeHTTP.HTTPHeaders) -> [String] { fields.map { "\($0.name): \($0.value)" } }

  private func counting() throws -> RequestTrailers {
    try RequestTrailers(["X-Count"], from: 0) { count, bytes in
      count += bytes.count
    } fields: { count in
      ["X-Count": "\(count)"]
    }
  }

  // MARK: - Trailers

  @Test(
    "A body in memory, in a file and in a stream has the fields that follow it, apart from the headers",
    arguments: [false, true])
  func trailers(isEncoded: Bool) async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let gzip = [UInt8](Data(base64Encoded: "H4sIAAAAAAAC/0tNLMqpBABLzo6jBQAAAA==")!)
    let body = isEncoded ? gzip : Array("early".utf8)
    server.on(
      "/",
      .send(
        Array("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n".utf8)
          + Array("\(isEncoded ? "Content-Encoding: gzip\r\n" : "")\r\n\(String(body.count, radix: 16))\r\n".utf8)
          + body
          + Array("\r\n0\r\nX-Sum: 1\r\nSet-Cookie: a=b\r\n\r\n".utf8)))
    for delivery in [
      ResponseDelivery.defaultValue, .file(folder.appendingPathComponent("a"), maximumSize: nil), .stream(),
    ] {
      var request = try HTTPRequest(server.url("/"))
      request.delivery = delivery

      let response = try await loader.load(request).value
      var size = 0
      for try await chunk in response.bodyStream { size += chunk.count }

      #expect(size == 5)
      #expect(texts(response.trailers) == ["X-Sum: 1", "Set-Cookie: a=b"])
    }
    server.on("/", .respond())
    #expect(try await loader.load(HTTPRequest(server.url("/"))).value.trailers.count == 0)
  }

  @Test("The fields after a request are those of its bytes", arguments: [0, 5, 200_000])
  func requestTrailers(size: Int) async throws {
    server.on("/", .respond())
    let data = Data(count: size)
    let bodies: [HTTPBody] = [.data(data), .stream(length: size) { HTTPBodyReader(InputStream(data: data)) }]
    for (index, body) in bodies.enumerated() {
      var request = try HTTPRequest(.put, server.url("/"))
      request.body = body
      request.trailers = try counting()

      _ = try await loader.load(request).value

      let received = server.requests[index]
      #expect(received.trailers.map { "\($0.name): \($0.value)" } == ["X-Count: \(size)"])
      #expect(
        received.values(for: "Trailer") == ["X-Count"] && received.values(for: "Transfer-Encoding") == ["chunked"])
      #expect(received.values(for: "FutureTree-Transfer") == [] && received.body.count == size)
    }
  }

  @Test("If the fields cannot be computed, the load fails, and the request does not end")
  func faultyTrailers() async throws {
    server.on("/", .respond())
    struct Oops: Error {}
    var request = try HTTPRequest(.put, server.url("/"))
    request.body = .data(Data("film".utf8))
    request.trailers = try RequestTrailers(["X-Sum"], from: 0) { _, _ in
    } fields: { _ in
      throw Oops()
    }

    #expect(await loader.load(request).outcome.code == .unreadableBody)
    _ = try await server.waitUntilAllClosed().value
    #expect(!server.requests.contains { $0.isComplete })
  }

  @Test("With HTTP/2, both bodies have trailers, and interim responses precede the response")
  func stream() async throws {
    let received = NIOLockedValueBox<[String]>([])
    let server = try TestServer(.http1OrHTTP2) { exchange in
      exchange.whole.whenSuccess { trailers in
        received.withLockedValue { $0 += trailers?.map { "\($0.name): \($0.value)" } ?? [] }
      }
      exchange.head(.custom(code: 103, reasonPhrase: ""), ["Link": "</a>"])
      exchange.head()
      exchange.body(ByteBuffer(string: "hello"))
      exchange.end(["x-sum": "1"])
    }
    let events = NIOLockedValueBox<[String]>([])
    for isReused in [false, true] {
      var request = try HTTPRequest(.put, server.url("/", scheme: "https"))
      request.body = .data(Data("film".utf8))
      request.trailers = try counting()
      request.onInterimResponse = { response in
        events.withLockedValue { $0.append("\(response.status.code) \(response.headers["Link"] ?? "")") }
      }

      let response = try await loader.load(request).value

      #expect(texts(response.trailers) == ["x-sum: 1"])
      let timings = try #require(response.timings)
      #expect(timings.protocolVersion == "2" && timings.isConnectionReused == isReused)
      #expect(timings.peerPort.map(Int.init) == server.port)
    }
    #expect(received.withLockedValue { $0 } == ["x-count: 4", "x-count: 4"])
    #expect(events.withLockedValue { $0 } == ["103 </a>", "103 </a>"])
  }

  // MARK: - Interim responses and expectations

  @Test("Interim responses are reported in order, before the response", arguments: 0..<20)
  func interim(round: Int) async throws {
    let hints = "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
    server.on("/", .send(hints + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
    let events = NIOLockedValueBox<[String]>([])
    var request = try HTTPRequest(server.url("/"))
    request.onInterimResponse = { response in
      events.withLockedValue { $0.append("\(response.status.code) \(response.headers["Link"] ?? "")") }
    }
    request.progress = { progress in events.withLockedValue { $0.append("received \(progress.received.completed)") } }

    #expect(try await loader.load(request).value.body == Data("ok".utf8))

    #expect(events.withLockedValue { $0.prefix(2) } == ["102 ", "103 </a>"])
    #expect(events.withLockedValue { $0.last } == "received 2")
  }

  @Test("A load is cancelled by the closure that receives an interim response", arguments: [false, true])
  func cancelledInside(isForced: Bool) async throws {
    server.on("/", [.send("HTTP/1.1 103 Early Hints\r\n\r\n"), .stall])
    let load = NIOLockedValueBox<Future<HTTPResponse>?>(nil)
    let stored = Promise<Void>()
    var request = try HTTPRequest(server.url("/"))
    request.onInterimResponse = { _ in
      _ = try? stored.future.wait(for: .seconds(60))
      load.withLockedValue { $0 }?.cancel(isForced ? .forceImmediately : [])
    }
    let future = loader.load(request)
    load.withLockedValue { $0 = future }
    stored.succeed()

    #expect(await future.outcome.ending == .cancelled)
    _ = try await server.waitUntilAllClosed().value
    load.withLockedValue { $0 = nil }
  }

  /// An upload that waits for consent, and counts how often its body is opened.
  private func upload(_ url: String) throws -> (HTTPRequest, opened: NIOLockedValueBox<Int>) {
    let opened = NIOLockedValueBox(0)
    var request = try HTTPRequest(.post, url)
    request.expectsContinue = true
    request.body = .stream(length: 4) {
      opened.withLockedValue { $0 += 1 }
      return HTTPBodyReader(InputStream(data: Data("film".utf8)))
    }
    return (request, opened)
  }

  @Test("A body is sent after the consent of the server, with HTTP/1.1 and HTTP/2")
  func consent() async throws {
    server.on("/", .respond(status: 201))
    let (request, opened) = try upload(server.url("/"))

    #expect(try await loader.load(request).value.status.code == 201)
    #expect(server.requests.first?.text == "film" && server.requests.first?.values(for: "Expect") == ["100-continue"])
    #expect(opened.withLockedValue { $0 } == 1)

    let stream = try TestServer(.http1OrHTTP2, answersHeads: true) { exchange in
      exchange.head(.continue)
      exchange.whole.whenSuccess { _ in exchange.respond("hello") }
    }
    let (second, openedAgain) = try upload(stream.url("/", scheme: "https"))
    #expect(try await loader.load(second).value.body == Data("hello".utf8))
    #expect(openedAgain.withLockedValue { $0 } == 1)
  }

  @Test("A body is sent to a server that does not know the expectation, after a second")
  func silence() async throws {
    let server = try TestServer { $0.respond("hello") }
    let clock = ManualClock()
    let loader = AsyncHTTPClientLoader(.init(timeout: nil), clock: clock)
    let (request, opened) = try upload(server.url("/"))

    let load = loader.load(request)
    while clock.timerCount < 1 { await Task.yield() }
    #expect(opened.withLockedValue { $0 } == 0)
    clock.advance(by: .seconds(1))

    #expect(try await load.value.body == Data("hello".utf8))
    #expect(opened.withLockedValue { $0 } == 1)
  }

  @Test("A body is neither read nor sent if the server answers without consent", arguments: [401, 413, 417, 200])
  func refused(status: Int) async throws {
    server.on("/", beginning: .headComplete, .send("HTTP/1.1 \(status) Early\r\nContent-Length: 2\r\n\r\nno"))
    let clock = ManualClock()
    let loader = AsyncHTTPClientLoader(.init(timeout: nil), clock: clock)
    let (request, opened) = try upload(server.url("/"))

    let response = try await loader.load(request).value

    #expect(try response.status.code == status && response.body == Data("no".utf8))
    _ = try await server.waitUntilAllClosed().value
    #expect(opened.withLockedValue { $0 } == 0 && server.requests.first?.body.isEmpty == true)
    #expect(clock.timerCount == 0)
  }

  @Test("An upload that waits for consent is cancelled")
  func cancelled() async throws {
    let gate = LoopbackGate()
    server.on("/", beginning: .headComplete, .send("").held(by: gate))
    let clock = ManualClock()
    let loader = AsyncHTTPClientLoader(.init(timeout: nil), clock: clock)
    let (request, opened) = try upload(server.url("/"))
    let load = loader.load(request)
    _ = try await gate.waitForHolders().value
    while clock.timerCount < 1 { await Task.yield() }

    #expect(load.cancel().activity == "sending the request")

    #expect(await load.outcome.ending == .cancelled)
    #expect(opened.withLockedValue { $0 } == 0 && clock.timerCount == 0)
  }

  // MARK: - Activities and timings

  @Test("A load waits for a connection, sends, waits for the response and receives it")
  func activities() async throws {
    let (head, rest) = (LoopbackGate(), LoopbackGate())
    server.on("/", .respond(body: "Hello, world").held(at: 5, by: rest).held(by: head))
    let part = Promise<Void>()
    var request = try HTTPRequest(server.url("/"))
    request.progress = { if $0.received.completed == 5 { part.succeed() } }
    let log = FutureLog(clock: ManualClock())

    let load = loader.load(request).logged(in: log)
    _ = try await head.waitForHolders().value
    #expect(load.tree().entries.compactMap(\.activity) == ["waiting for the response"])
    head.open()
    _ = await part.future.outcome
    #expect(load.tree().entries.compactMap(\.activity) == ["receiving 5 of 12 bytes"])
    rest.open()
    let timings = try await load.value.timings

    let texts = log.recording().events.compactMap { event in
      if case .activity(let text) = event.fact { text } else { nil }
    }
    #expect(texts.last == "receiving 0 of 12 bytes")  // The log can begin later than the load.
    let (sent, firstByte) = (try #require(timings?.sent), try #require(timings?.firstByte))
    #expect(sent > .zero && sent < firstByte && timings?.isConnectionReused == false)
    #expect(timings?.protocolVersion == "1.1" && timings?.peerAddress == "127.0.0.1")
    #expect(try await loader.load(request).value.timings?.isConnectionReused == true)
  }
}
