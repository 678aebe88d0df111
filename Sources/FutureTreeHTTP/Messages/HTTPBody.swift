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
