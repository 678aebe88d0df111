import Foundation
import FutureTree
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTP

@Suite("Bodies from asynchronous sources") struct AsyncBodyTests {
  @TaskLocal private static var mark = "none"

  private func chunks(of body: HTTPBody, upTo maximum: Int = 4) async throws -> [String] {
    var chunks: [String] = []
    for try await chunk in body.chunks(upTo: maximum) { chunks.append(String(decoding: chunk, as: UTF8.self)) }
    return chunks
  }

  /// Reads the body as a transport with threads does.
  private func pieces(of body: HTTPBody, upTo maximum: Int = 4) async throws -> [String] {
    try await onThread { try body.pieces(of: maximum).map { String(decoding: $0, as: UTF8.self) } }
  }

  @Test("Large chunks are divided and empty chunks are skipped", arguments: [nil, 9])
  func divided(length: Int?) async throws {
    let body = HTTPBody.asyncStream(length: length) { RecordedChunks("", "012345", "", "6", "78", "") }

    try await expectEqual(chunks(of: body), ["0123", "45", "6", "78"])
    try await expectEqual(pieces(of: body), ["0123", "45", "6", "78"])
  }

  @Test("Sequences that cannot fail, and data with any first index, are sources")
  func kinds() async throws {
    let stream = AsyncStream { continuation in
      continuation.yield(Data("xab".utf8).dropFirst())
      continuation.finish()
    }
    let body = HTTPBody.asyncStream(isReplayable: false, contentType: "text/plain") { stream }

    var iterator = body.chunks().makeAsyncIterator()
    let chunk = try #require(try await iterator.next())

    expectEqual(chunk.startIndex, 0)
    expectEqual(chunk, Data("ab".utf8))
    #expect(!body.isReplayable)
    expectEqual(body.contentType, "text/plain")
    #expect(body.contentLength == nil)
  }

  @Test("The loop requests a chunk when all bytes of the chunk before it were read")
  func onDemand() async throws {
    let source = RecordedChunks("abcd", "e")
    var iterator = HTTPBody.asyncStream { source }.chunks(upTo: 2).makeAsyncIterator()

    var requests: [Int] = []
    while try await iterator.next() != nil { requests.append(source.requests.value) }

    expectEqual(requests, [1, 1, 2])
  }

  @Test("The loop iterates the source in its own task, and releases it at the end")
  func ownTask() async throws {
    let (source, marks) = (RecordedChunks("a"), Locked<[String]>([]))
    let body = HTTPBody.asyncStream {
      source.map { chunk in
        marks.withLock { $0.append(Self.mark) }
        return chunk
      }
    }

    let read = try await Self.$mark.withValue("loop") { try await chunks(of: body) }

    expectEqual(read, ["a"])
    expectEqual(marks.value, ["loop"])
    #expect(source.released.future.isCompleted)
  }

  @Test("Fewer or more bytes than announced are an error, and the last bytes are not delivered", arguments: [2, 4])
  func wrongLength(length: Int) async throws {
    let body = HTTPBody.asyncStream(length: length) { RecordedChunks("ab", "c") }
    var read = ""

    let error = await #expect(throws: HTTPError.self) {
      for try await chunk in body.chunks() { read += String(decoding: chunk, as: UTF8.self) }
    }
    let blocking = await #expect(throws: HTTPError.self) { try await pieces(of: body) }

    expectEqual(error?.code, .wrongBodyLength)
    expectEqual(blocking?.code, .wrongBodyLength)
    #expect(read.count < length)
  }

  @Test("An error of the source is the underlying error, and an `HTTPError` stays as it is")
  func failures() async throws {
    let known = HTTPError(.timedOut, "The source timed out.")
    let bodies: [(HTTPBody, HTTPError.Code)] = [
      (.asyncStream { () throws -> RecordedChunks in throw Oops() }, .unreadableBody),
      (.asyncStream { RecordedChunks("a", then: .error(Oops())) }, .unreadableBody),
      (.asyncStream { RecordedChunks("a", then: .error(CancellationError())) }, .unreadableBody),
      (.asyncStream { RecordedChunks("a", then: .error(known)) }, .timedOut),
      (.asyncStream(length: -1) { RecordedChunks() }, .wrongBodyLength),
    ]

    for (body, code) in bodies {
      let error = await #expect(throws: HTTPError.self) { try await chunks(of: body) }
      let blocking = await #expect(throws: HTTPError.self) { try await pieces(of: body) }
      expectEqual(error?.code, code)
      expectEqual(blocking?.code, code)
    }
  }

  @Test("Cancelling the loop cancels the source, whose early end does not pass for the end of the body")
  func cancelled() async {
    let source = RecordedChunks("a", then: .never)
    let load = Future.task { try await chunks(of: .asyncStream { source }) }
    _ = await source.waits.future.outcome

    load.cancel()

    await expectEqual(load.outcome.ending, .cancelled)
    #expect(source.cancelled.future.isCompleted && source.released.future.isCompleted)
  }
}

// MARK: - Blocking reads

extension AsyncBodyTests {
  @Test("A blocking reader requests at most one chunk ahead")
  func ahead() async throws {
    let source = RecordedChunks("ab", "cd", "ef")
    let body = HTTPBody.asyncStream { source }

    let requests = try await onThread {
      let reader = try body.makeReader()
      return try (0..<6).map { _ in
        _ = try reader.read(upTo: 1)
        return source.requests.value
      }
    }

    for (index, count) in requests.enumerated() { #expect(count <= index / 2 + 2) }
  }

  @Test("A blocking reader stays at its end")
  func end() async throws {
    let body = HTTPBody.asyncStream { RecordedChunks("a") }

    let pieces = try await onThread {
      let reader = try body.makeReader()
      return try (0..<3).map { _ in try reader.read(upTo: 4) }
    }

    expectEqual(pieces, [Data("a".utf8), Data(), Data()])
  }

  @Test("Releasing a reader cancels the task of its source", arguments: [false, true])
  func released(waits: Bool) async throws {
    let source = waits ? RecordedChunks("a", then: .never) : RecordedChunks("a", "b", "c")
    let body = HTTPBody.asyncStream { source }

    _ = try await onThread { try body.makeReader().read(upTo: 1) }

    await expectEqual(source.released.future.outcome.ending, .succeeded)
  }

  @Test("A reader that never reads does not iterate its source")
  func unread() throws {
    let source = RecordedChunks("a")

    _ = try HTTPBody.asyncStream { source }.makeReader()

    expectEqual(source.requests.value, 0)
    #expect(!source.released.future.isCompleted)
  }

  @Test("A stopped handover ends a blocked read and fails later reads")
  func stopped() async throws {
    let source = RecordedChunks(then: .never)
    let handover = Promise<ChunkHandover>()
    let reads = Future.task {
      try await onThread {
        let reader = HTTPBodyReader(chunks: source)
        handover.succeed(reader.asynchronous!.handover)
        return (0..<2).map { _ in #expect(throws: HTTPError.self) { try reader.read(upTo: 1) } }
      }
    }
    _ = await source.waits.future.outcome

    try await handover.future.value.stop()

    #expect(try await reads.value.allSatisfy { $0?.underlying is ChunkHandover.Stopped })
    await expectEqual(source.released.future.outcome.ending, .succeeded)
    #expect(source.cancelled.future.isCompleted)
  }

  @Test("A handover that was stopped before the first read starts no endless wait")
  func stoppedBefore() async throws {
    let source = RecordedChunks(then: .never)

    let error = try await onThread {
      let reader = HTTPBodyReader(chunks: source)
      reader.asynchronous?.handover.stop()
      return #expect(throws: HTTPError.self) { try reader.read(upTo: 1) }
    }

    #expect(error?.underlying is ChunkHandover.Stopped)
  }
}
