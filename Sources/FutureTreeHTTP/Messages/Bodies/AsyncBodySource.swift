import Foundation

/// An asynchronous source of the bytes of a body, independent of its type.
struct AsyncBodySource: Sendable {
  /// Begins to read the source. Nothing is requested from it before the first `read`.
  let open: @Sendable () -> any AsyncBodyReader

  init<Chunks: AsyncSequence & Sendable>(_ chunks: Chunks) where Chunks.Element == Data {
    open = { ChunkReader(chunks.makeAsyncIterator()) }
  }

  /// Creates a source with the bytes of `source`, whose number is checked.
  init(_ source: AsyncBodySource, length: BodyLength) {
    self.init { CheckedReader(source.open(), length) }
  }

  init(open: @escaping @Sendable () -> any AsyncBodyReader) {
    self.open = open
  }
}

/// A reader of an asynchronous source. It is used by one task at a time. Releasing it releases the iterator of the source.
protocol AsyncBodyReader: AnyObject {
  /// Returns the next bytes, at most `maximum`, or no bytes at the end.
  ///
  /// In a cancelled task the end can be too early, because many sequences end when their task is cancelled.
  func read(upTo maximum: Int, isolation actor: isolated (any Actor)?) async throws -> Data
}

/// A reader that divides the chunks of a sequence. It requests a chunk when all bytes of the chunk before it were read.
private final class ChunkReader<Iterator: AsyncIteratorProtocol>: AsyncBodyReader where Iterator.Element == Data {
  private var iterator: Iterator
  private var rest = Data()

  init(_ iterator: Iterator) {
    self.iterator = iterator
  }

  func read(upTo maximum: Int, isolation actor: isolated (any Actor)?) async throws -> Data {
    while rest.isEmpty {
      guard let chunk = try await iterator.next(isolation: actor) else { return Data() }
      rest = chunk
    }
    return rest.takePrefix(maximum)
  }
}

/// A reader that checks the number of bytes.
private final class CheckedReader: AsyncBodyReader {
  private let reader: any AsyncBodyReader
  private var length: BodyLength

  init(_ reader: any AsyncBodyReader, _ length: BodyLength) {
    self.reader = reader
    self.length = length
  }

  func read(upTo maximum: Int, isolation actor: isolated (any Actor)?) async throws -> Data {
    guard let count = length.request(upTo: maximum) else { return Data() }
    let bytes = try await reader.read(upTo: count, isolation: actor)
    try length.receive(bytes.count)
    if length.mustSeeEnd { try length.receive(try await reader.read(upTo: 1, isolation: actor).count) }
    return bytes
  }
}
