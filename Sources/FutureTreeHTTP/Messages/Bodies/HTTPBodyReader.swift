import Foundation

/// A reader that yields the bytes of a body in order, for a transport that sends the body.
///
/// ```swift
/// let file = try FileHandle(forReadingFrom: url)
/// let reader = HTTPBodyReader { maximum in try file.read(upToCount: maximum) ?? Data() }
/// ```
///
/// The transport requests each block of bytes, so a reader never gets ahead of the connection. (An asynchronous source
/// can be one chunk ahead of `read(upTo:)`.) A reader is used by one thread at a time. The values that its closure
/// captures are released when the transport has sent the body or stops sending it.
public struct HTTPBodyReader {
  private let next: (Int) throws -> Data
  /// The asynchronous source, if there is one. `next` then waits for its bytes.
  let asynchronous: BlockingChunks?

  /// Creates a reader from a closure that returns at most `maximum` bytes. The closure returns no bytes at the end. It
  /// may block.
  public init(_ next: @escaping (_ maximum: Int) throws -> Data) {
    self.next = next
    asynchronous = nil
  }

  /// Creates a reader of an asynchronous sequence of chunks, of any size. Empty chunks are skipped.
  ///
  /// ```swift
  /// let reader = HTTPBodyReader(chunks: film.chunks)
  /// ```
  ///
  /// A transport reads it in one of two ways:
  ///
  /// - `HTTPBody.chunks(upTo:)` iterates the sequence in the task of the transport. A chunk is requested when all bytes of
  ///   the chunk before it were read.
  /// - `read(upTo:)` iterates the sequence in a task of its own, one chunk ahead, and blocks its thread until bytes arrive.
  ///   The task is cancelled when the reader is released.
  ///
  /// `HTTPBody.asyncStream` returns a body with such a reader.
  public init<Chunks: AsyncSequence & Sendable>(chunks: Chunks) where Chunks.Element == Data {
    self.init(AsyncBodySource(chunks))
  }

  /// Creates a reader of an asynchronous source.
  init(_ source: AsyncBodySource) {
    let blocking = BlockingChunks(source)
    next = { maximum in try blocking.read(upTo: maximum) }
    asynchronous = blocking
  }

  /// Creates a reader of a stream that is not open yet. The stream is opened immediately, and closed when the reader is
  /// released.
  ///
  /// - Throws: `read(upTo:)` throws the errors that the stream reports.
  public init(_ stream: InputStream) {
    stream.open()
    let end = StreamEnd(stream)
    self.init { maximum in try end.read(upTo: maximum) }
  }

  /// Returns the next bytes, at most `maximum`, or no bytes at the end. `maximum` must be 1 or more.
  ///
  /// Blocks the thread until bytes are there. Do not call it in a Swift task: an asynchronous source can need the thread of
  /// that task. `HTTPBody.chunks(upTo:)` blocks no thread of a task.
  ///
  /// - Throws: `HTTPError` with the code `unreadableBody` or `wrongBodyLength`. After an error the transport must close
  ///   its connection: otherwise the server could accept the partial body as a whole one.
  public func read(upTo maximum: Int) throws(HTTPError) -> Data {
    precondition(maximum > 0, "Cannot read at most \(maximum) bytes. Pass at least 1.")
    let bytes = try HTTPBodyReader.naming { try next(maximum) }
    guard bytes.count <= maximum else {
      throw HTTPError(
        .unreadableBody,
        "The source of the body returned \(bytes.count) bytes. It was asked for at most \(maximum). Return fewer bytes."
      )
    }
    return bytes.startIndex == 0 ? bytes : Data(bytes)
  }

  /// Runs `body` and converts its errors to `HTTPError`.
  static func naming<Value>(_ body: () throws -> Value) throws(HTTPError) -> Value {
    do {
      return try body()
    } catch {
      throw named(error)
    }
  }

  /// Converts an error of a source to an `HTTPError`.
  static func named(_ error: any Error) -> HTTPError {
    error as? HTTPError
      ?? HTTPError(.unreadableBody, "The body cannot be read. See `underlying`.", underlying: error)
  }
}

// MARK: - Reading a body

extension HTTPBody {
  /// Opens the body for sending it once. A transport needs this for streams; files and bytes in memory can be passed to
  /// the platform directly.
  ///
  /// The reader fails with the code `wrongBodyLength` if the body has fewer or more bytes than announced: than the length
  /// of a stream, or than the size of a file when it was opened. A body with an announced length therefore never ends
  /// early or late without an error.
  ///
  /// - Throws: `HTTPError` with the code `unreadableBody` if the body cannot be read or its stream cannot be opened, or
  ///   `wrongBodyLength` if its length is negative.
  public func makeReader() throws(HTTPError) -> HTTPBodyReader {
    switch content {
    case .empty: return HTTPBodyReader { _ in Data() }
    case .data(let data): return HTTPBodyReader(data)
    case .file(let url):
      let file = try OpenFile(url)
      return HTTPBodyReader(file.reader(), length: file.size, name: "The file of the body")
    case .stream(let length, _, let open):
      try checkLength()
      let reader = try HTTPBodyReader.naming(open)
      return length.map { HTTPBodyReader(reader, length: $0, name: "The body") } ?? reader
    }
  }

  /// Returns the number of bytes to announce as `Content-Length`.
  ///
  /// The value is the length of the body, or the current size of its file. A file can change before it is sent. A
  /// transport that has fewer or more bytes to send than it announced closes the connection.
  ///
  /// - Returns: The number of bytes. `nil` if the length of a stream is not known: send the body in chunks.
  /// - Throws: `HTTPError` with the code `unreadableBody` if the file is missing or is not a regular file;
  ///   `wrongBodyLength` if the length of a stream is negative.
  public func announcedLength() throws(HTTPError) -> Int? {
    if case .file(let url) = content { return try OpenFile(url).size }
    try checkLength()
    return contentLength
  }
}

extension HTTPBody {
  /// Refuses a negative length, which a transport would otherwise announce.
  func checkLength() throws(HTTPError) {
    guard let length = contentLength, length < 0 else { return }
    throw HTTPError(
      .wrongBodyLength,
      "The length of the body is \(length) bytes. It cannot be negative. Pass `nil` if the length is unknown.")
  }
}

extension HTTPBodyReader {
  /// Creates a reader of bytes in memory.
  init(_ data: Data) {
    var rest = data
    self.init { maximum in rest.takePrefix(maximum) }
  }

  /// Creates a reader that yields the bytes of several readers, one after the other. Each is opened when the readers
  /// before it have ended.
  init(concatenating openers: [@Sendable () throws -> HTTPBodyReader]) {
    var waiting = openers[...]
    var current: HTTPBodyReader?
    self.init { maximum in
      while true {
        if let bytes = try current?.read(upTo: maximum), !bytes.isEmpty { return bytes }
        current = nil  // The reader closes its file before the next file is opened.
        guard let open = waiting.popFirst() else { return Data() }
        current = try open()
      }
    }
  }

  /// Creates a reader that yields the bytes of `reader` and checks their number. It returns the last bytes only after
  /// `reader` has reported its end.
  init(_ reader: HTTPBodyReader, length: Int, name: String) {
    var check = BodyLength(length, of: name)
    if let asynchronous = reader.asynchronous {
      self.init(AsyncBodySource(asynchronous.source, length: check))
      return
    }
    self.init { maximum in
      guard let count = check.request(upTo: maximum) else { return Data() }
      let bytes = try reader.read(upTo: count)
      try check.receive(bytes.count)
      if check.mustSeeEnd { try check.receive(reader.read(upTo: 1).count) }
      return bytes
    }
  }
}

/// A regular file that is open for reading, and its size at that time.
struct OpenFile {
  let size: Int
  private let handle: FileHandle

  /// - Throws: `HTTPError` with the code `unreadableBody`.
  init(_ url: URL) throws(HTTPError) {
    guard url.isFileURL else {
      throw HTTPError(
        .unreadableBody, "The URL of the body's file is not a file URL. Use a file URL, or pass the data.")
    }
    let path = url.resolvingSymlinksInPath().path
    let attributes = try HTTPBodyReader.naming { try FileManager.default.attributesOfItem(atPath: path) }
    guard attributes[.type] as? FileAttributeType == .typeRegular else {
      throw HTTPError(
        .unreadableBody, "The file of the body is not a regular file, so its size is unknown. Send it as a stream.")
    }
    (handle, size) = try HTTPBodyReader.naming {
      let handle = try FileHandle(forReadingFrom: url)
      let size = try handle.seekToEnd()
      try handle.seek(toOffset: 0)
      return (handle, Int(size))
    }
  }

  func reader() -> HTTPBodyReader {
    HTTPBodyReader { [handle] maximum in try handle.read(upToCount: maximum) ?? Data() }
  }
}

/// A stream that is closed when its reader is released.
private final class StreamEnd {
  private let stream: InputStream

  init(_ stream: InputStream) {
    self.stream = stream
  }

  func read(upTo maximum: Int) throws -> Data {
    var bytes = Data(count: maximum)
    let count = bytes.withUnsafeMutableBytes { buffer in
      stream.read(buffer.bindMemory(to: UInt8.self).baseAddress!, maxLength: maximum)
    }
    guard count >= 0 else { throw stream.streamError ?? CocoaError(.fileReadUnknown) }
    return bytes.prefix(count)
  }

  deinit {
    stream.close()
  }
}
