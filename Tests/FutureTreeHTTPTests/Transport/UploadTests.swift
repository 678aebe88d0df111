import Dispatch
import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("URLSessionLoader, uploads", .onSockets) struct UploadTests {
  private let server: LoopbackServer
  private let loader = URLSessionLoader(.patient)
  private let folder: Folder

  init() throws {
    server = try Loopback.server()
    folder = try Folder()
    server.on("/upload", .respond(status: 201))
  }

  private func send(_ body: HTTPBody, by method: HTTPMethod = .put) throws -> Future<HTTPResponse> {
    var request = HTTPRequest(method, try HTTPURL(server.url("/upload")))
    request.body = body
    return loader.load(request)
  }

  /// Yields `text` in pieces of `size` bytes.
  private static func reader(_ text: String, pieces size: Int = 3) -> HTTPBodyReader {
    var rest = Array(text.utf8)[...]
    return HTTPBodyReader { maximum in
      defer { rest = rest.dropFirst(min(size, maximum)) }
      return Data(rest.prefix(min(size, maximum)))
    }
  }

  @Test("A file is sent whole, with its length and its type")
  func file() async throws {
    let text = String(repeating: "0123456789", count: 100_000)
    let url = try folder.write(text, to: "body.txt")

    _ = try await send(.file(url, contentType: "text/plain")).value

    let received = try #require(server.requests.first)
    expectEqual(received.text, text)
    expectEqual(received.values(for: "content-length"), ["1000000"])
    expectEqual(received.values(for: "transfer-encoding"), [])
    expectEqual(received.values(for: "expect"), [])
    expectEqual(received.values(for: "content-type"), ["text/plain"])
  }

  @Test("A stream of a known length is sent with that length, whatever the size of its pieces")
  func stream() async throws {
    _ = try await send(.stream(length: 10) { Self.reader("0123456789") }).value

    let received = try #require(server.requests.first)
    expectEqual(received.text, "0123456789")
    expectEqual(received.values(for: "content-length"), ["10"])
    expectEqual(received.values(for: "transfer-encoding"), [])
  }

  @Test("A stream of an unknown length is sent in chunks, to its end")
  func chunks() async throws {
    _ = try await send(.stream { Self.reader("0123456789") }).value

    let received = try #require(server.requests.first)
    expectEqual(received.text, "0123456789")
    expectEqual(received.values(for: "content-length"), [])
    expectEqual(received.values(for: "transfer-encoding"), ["chunked"])
  }

  @Test("Empty bodies are sent with the length 0")
  func noBytes() async throws {
    let empty = try folder.write("", to: "empty")

    for body in [HTTPBody.data(Data()), .file(empty), .stream(length: 0) { Self.reader("") }] {
      _ = try await send(body).value
    }

    expectEqual(server.requests.map { $0.values(for: "content-length") }, [["0"], ["0"], ["0"]])
  }

  @Test("A stream with fewer or more bytes than announced fails, and the server gets no whole request")
  func wrongLength() async throws {
    for text in ["012345678", "0123456789A"] {
      try await expectEqual(send(.stream(length: 10) { Self.reader(text) }).outcome.code, .wrongBodyLength)
    }
    _ = await server.waitUntilAllClosed(count: 2).outcome
    #expect(!server.record.hasRequest(to: "/upload"))
  }

  @Test("A negative length is refused before anything is sent")
  func negativeLength() async throws {
    let body = HTTPBody.stream(length: -5) { Self.reader("") }

    try await expectEqual(send(body).outcome.code, .wrongBodyLength)
    #expect(throws: HTTPError.self) { try body.makeReader() }
    expectEqual(server.connectionCount, 0)
  }

  @Test("A missing file or a directory fails before anything is sent")
  func noFile() async throws {
    try await expectEqual(send(.file(folder.file("missing"))).outcome.code, .unreadableBody)
    try await expectEqual(send(.file(folder.url)).outcome.code, .unreadableBody)
    expectEqual(server.connectionCount, 0)
  }

  /// The first bytes are sent, and the others are held until the file has changed.
  @Test(
    "A file that changes its size while it is sent fails, and the server gets no whole request",
    arguments: [1_000_000, 30_000_000])
  func changing(size: UInt64) async throws {
    let url = try folder.write("", to: "body")
    let file = try FileHandle(forWritingTo: url)
    try file.truncate(atOffset: 20_000_000)
    let gate = LoopbackGate()
    server.on("/upload", beginning: .headComplete, [.stopReading, .hold(gate), .respond()])

    let future = try send(.file(url))
    _ = try await gate.waitForHolders().value
    try file.truncate(atOffset: size)
    gate.open()

    await expectEqual(future.outcome.code, .wrongBodyLength)
    #expect(!server.record.hasRequest(to: "/upload"))
  }

  @Test("A file that is removed or resized before its upload begins fails")
  func changesBeforeItsTurn() async throws {
    let loader = URLSessionLoader(.init(timeout: nil, maximumConnectionsPerHost: 1))
    let gate = LoopbackGate()
    server.on("/held", [.hold(gate), .respond()])
    let first = loader.load(try HTTPRequest(server.url("/held")))
    _ = try await gate.waitForHolders().value
    let urls = [try folder.write("01234", to: "vanishes"), try folder.write("01234", to: "grows")]
    let later = try urls.map { url in
      var request = try HTTPRequest(.put, server.url("/upload"))
      request.body = .file(url)
      return loader.load(request)
    }

    try FileManager.default.removeItem(at: urls[0])
    try Data("0123456".utf8).write(to: urls[1])
    gate.open()

    _ = try await first.value
    await expectEqual(later[0].outcome.code, .unreadableBody)
    await expectEqual(later[1].outcome.code, .wrongBodyLength)
    #expect(!server.record.hasRequest(to: "/upload"))
  }

  @Test("An error of a stream fails the request, when it is opened or read")
  func throwing() async throws {
    struct Broken: Error {}
    let opening = HTTPBody.stream(length: 10) { throw Broken() }
    let reading = HTTPBody.stream {
      var isFirst = true
      return HTTPBodyReader { _ in
        guard isFirst else { throw Broken() }
        isFirst = false
        return Data("01".utf8)
      }
    }

    for body in [opening, reading] {
      guard case .failure(let error as HTTPError) = try await send(body).outcome else {
        Issue.record("The upload did not fail.")
        continue
      }
      expectEqual(error.code, .unreadableBody)
      #expect(error.underlying is Broken)
    }
    #expect(!server.record.hasRequest(to: "/upload"))
  }

  /// The platform ends the process when it is called on its thread that reads bodies.
  @Test("A load can begin in a callback about an unreadable body, and in the source of a body")
  func loadsWhereBodiesAreRead() async throws {
    struct Broken: Error {}
    let next = try HTTPRequest(.put, server.url("/upload"))
    let inner = Locked<Future<HTTPResponse>?>(nil)
    let loading = HTTPBody.stream(length: 10) { [loader] in
      inner.value = loader.load(next)
      return Self.reader("0123456789")
    }

    let recovered = try send(.stream { HTTPBodyReader { _ in throw Broken() } }).recoverWith { [loader] _ in
      loader.load(next)
    }
    let outer = try send(loading)

    try await expectEqual(recovered.value.status, .created)
    try await expectEqual(outer.value.status, .created)
    try await expectEqual(inner.value?.value.status, .created)
  }

  @Test("A blocking source delays no call of a loader, no deadline and no force", .timeLimit(.minutes(20)))
  func blocking() async throws {
    let clock = ManualClock()
    let loaders = [URLSessionLoader(clock: clock), URLSessionLoader(clock: clock)]
    let entered = Promise<Void>()
    let release = DispatchSemaphore(value: 0)
    var request = try HTTPRequest(.put, server.url("/upload"))
    request.body = .stream(length: 10) {
      entered.succeed(())
      release.wait()
      return Self.reader("0123456789")
    }
    let plain = try HTTPRequest(.put, server.url("/upload"))
    let blocked = loaders[0].load(request)
    _ = await entered.future.outcome

    let others = loaders.map { $0.load(plain) }
    others[0].cancel(.forceImmediately)
    clock.advance(by: .seconds(60))

    expectEqual(others[0].outcomeIfCompleted?.ending, .cancelled)
    expectEqual(blocked.outcomeIfCompleted?.code, .timedOut)
    expectEqual(others[1].outcomeIfCompleted?.code, .timedOut)
    release.signal()
    for loader in loaders { try await loader.reset().value }
    expectEqual(loaders.map(\.liveCount), [0, 0])
  }

  @Test("A stream is read as fast as the peer receives it, and no longer once cancelled")
  func pulled() async throws {
    let gate = LoopbackGate()
    let pulled = Locked(0)
    server.on("/upload", beginning: .headComplete, [.stopReading, .hold(gate)])
    let body = HTTPBody.stream(length: 1 << 30) {
      HTTPBodyReader { maximum in
        pulled.withLock { $0 += maximum }
        return Data(count: maximum)
      }
    }
    let future = try send(body)
    _ = try await gate.waitForHolders().value

    future.cancel()

    await expectEqual(future.outcome.ending, .cancelled)
    #expect(pulled.value < 1 << 27)
  }

  /// The platform repeats a request when the peer closes a reused connection without a response.
  @Test("An idempotent request is repeated with its whole body, if the body can be replayed")
  func replayed() async throws {
    server.on("/upload", .respond(), .close, .respond(status: 201))
    let opened = Locked(0)
    let body = HTTPBody.stream(length: 10) {
      opened.withLock { $0 += 1 }
      return Self.reader("0123456789")
    }
    _ = try await send(.data(Data("warm".utf8))).value

    let response = try await send(body).value

    expectEqual(response.status, .created)
    expectEqual(opened.value, 2)
    expectEqual(server.requests.map(\.text), ["warm", "0123456789", "0123456789"])
  }

  @Test("A POST and a body that can be sent only once are not repeated")
  func notReplayed() async throws {
    for (method, isReplayable, code) in [
      (HTTPMethod.post, true, HTTPError.Code.connectionLost), (.put, false, .bodyNotReplayable),
    ] {
      server.on("/upload", .respond(), .close, .respond(status: 201))
      let before = server.record.requestCount(to: "/upload")
      _ = try await send(.data(Data("warm".utf8))).value

      let body = HTTPBody.stream(length: 10, isReplayable: isReplayable) { Self.reader("0123456789") }
      try await expectEqual(send(body, by: method).outcome.code, code)
      expectEqual(server.record.requestCount(to: "/upload"), before + 2)
    }
  }

  @Test("An early response to an upload is the response or an error, and the load always completes")
  func earlyAnswer() async throws {
    server.on("/upload", beginning: .headComplete, [.stopReading, .respond(status: 413), .close])

    let outcome = try await send(.stream(length: 1 << 26) { HTTPBodyReader { Data(count: $0) } }).outcome

    if case .success(let response) = outcome { expectEqual(response.status.code, 413) }
    #expect(outcome.ending != .cancelled)
  }
}
