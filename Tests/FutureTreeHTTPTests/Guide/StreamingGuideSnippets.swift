import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

/// The code of the article *Streaming*, word for word. `HTTPGuideTests` compares the two.
@Suite("Guide: Streaming", .onSockets, .timeLimit(.minutes(60)))
struct StreamingGuideSnippets {
  private let server: LoopbackServer
  private let api: any HTTPLoader

  init() throws {
    server = try Loopback.server()
    let environment = try ServerEnvironment(scheme: .http, host: "127.0.0.1", port: UInt16(server.port))
    api = ApplyEnvironment(environment) --> URLSessionLoader(.patient)
  }

  @Test("A body is written while it arrives")
  func read() async throws {
    server.on("/films/7", .respond(body: "a film"))
    let id = 7
    let folder = try Folder()
    let url = try folder.write("", to: "film")
    let file = try FileHandle(forWritingTo: url)

    // guide read
    let response = try await api.stream("films/\(id)").value  // The head has arrived.
    for try await chunk in response.bodyStream {
      try file.write(contentsOf: chunk)
    }
    // end

    #expect(folder.text(of: "film") == "a film")
    #expect(response.transfer.isCompleted)
  }

  @Test("A body is resumed")
  func resume() async throws {
    let head = "HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nContent-Length: 6\r\n\r\na f"
    let part = [("Content-Range", "bytes 3-5/6"), ("ETag", "\"v1\"")]
    server.on("/films/7", [.send(head), .close], .respond(status: 206, headers: part, body: "ilm"))
    let (transport, id) = (api, 7)
    let folder = try Folder()
    let file = try FileHandle(forWritingTo: folder.write("", to: "film"))

    // guide resume
    let api = Autocancel() --> Resume() --> Timeout(idle: .seconds(30)) --> transport

    let response = try await api.stream("films/\(id)").value
    for try await chunk in response.bodyStream {
      try file.write(contentsOf: chunk)  // One body, from as many connections as it needs.
    }
    // end

    #expect(folder.text(of: "film") == "a film")
    #expect(server.requests.map { $0.values(for: "Range").first } == [nil, "bytes=3-"])
  }

  private final class Button: Sendable {
    private let closure = Locked<(@Sendable () -> Void)?>(nil)

    var action: (@Sendable () -> Void)? {
      get { closure.value }
      set { closure.value = newValue }
    }
  }

  @Test("A button stops a body")
  func stop() async throws {
    server.on("/radio", [.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nmusic"), .stall])
    let stopButton = Button()

    // guide stop
    let response = try await api.stream("radio").value
    stopButton.action = { response.transfer.cancel(reason: "the user pressed Stop") }
    // end

    stopButton.action?()
    #expect(await response.transfer.outcome.text == "cancelled")
    _ = try await server.waitForClose(of: "/radio").value
  }

  private final class Gauge: Sendable {
    private let count = Locked(0)

    var value: Int { count.value }

    func increment() { count.withLock { $0 += 1 } }

    func decrement() { count.withLock { $0 -= 1 } }
  }

  private struct Gauging: HTTPLayer {
    let gauge: Gauge

    // guide layer
    func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
      gauge.increment()
      let future = next.load(request)
      future.observeTransfer { [gauge] _, _ in gauge.decrement() }
      return future
    }
    // end
  }

  @Test("A layer frees what it holds when the transfer has completed")
  func layer() async throws {
    let gate = LoopbackGate()
    server.on("/held", .steps([.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na"), .hold(gate), .send("b")]))
    let gauge = Gauge()
    let response = try await (Gauging(gauge: gauge) --> api).stream("held").value
    #expect(gauge.value == 1)

    gate.open()
    #expect(try await response.bodyStream.texts().joined() == "ab")
    #expect(gauge.value == 0)
    await #expect(throws: HTTPError.self) { try await (Gauging(gauge: gauge) --> api).get("missing").value }
    #expect(gauge.value == 0)
  }

  private struct Connection: Sendable {
    let bytes: AsyncStream<Data>
    let close: @Sendable () -> Void
  }

  @Test("A transport fills a stream")
  func transport() async throws {
    let (bytes, source) = AsyncStream<Data>.makeStream()
    let connection = Connection(bytes: bytes, close: { source.finish() })
    for text in ["a", "b"] { source.yield(Data(text.utf8)) }
    source.finish()
    let (request, promise) = (anyRequest(), Promise<HTTPResponse>())
    let reading = promise.future.asyncMap { try await $0.bodyStream.texts() }

    // guide transport
    let (stream, writer) = HTTPBodyStream.makeStream(for: request)
    writer.onStop { connection.close() }
    promise.succeed(HTTPResponse(to: request, status: .ok, content: .stream(stream)))
    for try await bytes in connection.bytes {
      if try !writer.write(bytes) { try await writer.room().value }
    }
    writer.finish()
    // end

    #expect(try await reading.value == ["a", "b"])
  }
}
