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
  /// A chunk is read only when the loop requests it. Asynchronous sources are iterated in the task of the loop. Other sources may
  /// block, so they are read on a thread outside Swift's cooperative thread pool. Each iteration opens the body with the checks
  /// of `makeReader()`: a body with an announced length never ends early or late without an error.
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

  func makeAsyncIterator() -> Iterator { Iterator(state: .unopened(body), maximum: maximum) }

  struct Iterator: AsyncIteratorProtocol {
    enum State {
      case unopened(HTTPBody)
      case blocking(BodyChunkSource)
      case asynchronous(any AsyncBodyReader)
      case ended
    }

    var state: State
    let maximum: Int

    mutating func next(isolation actor: isolated (any Actor)? = #isolation) async throws -> Data? {
      try Task.checkCancellation()
      do {
        let chunk = try await read(actor)
        if !chunk.isEmpty { return chunk.startIndex == 0 ? chunk : Data(chunk) }
      } catch {
        state = .ended
        try Task.checkCancellation()
        throw HTTPBodyReader.named(error)
      }
      state = .ended
      try Task.checkCancellation()  // An asynchronous source can end early in a cancelled task.
      return nil
    }

    private mutating func read(_ actor: isolated (any Actor)?) async throws -> Data {
      if case .unopened(let body) = state {
        let source = BodyChunkSource(body)
        state = try await source.open().map { .asynchronous($0.open()) } ?? .blocking(source)
      }
      switch state {
      case .blocking(let source): return try await source.read(upTo: maximum)
      case .asynchronous(let reader): return try await reader.read(upTo: maximum, isolation: actor)
      case .unopened, .ended: return Data()
      }
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

  /// Opens the body. Returns its source if the source is asynchronous. Such a source must not be read here.
  func open() async throws -> AsyncBodySource? {
    try await run { source in
      let reader = try source.body.makeReader()
      guard let asynchronous = reader.asynchronous else {
        source.reader = reader
        return nil
      }
      return asynchronous.source
    }
  }

  /// Reads an opened body.
  func read(upTo maximum: Int) async throws -> Data {
    try await run { source in try source.reader?.read(upTo: maximum) ?? Data() }
  }

  private func run<Value: Sendable>(_ work: @escaping @Sendable (BodyChunkSource) throws -> Value) async throws -> Value
  {
    try await withCheckedThrowingContinuation { continuation in
      queue.async { [self] in continuation.resume(with: Result { try work(self) }) }
    }
  }
}
