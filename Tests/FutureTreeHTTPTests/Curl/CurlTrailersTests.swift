import HTTPTestSupport
import TestSupport

#if os(Linux)
  import Foundation
  import FutureTree
  import FutureTreeHTTPTesting
  import FutureTreeTesting
  import HTTPTestSupport
  import TestSupport
  import Testing

  @testable import FutureTreeHTTP

  @Suite("CurlLoader: trailers and interim responses", .onSockets) struct CurlTrailersTests {
    private let server: LoopbackServer
    private let loader = CurlLoader(.patient, clock: ManualClock())

    init() throws {
      server = try Loopback.server()
    }

    private func request(_ method: HTTPMethod = .get, _ path: String = "/") throws -> HTTPRequest {
      try HTTPRequest(method, server.url(path))
    }

    // MARK: - Trailers

    private static let answer =
      "HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n"
      + "X-Sum: 1\r\nx-sum: \u{E9}\r\nno field\r\nX-Bad: \u{1}\r\nSet-Cookie: a=b\r\n\r\n"

    @Test("A body in memory, in a file and in a stream has the fields that follow it, apart from the headers")
    func trailers() async throws {
      let folder = try Folder()
      server.on("/", .send(Self.answer))
      for delivery in [ResponseDelivery.defaultValue, .file(folder.file("a"), maximumSize: nil), .stream()] {
        var request = try request()
        request.delivery = delivery

        let response = try await loader.load(request).value
        for try await _ in response.bodyStream {}

        expectEqual(
          response.trailers.map { "\($0.name): \($0.value)" }, ["X-Sum: 1", "x-sum: \u{E9}", "Set-Cookie: a=b"])
        expectEqual(response.headers.map(\.name), ["Trailer", "Transfer-Encoding"])
      }
      withExtendedLifetime(folder) {}
    }

    @Test("A response without trailers has none, and so does one whose body is cut before them")
    func none() async throws {
      server.on("/", .respond(body: "a"), .steps([.send(String(Self.answer.dropLast(4))), .close]))

      try await expectEqual(loader.load(request()).value.trailers.count, 0)
      var streamed = try request()
      streamed.delivery = .stream()
      let response = try await loader.load(streamed).value
      let outcome = await response.transfer.outcome
      #expect("\(outcome)".contains("truncated") || "\(outcome)".contains("connectionLost"), "\(outcome)")
      expectEqual(response.trailers.count, 0)
    }

    @Test("A layer that replaces the body of a response keeps its trailers")
    func layers() async throws {
      server.on("/", .send(Self.answer))
      let api = Autocancel() --> Coalesce() --> Retry() --> Redirect() --> loader

      let response = try await api.load(try request()).value
      expectEqual(response.trailers.values(for: "X-Sum"), ["1", "\u{E9}"])
    }

    // MARK: - Interim responses

    private static let hints = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nLink: </b>\r\n\r\n"

    @Test("Interim responses are reported in order, before the response, and count as no progress")
    func interim() async throws {
      server.on(
        "/",
        .steps([
          .send("HTTP/1.1 102 Processing\r\n\r\n" + Self.hints), .send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
        ]))
      let events = Locked<[String]>([])
      var request = try request()
      request.onInterimResponse = { response in
        events.withLock { $0.append("\(response.status.code) \(response.headers.values(for: "Link"))") }
      }
      request.progress = { progress in events.withLock { $0.append("\(progress.received)") } }

      let response = try await loader.load(request).value

      expectEqual(response.status, .ok)
      expectEqual(events.value.prefix(2), ["102 []", "103 [\"</a>\", \"</b>\"]"])
      #expect(events.value.dropFirst(2).allSatisfy { $0.hasPrefix("Part") })
    }

    // MARK: - Expectations

    private func upload(
      _ body: String = "film", _ method: HTTPMethod = .post, isReplayable: Bool = true
    ) throws -> (HTTPRequest, opened: Locked<Int>) {
      let opened = Locked(0)
      var request = try request(method)
      request.expectsContinue = true
      request.body = .stream(length: body.utf8.count, isReplayable: isReplayable) {
        opened.withLock { $0 += 1 }
        return HTTPBodyReader(InputStream(data: Data(body.utf8)))
      }
      return (request, opened)
    }

    @Test("A body is sent after the consent of the server")
    func consent() async throws {
      server.on("/", .respond(status: 201))
      var (request, opened) = try upload()
      let events = Locked<[String]>([])
      request.onInterimResponse = { response in events.withLock { $0.append("\(response.status.code)") } }
      request.progress = { progress in events.withLock { $0.append("sent \(progress.sent.completed)") } }

      try await expectEqual(loader.load(request).value.status.code, 201)

      let received = try #require(server.requests.first)
      expectEqual(received.values(for: "Expect"), ["100-continue"])
      expectEqual(received.text, "film")
      expectEqual(opened.value, 1)
      expectEqual(events.value.prefix(2), ["100", "sent 4"])
    }

    @Test("A body is sent to a server that does not know the expectation")
    func silence() async throws {
      server.on("/", beginning: .headComplete, [.stopReading, .read(1_000), .respond(status: 201, body: "")])
      let (request, opened) = try upload()

      try await expectEqual(loader.load(request).value.status.code, 201)
      expectEqual(server.requests.first?.text, "film")
      expectEqual(opened.value, 1)
    }

    /// Responses to the head of a request.
    private static let early = [
      "Content-Length: 2\r\n\r\nno", "Transfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n",
      "Connection: close\r\n\r\nno",
      "Connection: close\r\nContent-Length: 2\r\n\r\nno",
    ]

    @Test(
      "A server that responds before the body gets no body, and its connection is not used again",
      arguments: [200, 307, 401, 413, 417], early)
    func refusal(status: Int, rest: String) async throws {
      let closes = rest.contains("close") ? [LoopbackStep.close] : []
      server.on("/", beginning: .headComplete, .steps([.send("HTTP/1.1 \(status) Early\r\n\(rest)")] + closes))
      server.on("/next", .respond(body: "next"))
      let (request, opened) = try upload(isReplayable: false)

      let response = try await loader.load(request).value
      let next = try await loader.load(self.request(.get, "/next")).value

      expectEqual(response.status.code, status)
      // libcurl drops the body of a 417, unless the server closes the connection.
      try expectEqual(response.body, Data((status == 417 && !rest.contains("close") ? "" : "no").utf8))
      try expectEqual(next.body, Data("next".utf8))
      expectEqual(opened.value, 0)
      expectEqual(server.requests.count, 2)
      expectEqual(server.connectionCount, 2)
    }

    @Test("A body is withheld as long as the response arrives", arguments: [200, 401], [true, false])
    func slowRefusal(status: Int, hasLength: Bool) async throws {
      let head = "HTTP/1.1 \(status) Early\r\n\(hasLength ? "Content-Length: 2" : "Connection: close")\r\n\r\n"
      let end: [LoopbackStep] = hasLength ? [] : [.close]
      server.on(
        "/", beginning: .headComplete, .steps([.send(head), .pause(.milliseconds(1_200)), .send("no")] + end))
      let (request, opened) = try upload()

      try await expectEqual(loader.load(request).value.body, Data("no".utf8))
      expectEqual(opened.value, 0)
    }

    @Test("A response without a body ends a request whose body was withheld", arguments: [204, 304])
    func refusalWithoutBody(status: Int) async throws {
      server.on("/", beginning: .headComplete, .send("HTTP/1.1 \(status) Early\r\n\r\n"))
      let (request, opened) = try upload()

      try await expectEqual(loader.load(request).value.status.code, status)
      expectEqual(opened.value, 0)
    }

    @Test("A response that is cut while the body is withheld is an error", arguments: [200, 401])
    func cutRefusal(status: Int) async throws {
      server.on(
        "/", beginning: .headComplete,
        [.send("HTTP/1.1 \(status) Early\r\nContent-Length: 10\r\n\r\nno"), .pause(.milliseconds(1_200)), .close])
      let (request, opened) = try upload()

      await expectEqual(loader.load(request).outcome.code, .truncatedBody)
      expectEqual(opened.value, 0)
    }

    @Test("A refused expectation is the response, also after the consent", arguments: [HTTPMethod.put, .post])
    func expectationFailed(method: HTTPMethod) async throws {
      let consent = LoopbackStep.send("HTTP/1.1 100 Continue\r\n\r\n")
      for steps in [
        [LoopbackStep.respond(status: 417, body: "what?")],
        [consent, .stopReading, .read(1), .respond(status: 417, body: "what?")],
      ] {
        server.on("/", beginning: .headComplete, .steps(steps))
        let (request, _) = try upload(String(repeating: "film", count: 200_000), method)

        let response = try await loader.load(request).value

        expectEqual(response.status.code, 417)
        try expectEqual(response.body, Data())
        expectEqual(response.headers["Content-Length"], nil)
      }
      expectEqual(server.requests.count, 2)
    }

    @Test("A request without a body expects nothing, and one without the option does not wait")
    func unexpected() async throws {
      server.on("/", .respond())
      var request = try request()
      request.expectsContinue = true
      _ = try await loader.load(request).value
      request.method = .post
      request.body = .data(Data())
      _ = try await loader.load(request).value
      request.expectsContinue = false
      request.body = .data(Data(repeating: 65, count: 2_000_000))
      _ = try await loader.load(request).value

      expectEqual(server.requests.map { $0.values(for: "Expect") }, [[], [], []])
    }

    @Test("A load that waits for consent is cancelled, and its body is not opened")
    func cancelledWait() async throws {
      server.on("/", beginning: .headComplete, [.stall])
      let (request, opened) = try upload()
      let load = loader.load(request)
      _ = try await server.waitUntil { !$0.requests.isEmpty }.value

      load.cancel(reason: "enough")

      await expectEqual(load.outcome.text, "cancelled")
      expectEqual(opened.value, 0)
    }
  }
#endif
