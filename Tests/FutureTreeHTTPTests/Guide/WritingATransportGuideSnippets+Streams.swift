import Foundation
import FutureTree
import FutureTreeHTTP
import HTTPTestSupport
import TestSupport
import Testing

/// A connection whose head has arrived.
private struct Connection: Sendable {
  let status: HTTPStatus
  let bytes: RecordedChunks
}

/// Loads every request over the same connection.
private struct StreamingLoader: HTTPLoader {
  let connection: Connection
  private let live = LiveLoads()

  init(_ bytes: RecordedChunks, status: HTTPStatus = .ok) {
    connection = Connection(status: status, bytes: bytes)
  }

  func load(_ request: HTTPRequest) -> Future<HTTPResponse> {
    live.track(Future.task { try await respond(to: request, over: connection) })
  }

  func drain(_ notes: ResetNotes) -> Future<Void> { live.drain(notes) }

  func reset() -> Future<Void> { live.drain() }

  private func buffer(_ connection: Connection, for request: HTTPRequest) async throws -> HTTPResponse {
    var body = Data()
    for try await bytes in connection.bytes { body += bytes }
    return HTTPResponse(to: request, status: connection.status, body: body)
  }

  // guide stream
  func respond(to request: HTTPRequest, over connection: Connection) async throws -> HTTPResponse {
    guard request.delivery.isStream, connection.status.isSuccess else {
      return try await buffer(connection, for: request)
    }
    let (stream, writer) = HTTPBodyStream.makeStream(for: request)
    let filling = Task { await fill(writer, from: connection) }
    writer.onStop { filling.cancel() }
    return HTTPResponse(to: request, status: connection.status, content: .stream(stream))
  }

  func fill(_ writer: HTTPBodyWriter, from connection: Connection) async {
    do {
      for try await bytes in connection.bytes {
        if try !writer.write(bytes) { try await writer.room().value }
      }
      try Task.checkCancellation()  // The bytes end early, without an error, in a cancelled task.
      writer.finish()
    } catch {
      writer.fail(error)
    }
  }
  // end
}

/// The code of the article *Writing a transport* on streams, and tests of its guarantees.
@Suite("Guide: Writing a transport, streams", .timeLimit(.minutes(20)))
struct WritingATransportStreamsGuideSnippets {
  private func load(_ loader: StreamingLoader, bufferLimit: Int = 100) -> Future<HTTPResponse> {
    loader.stream {
      var request = anyRequest("/feed")
      request.delivery = .stream(bufferLimit: bufferLimit)
      return request
    }
  }

  @Test("A stream delivers the whole body, or the error that cut it")
  func delivered() async throws {
    let whole = try await load(StreamingLoader(RecordedChunks("a", "b"))).value
    let cut = try await load(StreamingLoader(RecordedChunks("a", then: .error(Oops())))).value

    #expect(try await whole.bodyStream.texts() == ["a", "b"])
    await #expect(throws: Oops.self) { try await cut.bodyStream.texts() }
    #expect(await cut.transfer.outcome.ending == .failed)
  }

  @Test("A response with an error status, and a buffered one, have a whole body")
  func buffered() async throws {
    let missing = try await load(StreamingLoader(RecordedChunks("no", "ne"), status: .notFound)).value
    let plain = try await StreamingLoader(RecordedChunks("a", "b")).load(anyRequest("/feed")).value

    #expect(try missing.body == Data("none".utf8) && plain.body == Data("ab".utf8))
  }

  @Test("The transport pauses until the reader has read")
  func pauses() async throws {
    let source = RecordedChunks("ab", "cd", "ef")
    let response = try await load(StreamingLoader(source), bufferLimit: 2).value

    #expect(try await response.bodyStream.texts() == ["ab", "cd", "ef"])
    #expect(try await response.transfer.value == ())
  }

  @Test("A cancelled transfer completes when the transport has stopped (H5, confirmed cancellation)")
  func cancelled() async throws {
    let source = RecordedChunks("a", then: .never)
    let response = try await load(StreamingLoader(source)).value
    try await source.waits.future.value

    response.transfer.cancel()

    #expect(await response.transfer.outcome.ending == .cancelled)
    #expect(source.cancelled.future.isCompleted)
  }

  @Test("A stream stops when its caller drops it, because the transport does not keep it")
  func dropped() async throws {
    let source = RecordedChunks(then: .never)
    _ = try await load(StreamingLoader(source)).value

    try await source.cancelled.future.value
    try await source.released.future.value
  }

  @Test("A reset cancels and awaits streams")
  func reset() async throws {
    let source = RecordedChunks(then: .never)
    let loader = StreamingLoader(source)
    let response = try await load(loader).value

    try await loader.reset().value

    #expect(response.transfer.text == "cancelled" && source.cancelled.future.isCompleted)
  }
}
