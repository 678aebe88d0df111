import Foundation
import FutureTree

/// The body of a response as a sequence of chunks, read while it arrives.
///
/// ```swift
/// let response = try await api.stream("films/\(id)").value  // The head has arrived.
/// for try await chunk in response.bodyStream {
///   try file.write(contentsOf: chunk)
/// }
/// ```
///
/// A body has one reader: a stream can be iterated once. A second iteration fails with the code `bodyAlreadyRead`. The
/// body of a buffered response can be read any number of times.
///
/// **Errors.** The chunks before an error are delivered first. Then `next` throws the error with which `transfer` failed.
/// A body that is truncated, too long or ambiguous is an error. A loop that ends without an error has read the whole body.
///
/// **Cancellation.** The reader is a consumer of `transfer`. If the loop is left, if its task is cancelled, or if the
/// stream or its iterator is dropped, the reader withdraws its interest with a `doNotForwardIfOthersWaiting` request
/// (<doc:Streaming#Cancellation>). If other consumers of `transfer` remain, the rest of the body is received and discarded.
///
/// **Time.** If the reader does not ask for the next chunk within the `idleReadTimeout` of the delivery, the transfer
/// fails with the code `bodyNotRead`.
///
/// **Memory.** The `bufferLimit` of the delivery limits the bytes that wait for the reader. A transport with back-pressure
/// pauses the server before the limit is reached. A transport without back-pressure fails with the code `streamOverflow`.
/// A chunk is never split, so one large chunk can exceed the limit.
public final class HTTPBodyStream: AsyncSequence, Sendable {
  public typealias Element = Data

  private enum Source: Sendable {
    case stream(BodyPipe, Locked<BodyReader?>)
    case data(Data)
    case file(URL)
  }

  private let source: Source

  private init(_ source: Source) {
    self.source = source
  }

  /// Creates the stream of a body that is in memory.
  convenience init(_ data: Data) {
    self.init(.data(data))
  }

  /// Creates the stream of a body that is in a file.
  convenience init(_ file: URL) {
    self.init(.file(file))
  }

  /// - Parameter reader: The reader. `nil` for a stream that cannot be read.
  convenience init(_ pipe: BodyPipe, reader: BodyReader?) {
    self.init(.stream(pipe, Locked(reader)))
  }

  /// A future that completes when the whole body has been received, or when the transfer has failed or was cancelled.
  ///
  /// Cancelling it closes the connection. It completes when the transport has confirmed (the rule *Confirmed
  /// cancellation*). Bytes that arrived before can still be read after a success or a failure, and are discarded by a
  /// cancellation.
  public var transfer: Future<Void> { pipe?.transfer ?? HTTPBodyStream.completedTransfer }

  static let completedTransfer = Future<Void>.succeeded

  /// The number of bytes that have been received.
  public var receivedCount: Int {
    switch source {
    case .stream(let pipe, _): pipe.receivedCount
    case .data(let data): data.count
    case .file(let url): (try? url.resourceValues(forKeys: [.fileSizeKey]).fileSize) ?? 0
    }
  }

  /// The trailer fields. Empty until `transfer` has succeeded, and for a body that is in memory or in a file.
  package var trailers: HTTPHeaders { pipe?.trailers ?? HTTPHeaders() }

  /// The connection to the transport. `nil` for a body that is in memory or in a file.
  var pipe: BodyPipe? {
    if case .stream(let pipe, _) = source { pipe } else { nil }
  }

  /// Begins to read the body.
  public func makeAsyncIterator() -> Iterator {
    switch source {
    case .stream(_, let reader): Iterator(source: reader.withLock { $0.take() }.map { .reader($0) } ?? .taken)
    case .data(let data): Iterator(source: .data(data))
    case .file(let url): Iterator(source: .chunks(HTTPBody.file(url).chunks().makeAsyncIterator()))
    }
  }

  /// The reader of a body. If it is dropped before the end, it withdraws its interest in the transfer.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate enum Source {
      case reader(BodyReader)
      case data(Data)
      case chunks(any AsyncIteratorProtocol<Data, any Error>)
      case taken
    }

    fileprivate var source: Source

    /// Returns the next chunk as soon as it arrives, or `nil` at the end of the body. A chunk is never empty.
    ///
    /// - Throws: The error of the transfer; `FutureCancelled` if the transfer was cancelled; `CancellationError` if the
    ///   task was cancelled; `HTTPError` with the code `bodyAlreadyRead` for a second iteration.
    public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async throws -> Data? {
      switch source {
      case .reader(let reader): return try await reader.next()
      case .data(let data):
        source = .data(Data())
        return data.isEmpty ? nil : data
      case .chunks(var chunks):
        defer { source = .chunks(chunks) }
        return try await chunks.next(isolation: actor)
      case .taken:
        throw HTTPError(
          .bodyAlreadyRead, "The stream of the body has been iterated before. Iterate it once, or buffer the body.")
      }
    }
  }
}

extension HTTPBodyStream.Iterator {
  /// What can be read without waiting.
  package enum Available: Sendable {
    case chunk(Data)
    case end
    /// The next bytes have not arrived.
    case nothing
  }

  /// Reads without waiting, for simulations, which cannot wait for tasks.
  package mutating func nextAvailable() throws -> Available {
    switch source {
    case .reader(let reader):
      guard let result = reader.pipe.readAtOnce() else { return .nothing }
      return try result.get().map { .chunk($0) } ?? .end
    case .data(let data) where !data.isEmpty:
      source = .data(Data())
      return .chunk(data)
    case .data, .chunks, .taken:
      return .end
    }
  }
}

extension HTTPBodyStream: CustomStringConvertible, CustomReflectable {
  /// The number of received bytes, without the bytes, which may be secret.
  public var description: String { "a stream, \(receivedCount) bytes received" }

  public var customMirror: Mirror { Mirror(self, children: ["stream": description], displayStyle: .class) }
}

/// The reader of a pipe, a consumer of its transfer while it lives.
final class BodyReader: Sendable {
  fileprivate let pipe: BodyPipe
  private let token: CancelToken

  init(_ pipe: BodyPipe) {
    self.pipe = pipe
    token = pipe.transfer.cancelToken()
  }

  deinit {
    leave("the reader left the body")
  }

  nonisolated(nonsending) func next() async throws -> Data? {
    guard !Task.isCancelled else {
      leave(BodyReader.taskCancelled)
      throw CancellationError()
    }
    do {
      return try await withTaskCancellationHandler {
        try await pipe.read()
      } onCancel: {
        // The runtime may hold a lock of the task here. The handler therefore only resumes the task, which then leaves.
        pipe.cancelReader()
      }
    } catch  where pipe.isReaderCancelled {
      leave(BodyReader.taskCancelled)
      throw error
    }
  }

  private func leave(_ reason: CancellationReason) {
    if pipe.readerLeft() { token.cancel(.doNotForwardIfOthersWaiting, reason: reason) }
  }

  private static let taskCancelled: CancellationReason = "the reading task was cancelled"
}

/// The bytes of a stream, collected while it is read, up to a limit.
package final class BodyCopy: Sendable {
  private let bytes: Locked<Data?>
  private let limit: Int

  init(limit: Int) {
    self.limit = limit
    bytes = Locked(Data())
  }

  /// The bytes. `nil` if there were more than the limit.
  package var body: Data? { bytes.value }

  func append(_ chunk: Data) {
    bytes.release { bytes -> Data? in
      guard let count = bytes?.count else { return nil }
      if chunk.count <= limit - count {
        bytes?.append(chunk)
        return nil
      }
      return bytes.take()
    }
  }
}

extension HTTPBodyStream {
  /// Copies the bytes that arrive from now on. The copy keeps no stream, which still ends when its caller drops it.
  ///
  /// - Returns: The copy. `nil` if bytes have arrived before, if the transfer has ended, or if the body is in memory or in a file.
  package func copy(limit: Int) -> BodyCopy? {
    let copy = BodyCopy(limit: limit)
    return pipe?.copy(to: copy) == true ? copy : nil
  }
}
