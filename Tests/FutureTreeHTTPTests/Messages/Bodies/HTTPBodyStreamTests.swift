import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeTesting
import TestSupport
import Testing

@Suite("HTTPBodyStream") struct HTTPBodyStreamTests {
  private let clock = ManualClock()
  private let request: HTTPRequest
  private let stops = Locked(0)

  init() throws {
    request = try HTTPRequest("http://example.com/feed?key=secret")
  }

  private func makeStream(
    _ delivery: ResponseDelivery = .stream(bufferLimit: 8)
  ) -> (stream: HTTPBodyStream, writer: HTTPBodyWriter) {
    var request = request
    request.delivery = delivery
    let made = HTTPBodyStream.makeStream(for: request, clock: clock)
    made.writer.onStop { [stops] in stops.withLock { $0 += 1 } }
    return made
  }

  @Test("Chunks arrive in order, and the sequence ends when the body is whole")
  func whole() async throws {
    let (stream, writer) = makeStream()
    try writer.write(Data("a".utf8))
    try writer.write(Data("bc".utf8))
    expectEqual(stream.receivedCount, 3)
    #expect(!stream.transfer.isCompleted)

    writer.finish()

    expectEqual(stream.transfer.text, "success")
    try await expectEqual(stream.texts(), ["a", "bc"])
    expectEqual(clock.timerCount, 0)
    expectEqual(stops.value, 0)
  }

  @Test("A reader that is first waits for its bytes")
  func waits() async throws {
    let (stream, writer) = makeStream()
    let texts = Future.task { try await stream.texts() }
    while !writer.isAwaited { await Task.yield() }
    try writer.write(Data("a".utf8))
    writer.finish()

    try await expectEqual(texts.value, ["a"])
  }

  @Test("The bytes before an error are delivered, then the error, again and again")
  func failure() async throws {
    let (stream, writer) = makeStream()
    try writer.write(Data("a".utf8))
    writer.fail(HTTPError(.connectionLost, "The connection was closed. Load again."))
    var iterator = stream.makeAsyncIterator()

    try await expectEqual(iterator.next(), Data("a".utf8))
    for _ in 1...2 {
      let error = await #expect(throws: HTTPError.self) { try await iterator.next() }
      expectEqual(error?.code, .connectionLost)
    }
    #expect(stream.failure.hasPrefix("GET http://example.com/feed?…: The connection was closed."))
  }

  @Test("A stream is read once, and a buffered body any number of times")
  func oneReader() async throws {
    let (stream, writer) = makeStream()
    writer.finish()
    _ = try await stream.texts()
    let error = await #expect(throws: HTTPError.self) { try await stream.texts() }
    expectEqual(error?.code, .bodyAlreadyRead)

    let buffered = HTTPResponse(to: request, status: .ok, body: Data("whole".utf8))
    for _ in 1...2 { try await expectEqual(buffered.bodyStream.texts(), ["whole"]) }
    expectEqual(buffered.transfer.text, "success")
    #expect(try await HTTPResponse(to: request, status: .ok).bodyStream.texts().isEmpty)

    let file = try TemporaryFile("in a file")
    let inFile = HTTPResponse(to: request, status: .ok, content: .file(file.url, size: 9))
    for _ in 1...2 { try await expectEqual(inFile.bodyStream.texts(), ["in a file"]) }
  }

  @Test("The body of a stream is not in memory")
  func notInMemory() throws {
    let (stream, writer) = makeStream()
    let response = HTTPResponse(to: request, status: .ok, content: .stream(stream))
    try writer.write(Data("abc".utf8))

    let error = #expect(throws: HTTPError.self) { try response.body }
    expectEqual(error?.code, .bodyInStream)
    expectEqual(response.bodySize, 3)
    #expect("\(response)" == "GET http://example.com/feed?…: 200, a stream, 3 bytes received")
  }
}

// MARK: - Ending early

extension HTTPBodyStreamTests {
  @Test("Leaving the loop stops the transport, and the transfer completes when the transport confirms")
  func leaves() async throws {
    let (stream, writer) = makeStream()
    try writer.write(Data("a".utf8))
    for try await _ in stream { break }

    expectEqual(stops.value, 1)
    expectEqual(stream.transfer.cancelRequest?.reason.message, "the reader left the body")
    #expect(!stream.transfer.isCompleted)
    writer.fail(HTTPError(.connectionLost, "The connection was closed."))
    expectEqual(stream.transfer.text, "cancelled")
    expectEqual(clock.timerCount, 0)
  }

  @Test("A stream that is dropped unread stops the transport")
  func dropped() {
    let writer = makeStream().writer

    expectEqual(stops.value, 1)
    expectEqual(writer.transfer.cancelRequest?.options, .doNotForwardIfOthersWaiting)
  }

  @Test("While another consumer waits for the transfer, the rest of a body without a reader is discarded")
  func withheld() async throws {
    let (stream, writer) = makeStream()
    let other = stream.transfer.map { "whole" }
    _ = stream.makeAsyncIterator()

    for _ in 1...10 { try writer.write(Data(count: 8)) }
    expectEqual(stops.value, 0)
    writer.finish()
    expectEqual(other.text, "success")
  }

  @Test("A cancelled task stops reading at once, and the transport is stopped")
  func taskCancelled() async throws {
    let (stream, writer) = makeStream()
    let task = Task { try await stream.texts() }
    while !writer.isAwaited { await Task.yield() }
    task.cancel()

    await #expect(throws: CancellationError.self) { try await task.value }
    expectEqual(stops.value, 1)
    expectEqual(writer.transfer.cancelRequest?.reason.message, "the reading task was cancelled")
  }

  @Test("A task that is cancelled before it reads reads nothing")
  func cancelledBefore() async throws {
    let (stream, writer) = makeStream()
    try writer.write(Data("a".utf8))
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await stream.texts()
    }

    await #expect(throws: CancellationError.self) { try await task.value }
    expectEqual(stops.value, 1)
  }

  @Test("Cancelling the transfer discards unread bytes, and the reader gets the cancellation")
  func cancelled() async throws {
    let (stream, writer) = makeStream()
    try writer.write(Data("a".utf8))
    let receipt = stream.transfer.cancel(reason: "the user pressed Stop")
    expectEqual(receipt.effect, .delivered)
    expectEqual(stops.value, 1)
    try writer.write(Data("b".utf8))
    writer.finish()

    expectEqual(stream.transfer.text, "cancelled")
    let error = await #expect(throws: FutureCancelled.self) { try await stream.texts() }
    expectEqual(error?.reason.message, "the user pressed Stop")
  }

  @Test("A body that is whole before the transport reacts to a cancellation is kept")
  func raced() async throws {
    let (stream, writer) = makeStream()
    stream.transfer.cancel()
    writer.finish()

    expectEqual(stream.transfer.text, "success")
    #expect(try await stream.texts().isEmpty)
  }

  @Test("A forced transfer ends at once, and the transport is stopped")
  func forced() {
    let (stream, writer) = makeStream()
    stream.transfer.cancel(.forceImmediately)

    expectEqual(stream.transfer.text, "cancelled")
    expectEqual(stops.value, 1)
    #expect(!writer.finish())
  }

  @Test("A reader with another consumer's request under law 3 keeps its stream")
  func othersWaiting() async throws {
    let (stream, writer) = makeStream()
    expectEqual(stream.transfer.cancel(.doNotForwardIfOthersWaiting).effect, .withheld(by: 1))
    try writer.write(Data("a".utf8))
    writer.finish()

    try await expectEqual(stream.texts(), ["a"])
  }
}

// MARK: - Limits

extension HTTPBodyStreamTests {
  @Test("A body that nobody reads ends with the idle-read timeout")
  func unread() async throws {
    let (stream, writer) = makeStream(.stream())
    try writer.write(Data("a".utf8))
    clock.advance(by: .seconds(59))
    #expect(!stream.transfer.isCompleted)
    clock.advance(by: .seconds(1))

    #expect(stream.failure.contains("The stream was not read for 60 s."))
    expectEqual(stops.value, 1)
    expectEqual(clock.timerCount, 0)
    var iterator = stream.makeAsyncIterator()
    try await expectEqual(iterator.next(), Data("a".utf8))
    await #expect(throws: HTTPError.self) { try await iterator.next() }
  }

  @Test("Without an idle-read timeout no timer is set")
  func noTimeout() {
    let (stream, _) = makeStream(.stream(idleReadTimeout: nil))

    withExtendedLifetime(stream) { expectEqual(clock.timerCount, 0) }
  }

  @Test("More bytes than the buffer holds are an error, after the bytes before them")
  func overflow() async throws {
    let (stream, writer) = makeStream()
    try writer.write(Data("12345678".utf8))
    let error = #expect(throws: HTTPError.self) { try writer.write(Data("9".utf8)) }

    expectEqual(error?.code, .streamOverflow)
    expectEqual(stops.value, 1)
    var iterator = stream.makeAsyncIterator()
    try await expectEqual(iterator.next(), Data("12345678".utf8))
    let read = await #expect(throws: HTTPError.self) { try await iterator.next() }
    expectEqual(read?.code, .streamOverflow)
  }

  @Test("A writer that is dropped fails its transfer")
  func brokenWriter() {
    let stream = makeStream().stream

    #expect(stream.failure.contains("The transport was dropped before the body was complete."))
  }

  @Test("A writer is asked to stop when it says how, if the request was earlier")
  func lateStop() {
    let (stream, writer) = HTTPBodyStream.makeStream(for: request, clock: clock)
    stream.transfer.cancel()
    writer.onStop { [stops] in stops.withLock { $0 += 1 } }

    expectEqual(stops.value, 1)
  }

  @Test("There is room again when the reader has read, or needs no more")
  func room() async throws {
    let (stream, writer) = makeStream()
    #expect(writer.room().isCompleted)
    #expect(try !writer.write(Data(count: 4)))
    let room = writer.room()
    #expect(!room.isCompleted)

    let last = try await Self.readOne(of: stream) {
      expectEqual(room.text, "success")
      try writer.write(Data(count: 4))
      let last = writer.room()
      #expect(!last.isCompleted)
      return last
    }
    expectEqual(last.text, "success")
  }

  /// Reads a chunk, runs the body, and drops the iterator. A release build keeps a variable that is set to `nil` until the
  /// end of its scope, so the scope ends here.
  private static func readOne<Result>(of stream: HTTPBodyStream, then body: () throws -> Result) async throws -> Result
  {
    var iterator = stream.makeAsyncIterator()
    _ = try await iterator.next()
    return try withExtendedLifetime(iterator) { try body() }
  }
}

extension HTTPBodyStream {
  /// The message of the error with which the transfer failed.
  fileprivate var failure: String {
    if case .failure(let error as HTTPError)? = transfer.outcomeIfCompleted { error.message } else { transfer.text }
  }
}
