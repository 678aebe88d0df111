import Foundation

/// The body of a request.
///
/// ```swift
/// request.body = .data(Data("name=Ada".utf8), contentType: "application/x-www-form-urlencoded")
/// request.body = .file(URL(fileURLWithPath: "film.mp4"), contentType: "video/mp4")
/// ```
public struct HTTPBody: Sendable {
  /// Where the bytes come from, for those who write a transport.
  public enum Content: Sendable {
    /// There is no body.
    case empty
    /// Bytes in memory.
    case data(Data)
    /// All bytes of a file, read while they are sent.
    case file(URL)
    /// Bytes that are pulled while they are sent. `open` is called once, or once for each time that the body is sent.
    ///
    /// `length` is the number of bytes that there are, nil if that is not known. A transport opens it with
    /// `HTTPBody.makeReader()`, which holds the reader to that length.
    case stream(length: Int?, isReplayable: Bool, open: @Sendable () throws -> HTTPBodyReader)
  }

  /// Where the bytes come from.
  public let content: Content

  /// What the body is, as the value of `Content-Type`; nil if there is no body.
  public let contentType: String?

  private init(_ content: Content, contentType: String?) {
    self.content = content
    self.contentType = contentType
  }

  /// No body.
  public static let empty = HTTPBody(.empty, contentType: nil)

  /// Bytes in memory. Without a type they are sent as `application/octet-stream`, so that no platform invents another.
  public static func data(_ data: Data, contentType: String = "application/octet-stream") -> HTTPBody {
    HTTPBody(.data(data), contentType: contentType)
  }

  /// All bytes of a file, which is read from disk while it is sent.
  public static func file(_ url: URL, contentType: String = "application/octet-stream") -> HTTPBody {
    HTTPBody(.file(url), contentType: contentType)
  }

  /// Bytes that are pulled while they are sent. `open` is called when the body is sent, and again if it is sent again.
  ///
  /// ```swift
  /// request.body = .stream(length: size) {
  ///   let file = try FileHandle(forReadingFrom: url)
  ///   return HTTPBodyReader { maximum in try file.read(upToCount: maximum) ?? Data() }
  /// }
  /// ```
  ///
  /// A body with a `length` that yields fewer or more bytes fails its request with the code `wrongBodyLength`; so
  /// does one with a negative length, before anything is sent.
  public static func stream(
    length: Int? = nil, isReplayable: Bool = true, contentType: String = "application/octet-stream",
    open: @escaping @Sendable () throws -> HTTPBodyReader
  ) -> HTTPBody {
    HTTPBody(.stream(length: length, isReplayable: isReplayable, open: open), contentType: contentType)
  }

  /// Whether there is nothing to send. A body of no bytes is a body.
  public var isEmpty: Bool {
    if case .empty = content { true } else { false }
  }

  /// Whether the same body can be sent a second time, as retries and redirects must.
  public var isReplayable: Bool {
    if case .stream(_, let isReplayable, _) = content { isReplayable } else { true }
  }

  /// How many bytes will be sent, if that is known without looking at a file.
  public var contentLength: Int? {
    switch content {
    case .empty: 0
    case .data(let data): data.count
    case .file: nil
    case .stream(let length, _, _): length
    }
  }

  /// Checks what is sent as `Content-Type`; every transport calls it before it sends.
  ///
  /// - Throws: `HTTPError` with the code `invalidHeaderValue`, if the type is no media type (RFC 9110, section 8.3.1).
  public func checkContentType() throws(HTTPError) {
    guard let contentType, let fault = FieldSyntax.fault(inMediaType: contentType) else { return }
    throw HTTPError(.invalidHeaderValue, "The content type of the body \(fault). Write it like image/png.")
  }

  var data: Data? {
    if case .data(let data) = content { data } else { nil }
  }
}

extension HTTPBody: CustomStringConvertible, CustomReflectable {
  /// The type and the size, without the bytes, which may be secret.
  public var description: String {
    guard let contentType else { return "empty" }
    return contentLength.map { "\($0) bytes of \(contentType)" } ?? contentType
  }

  public var customMirror: Mirror { Mirror(self, children: ["body": description], displayStyle: .struct) }
}

extension HTTPBody.Content: CustomStringConvertible, CustomReflectable {
  /// The kind of the content, without bytes and without the path of a file.
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
