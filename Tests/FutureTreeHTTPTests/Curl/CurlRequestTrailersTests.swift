#if os(Linux)
  import Foundation
  import FutureTree
  import FutureTreeHTTP
  import FutureTreeHTTPTesting
  import FutureTreeTesting
  import HTTPTestSupport
  import TestSupport
  import Testing

  @Suite("CurlLoader: trailers of requests", .onSockets) struct CurlRequestTrailersTests {
    private let server: LoopbackServer
    private let loader = CurlLoader(.patient, clock: ManualClock())

    init() throws {
      server = try Loopback.server()
    }

    private func request(_ body: HTTPBody) throws -> HTTPRequest {
      var request = try HTTPRequest(.put, server.url("/"))
      request.body = body
      request.trailers = try .counting()
      return request
    }

    private func received(_ index: Int = 0) throws -> LoopbackRequest {
      try #require(server.requests.dropFirst(index).first)
    }

    @Test("Bytes, files and streams are followed by the fields of their bytes, in chunks", arguments: [0, 1, 200_000])
    func bodies(size: Int) async throws {
      server.on("/", .respond())
      let folder = try Folder()
      let text = String(repeating: "a", count: size)
      let data = Data(text.utf8)
      let file = folder.file("body")
      try data.write(to: file)
      let bodies: [HTTPBody] = [
        .data(data), .file(file), .stream(length: size) { HTTPBodyReader(InputStream(data: data)) },
        .asyncStream {
          AsyncStream<Data> { stream in
            stream.yield(data)
            stream.finish()
          }
        },
      ]
      for (index, body) in bodies.enumerated() {
        _ = try await loader.load(request(body)).value
        let received = try received(index)
        expectEqual(received.text.utf8.count, size)
        expectEqual(received.trailers.map { "\($0.name): \($0.value)" }, ["X-Count: \(size)"])
        expectEqual(received.values(for: "Trailer"), ["X-Count, X-Sum"])
        expectEqual(received.values(for: "Transfer-Encoding"), ["chunked"])
        expectEqual(received.values(for: "Content-Length"), [])
      }
      withExtendedLifetime(folder) {}
    }

    @Test("A request without a body announces nothing")
    func none() async throws {
      server.on("/", .respond())
      _ = try await loader.load(request(.empty)).value
      expectEqual(try received().values(for: "Trailer"), [])
      expectEqual(try received().trailers.count, 0)
    }

    @Test("A request that is sent again has the fields of that sending")
    func again() async throws {
      server.on("/", .respond(status: 503), .respond())
      let api = Retry(.immediately(attempts: 2)) --> loader
      expectEqual(try await api.load(request(.data(Data("film".utf8)))).value.status, .ok)
      for index in 0...1 { expectEqual(try received(index).trailers.map(\.value), ["4"]) }
    }

    @Test("A body that waits for consent is followed by its fields")
    func consent() async throws {
      server.on("/", .respond())
      var request = try request(.data(Data("film".utf8)))
      request.expectsContinue = true
      _ = try await loader.load(request).value
      expectEqual(try received().values(for: "Expect"), ["100-continue"])
      expectEqual(try received().trailers.map(\.value), ["4"])
    }

    @Test("A compressed body has the fields of its compressed bytes")
    func compressed() async throws {
      server.on("/", .respond())
      let text = String(repeating: "a", count: 100_000)
      _ = try await (CompressBodies() --> loader).load(request(.data(Data(text.utf8)))).value
      let received = try received()
      expectEqual(received.values(for: "Content-Encoding"), ["gzip"])
      #expect(received.body.count < 1_000)
      expectEqual(received.trailers.map(\.value), ["\(received.body.count)"])
    }

    @Test(
      "If the fields cannot be computed, are not valid or were not announced, the load fails, and the request does not end"
    )
    func faults() async throws {
      server.on("/", .respond())
      struct Oops: Error {}
      let faults: [(HTTPError.Code, @Sendable () throws -> NameValuePairs<String>)] = [
        (.unreadableBody, { throw Oops() }), (.timedOut, { throw HTTPError(.timedOut, "Load again.") }),
        (.forbiddenHeader, { ["X-Other": "1"] }), (.invalidHeaderValue, { ["X-Sum": "1\r\nX: 2"] }),
      ]
      for (code, fields) in faults {
        var request = try request(.data(Data("film".utf8)))
        request.trailers = try RequestTrailers(["X-Sum"], from: ()) { _, _ in
        } fields: { _ in
          try fields()
        }
        let error = await #expect(throws: HTTPError.self) { try await loader.load(request).value }
        expectEqual(error?.code, code)
      }
      // The server has a connection for each request, and no whole request.
      _ = try await loader.load(HTTPRequest(server.url("/"))).value
      expectEqual(server.requests.filter { $0.progress == .complete }.map(\.method), ["GET"])
    }

    @Test("A cancelled upload computes no fields")
    func cancelled() async throws {
      let gate = LoopbackGate()
      server.on("/", beginning: .headComplete, .respond().held(by: gate))
      let (chunks, source) = AsyncStream.makeStream(of: Data.self)
      let computed = Locked(false)
      var request = try request(.asyncStream(isReplayable: false) { chunks })
      request.trailers = try RequestTrailers(["X-Sum"], from: ()) { _, _ in
      } fields: { _ in
        computed.value = true
        return [:]
      }
      let load = loader.load(request)
      source.yield(Data(count: 10))
      _ = try await gate.waitForHolders().value
      load.cancel()
      await expectEqual(load.outcome.text, "cancelled")
      source.finish()
      #expect(!computed.value)
    }
  }
#endif
