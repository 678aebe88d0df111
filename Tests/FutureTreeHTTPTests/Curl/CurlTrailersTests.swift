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

    @Test(
      "An interim response after a cancellation request is not reported, and a load can be cancelled by its closure")
    func cancelled() async throws {
      server.on("/", .steps([.send(Self.hints + Self.hints), .stall]))
      let (load, count) = (Locked<Future<HTTPResponse>?>(nil), Locked(0))
      let began = Promise<Void>()
      var request = try request()
      request.onInterimResponse = { _ in
        count.withLock { $0 += 1 }
        load.value?.cancel(reason: "enough")
        began.succeed()
      }
      let gate = Promise<HTTPRequest>()
      let api = ModifyRequest.deferred { _ in gate.future } --> loader
      load.value = api.load(request)
      gate.succeed(request)

      _ = await began.future.outcome
      let outcome = await load.value?.outcome
      expectEqual(outcome?.text, "cancelled")
      expectEqual(count.value, 1)
    }

    // MARK: - Expectations

    private func upload(_ body: String = "film", isReplayable: Bool = true) throws -> (HTTPRequest, opened: Locked<Int>)
    {
      let opened = Locked(0)
      var request = try request(.post)
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
      let (request, opened) = try upload()

      try await expectEqual(loader.load(request).value.status.code, 201)

      let received = try #require(server.requests.first)
      expectEqual(received.values(for: "Expect"), ["100-continue"])
      expectEqual(received.text, "film")
      expectEqual(opened.value, 1)
    }

    @Test(
      "A server that responds before the body gets no body, whatever its status",
      arguments: [200, 307, 401, 413], [true, false])
    func refusal(status: Int, isChunked: Bool) async throws {
      let body = isChunked ? "Transfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n" : "Content-Length: 2\r\n\r\nno"
      server.on("/", beginning: .headComplete, .send("HTTP/1.1 \(status) Early\r\n\(body)"))
      let (request, opened) = try upload(isReplayable: false)

      let response = try await loader.load(request).value

      expectEqual(response.status.code, status)
      try expectEqual(response.body, Data("no".utf8))
      expectEqual(opened.value, 0)
    }

    @Test("A server that refuses the expectation receives the request again without it", arguments: [true, false])
    func expectationFailed(isReplayable: Bool) async throws {
      server.on(
        "/", beginning: .headComplete, .respond(status: 417, body: "what?"),
        [.stopReading, .read(1_000), .respond(status: 201, body: "done")])
      let (request, opened) = try upload(isReplayable: isReplayable)

      let response = try await loader.load(request).value

      expectEqual(response.status.code, 201)
      try expectEqual(response.body, Data("done".utf8))
      expectEqual(server.requests.map { $0.values(for: "Expect") }, [["100-continue"], []])
      expectEqual(server.requests.last?.text, "film")
      expectEqual(opened.value, 1)
    }

    @Test("A request without a body expects nothing, and one without the option does not wait")
    func unexpected() async throws {
      server.on("/", .respond())
      var request = try request()
      request.expectsContinue = true
      _ = try await loader.load(request).value
      request = try self.request(.put)
      request.body = .data(Data(repeating: 65, count: 2_000_000))
      _ = try await loader.load(request).value

      expectEqual(server.requests.map { $0.values(for: "Expect") }, [[], []])
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
