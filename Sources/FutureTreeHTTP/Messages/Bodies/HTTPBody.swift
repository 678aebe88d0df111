import Dispatch
import Foundation

/// The body of a request.
///
/// ```swift
/// request.body = .data(Data("name=Ada".utf8), contentType: "application/x-www-form-urlencoded")
/// request.body = .file(URL(fileURLWithPath: "film.mp4"), contentType: "video/mp4")
/// ```
public struct HTTPBody: Sendable {
  /// The source of the bytes. Implementations of transports read it.
  public enum Content: Sendable {
    /// No body.
    case empty
    /// Bytes in memory.
    case data(Data)
    /// All bytes of a file. The file is read while the body is sent.
    case file(URL)
    /// Bytes that are read from a stream while the body is sent. `open` is called each time the body is sent. If the
    /// body is not replayable, `open` is called at most once.
    ///
    /// `length` is the number of bytes, or `nil` if the number is not known. A transport opens the stream with
    /// `HTTPBody.makeReader()`, which checks that length.
    case stream(length: Int?, isReplayable: Bool, open: @Sendable () throws -> HTTPBodyReader)
  }

  /// The source of the bytes.
  public let content: Content

  /// The media type, which is sent as `Content-Type`. `nil` if there is no body.
  public let contentType: String?

  private init(_ content: Content, contentType: String?) {
    self.content = content
    self.contentType = contentType
  }

  /// No body.
  public static let empty = HTTPBody(.empty, contentType: nil)

  /// Returns a body with bytes in memory. The content type defaults to `application/octet-stream`, so that no platform
  /// chooses another.
  public static func data(_ data: Data, contentType: String = "application/octet-stream") -> HTTPBody {
    HTTPBody(.data(data), contentType: contentType)
  }

  /// Returns a body with all bytes of a file. The file is read from disk while the body is sent.
  public static func file(_ url: URL, contentType: String = "application/octet-stream") -> HTTPBody {
    HTTPBody(.file(url), contentType: contentType)
  }

  /// Returns a body whose bytes are read from a stream while it is sent. `open` is called each time the body is sent.
  ///
  /// ```swift
  /// request.body = .stream(length: size) {
  ///   let file = try FileHandle(forReadingFrom: url)
  ///   return HTTPBodyReader { maximum in try file.read(upToCount: maximum) ?? Data() }
  /// }
  /// ```
  ///
  /// If the stream yields fewer or more bytes than `length`, the request fails with the code `wrongBodyLength`. A
  /// negative `length` fails with the same code before anything is sent.
  public static func stream(
    length: Int? = nil, isReplayable: Bool = true, contentType: String = "application/octet-stream",
    open: @escaping @Sendable () throws -> HTTPBodyReader
  ) -> HTTPBody {
    HTTPBody(.stream(length: length, isReplayable: isReplayable, open: open), contentType: contentType)
  }

  /// Returns a body whose bytes come from an asynchronous sequence of chunks while it is sent. `chunks` is called each
  /// time the body is sent.
  ///
  /// ```swift
  /// request.body = .asyncStream(length: film.size, contentType: "video/mp4") { film.chunks }
  /// ```
  ///
  /// Chunks can have any size. The sequence is asked for the next chunk when the connection needs more bytes, or at most
  /// one chunk earlier. It is released when the body is sent or the transport stops. If the load ends early, the task that
  /// iterates the sequence is cancelled.
  ///
  /// - Parameters:
  ///   - length: The number of bytes. If the sequence yields fewer or more bytes, or if `length` is negative, the request
  ///     fails with the code `wrongBodyLength`. Defaults to `nil`: the number is not known.
  ///   - isReplayable: Whether `chunks` can be called again, for retries and redirects. Pass `false` for a sequence that
  ///     can be iterated only once, such as an `AsyncStream` that exists already. Defaults to `true`.
  ///   - contentType: The media type.
  ///   - chunks: A closure that returns the sequence. If the closure or the sequence throws an error, the request fails
  ///     with the code `unreadableBody`. An `HTTPError` stays as it is.
  public static func asyncStream<Chunks: AsyncSequence & Sendable>(
    length: Int? = nil, isReplayable: Bool = true, contentType: String = "application/octet-stream",
    chunks: @escaping @Sendable () throws -> Chunks
  ) -> HTTPBody where Chunks.Element == Data {
    .stream(length: length, isReplayable: isReplayable, contentType: contentType) {
      HTTPBodyReader(chunks: try chunks())
    }
  }

  /// Whether there is no body. A body with zero bytes is a body.
  public var isEmpty: Bool {
    if case .empty = content { true } else { false }
  }

  /// Whether the body can be sent more than once. Retries and redirects require this.
  public var isReplayable: Bool {
    if case .stream(_, let isReplayable, _) = content { isReplayable } else { true }
  }

  /// The number of bytes in the body. `nil` for files, and for streams of unknown length.
  public var contentLength: Int? {
    switch content {
    case .empty: 0
    case .data(let data): data.count
    case .file: nil
    case .stream(let length, _, _): length
    }
  }

  /// Checks that the content type is valid. Every transport calls this before it sends the body.
  ///
  /// - Throws: `HTTPError` with the code `invalidHeaderValue` if the content type is not a media type (RFC 9110, section
  ///   8.3.1).
  public func checkContentType() throws(HTTPError) {
    guard let contentType, let fault = FieldSyntax.fault(inMediaType: contentType) else { return }
    throw HTTPError(.invalidHeaderValue, "The content type of the body \(fault). Write a type like image/png.")
  }

  var data: Data? {
    if case .data(let data) = content { data } else { nil }
  }
}

extension HTTPBody: CustomStringConvertible, CustomReflectable {
  /// The content type and the size, without the bytes, which may be secret.
  public var description: String {
    guard let contentType else { return "empty" }
    return contentLength.map { "\($0) bytes of \(contentType)" } ?? contentType
  }

  public var customMirror: Mirror { Mirror(self, children: ["body": description], displayStyle: .struct) }
}

extension HTTPBody.Content: CustomStringConvertible, CustomReflectable {
  /// The kind of the content, without its bytes and without the path of a file.
  public var description: String {
    switch self {
    case .empty: "empty"
    case .data(let data): "\(data.count) bytes in memory"
    case .file: "a file"
    case .stream(let length, _, _): length.map { "a stream of \($0) bytes" } ?? "a stream"
    }
  }

  public var customMirror: Mirror { Mirror(self, children: ["content": description], displayStyle: .enum) }
}

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
