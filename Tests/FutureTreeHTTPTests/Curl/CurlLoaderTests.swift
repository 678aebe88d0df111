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

  extension CurlLoader.Configuration {
    /// No deadline: on a busy machine, a test can wait longer for a thread than for a server.
    static var patient: Self { Self(timeout: nil) }

    static func patient(_ change: (inout Self) -> Void) -> Self {
      var configuration = patient
      change(&configuration)
      return configuration
    }
  }

  @Suite("CurlLoader", .onSockets) struct CurlLoaderTests {
    private let server: LoopbackServer
    // Its clock does not run: on a busy machine, a task can begin to read later than a stream may remain unread.
    private let loader = CurlLoader(.patient, clock: ManualClock())

    init() throws {
      server = try Loopback.server()
    }

    private func request(_ method: HTTPMethod = .get, _ path: String = "/") throws -> HTTPRequest {
      try HTTPRequest(method, server.url(path))
    }

    // MARK: - Requests

    @Test("A request is sent as it was written, with the codings that the loader decodes")
    func sent() async throws {
      server.on("/post?q=a%20b", .respond())
      var request = try request(.post, "/post?q=a%20b")
      try request.setHeader("X-Empty", "")
      request.body = .data(Data("body".utf8), contentType: "text/plain")

      _ = try await loader.load(request).value

      let received = try #require(server.requests.first)
      expectEqual(received.method, "POST")
      expectEqual(received.target, "/post?q=a%20b")
      expectEqual(received.text, "body")
      expectEqual(
        received.headers.map(\.name), ["Host", "X-Empty", "Accept-Encoding", "Content-Type", "Content-Length"])
      expectEqual(received.values(for: "Accept-Encoding"), [BodyDecoder.codings.joined(separator: ", ")])
      expectEqual(received.values(for: "Content-Type"), ["text/plain"])
      expectEqual(received.values(for: "X-Empty"), [""])
    }

    @Test(
      "A request without a body has no type, and its length if its method expects one",
      arguments: ["POST", "PUT", "DELETE"])
    func withoutBody(method: String) async throws {
      server.on("/", .respond())

      _ = try await loader.load(try request(try HTTPMethod(method))).value

      let received = try #require(server.requests.first)
      expectEqual(received.method, method)
      expectEqual(received.values(for: "Content-Type"), [])
      expectEqual(received.values(for: "Content-Length"), method == "DELETE" ? [] : ["0"])
    }

    @Test("A body is sent with GET and QUERY, and refused with HEAD and TRACE")
    func bodies() async throws {
      for method in ["GET", "QUERY", "HEAD", "TRACE"] {
        var request = try request(try HTTPMethod(method))
        request.body = .data(Data("a".utf8), contentType: "text/plain")

        let load = loader.load(request)

        if ["HEAD", "TRACE"].contains(method) { expectEqual(load.outcomeIfCompleted?.code, .forbiddenBody) }
        await expectEqual(load.outcome.code, ["HEAD", "TRACE"].contains(method) ? .forbiddenBody : nil)
      }
      expectEqual(
        server.requests.map { "\($0.method) \(String(decoding: $0.body, as: UTF8.self))" }, ["GET a", "QUERY a"])
    }

    // MARK: - Repetitions

    /// The server answers the first request, and closes the connection when the second one arrives on it.
    private func closeReusedConnection() async throws {
      server.on("/first", .respond())
      server.on("/second", .close, .respond(body: "again"))
      _ = try await loader.load(try request(.get, "/first")).value
    }

    @Test("A request is repeated if its reused connection was closed, and its method allows it")
    func repeated() async throws {
      try await closeReusedConnection()
      var second = try request(.put, "/second")
      second.body = .data(Data("body".utf8))

      let response = try await loader.load(second).value

      try expectEqual(response.body, Data("again".utf8))
      expectEqual(server.record.requests(to: "/second").map(\.text), ["body", "body"])
      expectEqual(server.connectionCount, 2)
    }

    @Test("A POST is never repeated, with or without a body", arguments: [true, false])
    func notRepeated(hasBody: Bool) async throws {
      try await closeReusedConnection()
      var second = try request(.post, "/second")
      if hasBody { second.body = .data(Data("body".utf8)) }

      let outcome = await loader.load(second).outcome

      expectEqual(outcome.code, .connectionLost)
      expectEqual(server.record.requests(to: "/second").count, 1)
    }

    @Test("A body that can be read once is not sent twice")
    func notReplayable() async throws {
      try await closeReusedConnection()
      var second = try request(.put, "/second")
      second.body = .asyncStream(length: 4, isReplayable: false) {
        AsyncStream {
          $0.yield(Data("body".utf8))
          $0.finish()
        }
      }

      let outcome = await loader.load(second).outcome

      expectEqual(outcome.code, .bodyNotReplayable)
      expectEqual(server.record.requests(to: "/second").count, 1)
    }

    @Test("A request on a new connection that is closed is not repeated")
    func newConnection() async throws {
      server.on("/", .close, .respond())

      await expectEqual(loader.load(try request()).outcome.code, .connectionLost)
      expectEqual(server.requestCount, 1)
    }

    // MARK: - Encoded bodies

    @Test("An encoded body is decoded, in one piece or in chunks", arguments: BodyDecoderTests.encoded)
    func decoded(coding: String, data: Data) async throws {
      let head = "HTTP/1.1 200 OK\r\nContent-Encoding: \(coding)\r\n"
      server.on(
        "/length", .steps([.send("\(head)Content-Length: \(data.count)\r\n\r\n"), .send(Array(data))]))
      let (first, rest) = (data.prefix(20), data.dropFirst(20))
      server.on(
        "/chunks",
        .steps([
          .send("\(head)Transfer-Encoding: chunked\r\n\r\n"), .chunk(Array(first)), .chunk(Array(rest)),
          .send("0\r\n\r\n"),
        ]))

      for path in ["/length", "/chunks"] {
        let response = try await loader.load(try request(.get, path)).value
        try expectEqual(response.body, Data(BodyDecoderTests.text.utf8))
        #expect(response.headers["Content-Encoding"] == nil && response.headers["Content-Length"] == nil)
        let stream = try await loader.stream { try request(.get, path) }.value
        var streamed = Data()
        for try await chunk in stream.bodyStream { streamed += chunk }
        expectEqual(streamed, Data(BodyDecoderTests.text.utf8))
      }
    }

    @Test(
      "An encoded body that ends too early is truncated, although its framing is whole",
      arguments: BodyDecoderTests.encoded)
    func truncated(coding: String, data: Data) async throws {
      let half = Array(data.prefix(data.count / 2))
      server.on("/", .respond(headers: [("Content-Encoding", coding)], body: half))

      await expectEqual(loader.load(try request()).outcome.code, .truncatedBody)
    }

    @Test("Without decoding, an encoded body is delivered as it was sent")
    func asSent() async throws {
      let loader = CurlLoader(.patient { $0.acceptsEncodedBodies = false })
      let (coding, data) = BodyDecoderTests.encoded[0]
      server.on("/", .respond(headers: [("Content-Encoding", coding)], body: Array(data)))

      let response = try await loader.load(try request()).value

      #expect(try response.body == data && response.headers["Content-Encoding"] == coding)
      expectEqual((try #require(server.requests.first)).values(for: "Accept-Encoding"), ["identity"])
    }

    @Test("A slow reader of a body that decodes to much more pauses the decoder")
    func slowReader() async throws {
      try #require(BodyDecoder.accepted.contains("zstd"))
      // Each frame of zstd has a block of 128 KiB with one repeated byte (RFC 8878, section 3.1.1.2).
      let frame: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD, 0, 0x38, 0x03, 0, 0x10, 97]
      let count = 64
      // Frames that decoders skip keep the ratio low.
      let filler: [UInt8] = [0x50, 0x2A, 0x4D, 0x18, 0, 1, 0, 0] + [UInt8](repeating: 0, count: 256)
      let body = (0..<count).flatMap { _ in frame + filler }
      server.on("/", .respond(headers: [("Content-Encoding", "zstd")], body: body))
      var request = try request()
      request.delivery = .stream(bufferLimit: 1 << 18)

      let response = try await loader.load(request).value
      var size = 0
      for try await chunk in response.bodyStream {
        size += chunk.count
        await Task.yield()
      }

      expectEqual(size, count << 17)
      await expectEqual(response.transfer.outcome.text, "success")
    }

    @Test(
      "A stream whose reader pauses arrives whole, whatever its buffer holds", arguments: [0, 4096, 1 << 18],
      [true, false])
    func pauses(bufferLimit: Int, isChunked: Bool) async throws {
      let block = (0..<1 << 16).map { UInt8(truncatingIfNeeded: $0 ^ $0 >> 8) }
      let count = 64
      let body = Data((0..<count).flatMap { _ in block })
      let head = "HTTP/1.1 200 OK\r\n" + (isChunked ? "Transfer-Encoding: chunked" : "Content-Length: \(count << 16)")
      let blocks = (0..<count).map { _ in isChunked ? LoopbackStep.chunk(block) : .send(block) }
      server.on("/", .steps([.send(head + "\r\n\r\n")] + blocks + (isChunked ? [.send("0\r\n\r\n")] : [])))
      server.on("/next", .respond())
      var request = try request()
      request.delivery = .stream(bufferLimit: bufferLimit, idleReadTimeout: nil)

      let response = try await loader.load(request).value
      var (size, isEqual) = (0, true)
      for try await chunk in response.bodyStream {
        // Not byte by byte, for which the thread sanitizer takes minutes.
        isEqual = isEqual && chunk == body.dropFirst(size).prefix(chunk.count)
        size += chunk.count
        // Other loads give the transport time to receive more than it may.
        if size & 0xF_FFFF < 1 << 14 { _ = try await loader.load(try self.request(.get, "/next")).value }
        #expect(response.bodySize <= size + bufferLimit + 1 << 17)
      }

      expectEqual(size, body.count)
      #expect(isEqual)
      await expectEqual(response.transfer.outcome.text, "success")
    }

    // MARK: - Connections

    @Test("Addresses of the configuration replace the lookup, and the name is sent")
    func addresses() async throws {
      let loader = CurlLoader(.patient { $0.addresses = ["API.example": ["127.0.0.1"]] })
      server.on("/", .respond(body: "found"))

      let response = try await loader.load(try HTTPRequest("http://api.example:\(server.port)/")).value

      try expectEqual(response.body, Data("found".utf8))
      expectEqual((try #require(server.requests.first)).values(for: "Host"), ["api.example:\(server.port)"])
    }

    @Test("A name without an address is an error of the name")
    func unknownHost() async throws {
      #expect(await loader.load(try HTTPRequest("http://name.invalid/")).outcome.code == .unknownHost)
    }

    @Test("A lookup that never ends delays no other request, and can be cancelled")
    func stuckLookup() async throws {
      let (began, ends) = (Promise<Void>(), Promise<Void>())
      var settings = CurlSettings(.patient)
      settings.resolve = { name throws(HTTPError) in
        guard name.host == "stuck.example" else { return ["127.0.0.1"] }
        began.succeed()
        _ = try? ends.future.wait(for: .seconds(600))
        throw HTTPError(.unknownHost, "late")
      }
      let loader = CurlLoader(settings, .patient)
      server.on("/", .respond(body: "other"))

      let stuck = loader.load(try HTTPRequest("http://stuck.example/"))
      _ = await began.future.outcome
      let other = try await loader.load(try HTTPRequest("http://other.example:\(server.port)/")).value
      stuck.cancel()

      #expect(await stuck.outcome.text == "cancelled" && other.status == .ok)
      try await loader.reset().value  // Waits until both loads have ended, also for the transport.
      expectEqual(loader.liveCount, 0)
      ends.succeed()
    }

    @Test("A Unix socket that nobody listens on is named")
    func unixSocket() async throws {
      let loader = CurlLoader(.patient { $0.unixSocketPath = "/nobody/listens.sock" })

      let outcome = await loader.load(try HTTPRequest("http://api.example/")).outcome

      expectEqual(outcome.code, .cannotConnect)
      #expect("\(outcome)".contains("/nobody/listens.sock"))
    }

    @Test("The connections of a loader are closed when it is released")
    func released() async throws {
      server.on("/", .respond(body: "a"))
      do {
        let loader = CurlLoader(.patient)
        _ = try await loader.load(try request()).value
        expectEqual(server.openConnectionCount, 1)
      }

      _ = try await server.waitUntilAllClosed().value
    }

    @Test("A load continues after its loader was released")
    func loadOutlivesLoader() async throws {
      let gate = LoopbackGate()
      server.on("/", .respond(body: "late").held(by: gate))
      let load = CurlLoader(.patient).load(try request())
      _ = try await gate.waitForHolders().value

      gate.open()

      try await expectEqual(load.value.body, Data("late".utf8))
      _ = try await server.waitUntilAllClosed().value
    }

    @Test("The limit of connections in all holds for several hosts")
    func maximumConnections() async throws {
      let loader = CurlLoader(
        .patient {
          $0.maximumConnections = 2
          $0.addresses = ["a.example": ["127.0.0.1"], "b.example": ["127.0.0.1"], "c.example": ["127.0.0.1"]]
        })
      let gate = LoopbackGate()
      server.on("/", .respond().held(by: gate))
      let loads = try ["a", "b", "c"].map { loader.load(try HTTPRequest("http://\($0).example:\(server.port)/")) }
      _ = try await gate.waitForHolders(2).value

      expectEqual(server.requestCount, 2)
      gate.open()
      for load in loads { _ = try await load.value }
    }

    @Test("Loads that wait for a connection to their host begin in their order, and a cancelled one leaves at once")
    func connectionsPerHost() async throws {
      let loader = CurlLoader(.patient { $0.maximumConnectionsPerHost = 2 })
      let gate = LoopbackGate()
      server.onOthers(.respond().held(by: gate))
      let loads = try (0..<40).map { loader.load(try request(.get, "/\($0)")) }
      _ = try await gate.waitForHolders(2).value

      for index in stride(from: 10, to: 40, by: 2) {
        loads[index].cancel()
        await expectEqual(loads[index].outcome.ending, .cancelled)
      }
      expectEqual(server.requestCount, 2)
      gate.open()
      for (index, load) in loads.enumerated() where index < 10 || !index.isMultiple(of: 2) { _ = try await load.value }

      let begun = server.requests.map(\.target)
      expectEqual(Set(begun).count, 25)
      expectEqual(Set(begun[..<2]), ["/0", "/1"])
      // Two connections are independent, so that a request can overtake the one before it.
      let order = begun.compactMap { Int($0.dropFirst()) }
      #expect(zip(order, order.sorted()).allSatisfy { abs($0 - $1) <= 4 }, "\(order)")
      expectEqual(Set(server.requests.map(\.connection)).count, 2)
    }

    // MARK: - Proxies

    @Test("The environment names no proxy by default, and each request can use it by choice")
    func environment() async throws {
      server.onOthers(.respond(body: "of the proxy"))
      var settings = CurlSettings(.patient)
      settings.variable = { [server] name in name == "http_proxy" ? "http://127.0.0.1:\(server.port)" : nil }
      let request = try HTTPRequest("http://api.example/a?b=c")

      let url = try #require(request.url)

      #expect(settings.proxy(for: url) == nil)
      settings.proxy = .environment
      let proxy = try #require(settings.proxy(for: url))
      expectEqual(proxy.host, "127.0.0.1")
      expectEqual(proxy.port, UInt16(server.port))
    }

    @Test("A proxy receives the whole URL, and the credentials of the configuration")
    func httpProxy() async throws {
      server.onOthers(.respond(body: "of the proxy"))
      let loader = CurlLoader(
        .patient { [server] in
          $0.proxy = .http("127.0.0.1", port: UInt16(server.port), userName: "user", password: "password")
        })

      let response = try await loader.load(try HTTPRequest("http://api.example/a?b=c")).value

      try expectEqual(response.body, Data("of the proxy".utf8))
      #expect((try #require(server.requests.first)).target == "http://api.example/a?b=c")
      expectEqual(
        (try #require(server.requests.first)).values(for: "Proxy-Authorization"), ["Basic dXNlcjpwYXNzd29yZA=="])
    }

    @Test("A proxy that opens no tunnel is named, and its answer is not a response")
    func tunnel() async throws {
      server.onOthers(.respond(status: 407, headers: [("X-Of", "proxy")], body: "no"))
      let loader = CurlLoader(.patient { [server] in $0.proxy = .http("127.0.0.1", port: UInt16(server.port)) })

      let outcome = await loader.load(try HTTPRequest("https://api.example/")).outcome

      expectEqual(outcome.code, .cannotConnect)
      #expect("\(outcome)".contains("The proxy 127.0.0.1:\(server.port) refused"))
      let received = try #require(server.requests.first)
      expectEqual(received.method, "CONNECT")
      expectEqual(received.target, "api.example:443")
    }

    // MARK: - Facts

    @Test("The facts of an exchange have its connection, its protocol and its times")
    func facts() async throws {
      let all = Locked<[CurlExchangeFacts]>([])
      let loader = CurlLoader(.patient { $0.onExchange = { facts in all.withLock { $0.append(facts) } } })
      server.on("/", .respond(body: "first"), .respond(body: "second"))

      var responses: [HTTPResponse] = []
      for _ in 0..<2 { responses.append(try await loader.load(try request()).value) }

      let facts = all.value
      expectEqual(facts.map(\.status), [.ok, .ok])
      expectEqual(facts.map(\.attempts), [1, 1])
      #expect(facts.allSatisfy { $0.ended > .zero })
      for timings in [responses.map(\.timings), facts.map(\.timings)] {
        expectEqual(timings.map { $0?.isConnectionReused }, [false, true])
        expectEqual(timings.map { $0?.protocolVersion }, ["1.1", "1.1"])
        expectEqual(timings.map { $0?.peerAddress }, ["127.0.0.1", "127.0.0.1"])
        expectEqual(timings.map { $0?.peerPort }, [UInt16(server.port), UInt16(server.port)])
        expectEqual(timings.map { $0?.connected != nil }, [true, false])
        expectEqual(timings.map { $0?.secured != nil }, [false, false])
        for timings in timings {
          let queued = try #require(timings?.queued)
          let sent = try #require(timings?.sent)
          let firstByte = try #require(timings?.firstByte)
          expectEqual([queued, sent, firstByte].sorted(), [queued, sent, firstByte])
        }
      }
      #expect(facts[1].description.contains("HTTP/1.1, reused connection to 127.0.0.1:\(server.port), queued "))
    }

    @Test("A request that is sent twice has two attempts")
    func attempts() async throws {
      let all = Locked<[CurlExchangeFacts]>([])
      let loader = CurlLoader(.patient { $0.onExchange = { facts in all.withLock { $0.append(facts) } } })
      server.on("/", .respond(), .close, .respond())

      for _ in 0..<2 { _ = try await loader.load(try request()).value }

      expectEqual(all.value.map(\.attempts), [1, 2])
    }

    // MARK: - Security

    @Test("A server without TLS is no secure server")
    func insecure() async throws {
      server.onConnect(.send("HTTP/1.1 400 Bad Request\r\n\r\n"))

      let outcome = await loader.load(try HTTPRequest("https://127.0.0.1:\(server.port)/")).outcome

      expectEqual(outcome.code, .insecureConnection)
    }

    @Test("Roots that cannot be read are an error")
    func roots() async throws {
      let loader = CurlLoader(.patient { $0.security.roots = .file("/nowhere.pem") })

      let outcome = await loader.load(try HTTPRequest("https://127.0.0.1:\(server.port)/")).outcome

      expectEqual(outcome.code, .insecureConnection)
    }

    @Test("No text shows the password of a proxy or of a key")
    func secrets() {
      let configuration = CurlLoader.Configuration.patient {
        $0.proxy = .http("proxy.example", port: 80, userName: "user", password: sentinel)
        $0.security.clientCertificate = .init(certificate: "a.pem", key: "a.key", password: sentinel)
      }
      var dumped = ""
      dump(CurlLoader(configuration), to: &dumped)
      dump(configuration.proxy, to: &dumped)
      dump(configuration.security, to: &dumped)

      #expect(!dumped.contains(sentinel) && !"\(configuration) \(configuration.proxy)".contains(sentinel))
      expectEqual("\(configuration.proxy)", "HTTP, proxy.example:80")
    }
  }
#endif
