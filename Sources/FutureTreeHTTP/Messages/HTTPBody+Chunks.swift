import Dispatch
import Foundation

extension HTTPBody {
  /// Returns the bytes of the body as an asynchronous sequence, for a transport that sends the body.
  ///
  /// ```swift
  /// for try await chunk in request.body.chunks() {
  ///   try await connection.write(chunk)
  /// }
  /// ```
  ///
  /// A chunk is read only when the loop requests it. Sources that may block are read on a thread outside Swift's
  /// cooperative thread pool. Each iteration opens the body with the checks of `makeReader()`: a body with an announced
  /// length never ends early or late without an error.
  ///
  /// If the task is cancelled, the sequence throws `CancellationError` and does not end normally, so that a partial body
  /// cannot pass for a whole one. A read that has begun is awaited first.
  ///
  /// - Parameter maximum: The largest size of a chunk in bytes. Defaults to 64 KiB. Values below 1 are treated as 1.
  /// - Returns: A sequence of chunks, none of which is empty. It throws `HTTPError` with the code `unreadableBody` or
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

/// The reader of one iteration. It is used on its own dispatch queue.
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
