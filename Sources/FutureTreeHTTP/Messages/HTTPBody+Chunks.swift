import Dispatch
import Foundation

extension HTTPBody {
  /// Opens the body for sending it once, as an asynchronous sequence.
  ///
  /// ```swift
  /// for try await chunk in request.body.chunks() {
  ///   try await connection.write(chunk)
  /// }
  /// ```
  ///
  /// The next chunk is read when the loop asks for it, so that the body is never faster than the connection. Sources that
  /// may block are read on a thread outside the pool of Swift's tasks. The body is opened by each iteration, with the checks
  /// of `makeReader()`: a body with an announced length never ends early or late without an error.
  ///
  /// A cancelled task gets `CancellationError`, and not the end: what was sent must not pass for a whole body. A read that has
  /// begun is awaited first.
  ///
  /// - Parameter maximum: The largest size of a chunk in bytes. Defaults to 64 KiB. Values below 1 are treated as 1.
  /// - Returns: A sequence of chunks that are not empty. It throws `HTTPError` with the code `unreadableBody` or
  ///   `wrongBodyLength`, or `CancellationError`.
  public func chunks(upTo maximum: Int = 65_536) -> some AsyncSequence<Data, any Error> & Sendable {
    BodyChunks(body: self, maximum: max(1, maximum))
  }
}

private struct BodyChunks: AsyncSequence, Sendable {
  let body: HTTPBody
  let maximum: Int

  func makeAsyncIterator() -> Iterator { Iterator(source: BodyChunkSource(body), maximum: maximum) }

  struct Iterator: AsyncIteratorProtocol {
    let source: BodyChunkSource
    let maximum: Int

    func next() async throws -> Data? {
      try Task.checkCancellation()
      let chunk = try await source.read(upTo: maximum)
      return chunk.isEmpty ? nil : chunk
    }
  }
}

/// The reader of one iteration, which lives on a queue of its own.
private final class BodyChunkSource: @unchecked Sendable {  // Because: `reader` is used on `queue` only.
  private let body: HTTPBody
  private let queue = DispatchQueue(label: "FutureTree.HTTPBody.chunks")
  private var reader: HTTPBodyReader?

  init(_ body: HTTPBody) {
    self.body = body
  }

  func read(upTo maximum: Int) async throws -> Data {
    try await withCheckedThrowingContinuation { continuation in
      queue.async { [self] in continuation.resume(with: Result { try openedReader().read(upTo: maximum) }) }
    }
  }

  private func openedReader() throws -> HTTPBodyReader {
    if let reader { return reader }
    let opened = try body.makeReader()
    reader = opened
    return opened
  }
}
