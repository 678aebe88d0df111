import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("URLSessionLoader, uploads from asynchronous sources", .onSockets) struct AsyncUploadTests {
  private let server: LoopbackServer
  private let clock = ManualClock()
  private let loader: URLSessionLoader

  init() throws {
    server = try Loopback.server()
    loader = URLSessionLoader(.init(timeout: .seconds(60), idleTimeout: .seconds(30)), clock: clock)
    server.on("/upload", .respond(status: 201))
  }

  private func request(_ body: HTTPBody, to path: String = "/upload") throws -> HTTPRequest {
    var request = HTTPRequest(.put, try HTTPURL(server.url(path)))
    request.body = body
    return request
  }

  private func send(_ body: HTTPBody) throws -> Future<HTTPResponse> { loader.load(try request(body)) }

  @Test("A body arrives whole, whatever the size of its chunks")
  func whole() async throws {
    let chunks = [1, 300_000, 0, 17, 65_536].enumerated().map { Data(repeating: UInt8($0), count: $1) }
    let bytes = chunks.reduce(Data(), +)

    _ = try await send(.asyncStream(length: bytes.count) { RecordedChunks(chunks) }).value
    _ = try await send(.asyncStream { RecordedChunks(chunks) }).value

    expectEqual(server.requests.map { Data($0.body) }, [bytes, bytes])
    expectEqual(server.requests.map { $0.values(for: "content-length") }, [["\(bytes.count)"], []])
    expectEqual(server.requests.map { $0.values(for: "transfer-encoding") }, [[], ["chunked"]])
  }

  enum End: CaseIterable {
    case cancel, force, deadline, idleTime, reset
  }

  @Test("The end of a load ends the wait for its source, whatever the cause", arguments: End.allCases)
  func ends(_ end: End) async throws {
    let (source, sent) = (RecordedChunks("01", then: .never), Promise<Void>())
    var request = try request(.asyncStream { source })
    request.progress = { if $0.sent.completed == 2 { sent.succeed() } }
    let load = loader.load(request)
    _ = await source.waits.future.outcome
    _ = await sent.future.outcome  // A report while the clock advances would begin the idle time again.

    switch end {
    case .cancel: load.cancel()
    case .force: load.cancel(.forceImmediately)
    case .deadline: clock.advance(by: .seconds(60))
    case .idleTime: clock.advance(by: .seconds(30))
    case .reset: try await loader.reset().value
    }

    await expectEqual(load.outcome.text, end == .deadline || end == .idleTime ? "timedOut" : "cancelled")
    await expectEqual(source.released.future.outcome.ending, .succeeded)
    #expect(source.cancelled.future.isCompleted)
    _ = try await server.waitUntilAllClosed().value
    #expect(!server.record.hasRequest(to: "/upload"))
    try await expectEqual(send(.data(Data("next".utf8))).value.status, .created)
  }

  @Test("A load that is cancelled before its source is opened does not wait for it")
  func cancelledEarly() async throws {
    let source = RecordedChunks(then: .never)
    let load = Locked<Future<HTTPResponse>?>(nil)
    let body = HTTPBody.asyncStream {
      load.value?.cancel()
      return source
    }
    let gate = LoopbackGate()
    server.on("/held", [.hold(gate), .respond()])
    let narrow = URLSessionLoader(.init(timeout: nil, maximumConnectionsPerHost: 1))
    let first = narrow.load(try HTTPRequest(server.url("/held")))
    _ = try await gate.waitForHolders().value
    load.value = narrow.load(try request(body))

    gate.open()

    _ = try await first.value
    await expectEqual(load.value?.outcome.ending, .cancelled)
    #expect(!server.record.hasRequest(to: "/upload"))
  }

  @Test("An error of a source fails the load, and the server gets no whole request")
  func fails() async throws {
    for source in [RecordedChunks("01", then: .error(Oops())), RecordedChunks(then: .error(Oops()))] {
      guard case .failure(let error as HTTPError) = try await send(.asyncStream { source }).outcome else {
        Issue.record("The upload did not fail.")
        continue
      }
      expectEqual(error.code, .unreadableBody)
      #expect(error.underlying is Oops)
    }
    for length in [1, 3] {
      let body = HTTPBody.asyncStream(length: length) { RecordedChunks("01") }
      try await expectEqual(send(body).outcome.code, .wrongBodyLength)
    }
    _ = try await server.waitUntilAllClosed().value
    #expect(!server.record.hasRequest(to: "/upload"))
  }

  @Test("A redirect and a retry send a replayable body again")
  func sentAgain() async throws {
    server.on("/old", .respond(status: 307, headers: [("Location", "/upload")]))
    server.on("/upload", .respond(status: 503), .respond(status: 201))
    let api = Redirect() --> Retry(.immediately(attempts: 2)) --> loader
    let opened = Locked(0)
    let body = HTTPBody.asyncStream {
      opened.withLock { $0 += 1 }
      return RecordedChunks("012", "345")
    }

    try await expectEqual(api.load(try request(body, to: "/old")).value.status, .created)
    expectEqual(opened.value, 3)
    expectEqual(server.requests.map(\.text), ["012345", "012345", "012345"])
  }

  @Test("A reused connection that was closed gets the body again")
  func replayed() async throws {
    server.on("/upload", .respond(), .close, .respond(status: 201))
    _ = try await send(.data(Data("warm".utf8))).value

    let response = try await send(.asyncStream(length: 6) { RecordedChunks("012", "345") }).value

    expectEqual(response.status, .created)
    expectEqual(server.requests.map(\.text), ["warm", "012345", "012345"])
  }

  @Test("An early response releases the source")
  func earlyResponse() async throws {
    let gate = LoopbackGate()
    server.on("/upload", beginning: .headComplete, [.stopReading, .hold(gate), .respond(status: 413), .close])
    let source = RecordedChunks(Array(repeating: Data(count: 1 << 20), count: 1 << 10))
    let load = try send(.asyncStream { source })
    _ = await source.begun.future.outcome

    gate.open()

    #expect(await load.outcome.ending != .cancelled)

    await expectEqual(source.released.future.outcome.ending, .succeeded)
    #expect(source.requests.value < 1 << 10)
  }

  @Test("A source is read as fast as the peer receives it")
  func paused() async throws {
    let gate = LoopbackGate()
    server.on("/upload", beginning: .headComplete, [.stopReading, .hold(gate)])
    let source = RecordedChunks(Array(repeating: Data(count: 1 << 20), count: 1 << 10))
    let load = try send(.asyncStream { source })
    _ = try await gate.waitForHolders().value
    _ = await source.begun.future.outcome

    load.cancel()

    await expectEqual(load.outcome.ending, .cancelled)
    #expect(source.requests.value < 1 << 7)
    await expectEqual(source.released.future.outcome.ending, .succeeded)
  }
}
