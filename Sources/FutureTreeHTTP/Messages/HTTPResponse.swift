import Foundation
import FutureTree

/// The response to a request.
///
/// ```swift
/// switch response.content {
/// case .data(let data): decode(data)
/// case .file(let url, _): play(url)            // The request asked for `ResponseDelivery.file`.
/// case .stream(let chunks): pipe(chunks)       // The request asked for `ResponseDelivery.stream`.
/// }
/// ```
///
/// A response has its whole body, unless the body is a stream. `transfer` completes when the body is whole.
public struct HTTPResponse: Sendable {
  /// The location of a body.
  public enum Content: Sendable {
    /// The bytes in memory. Empty if there is no body.
    case data(Data)
    /// A file with this number of bytes. The file belongs to the caller that requested it.
    case file(URL, size: Int)
    /// A stream, whose bytes are read while they arrive. It can be read once.
    case stream(HTTPBodyStream)
  }

  /// The request.
  public var request: HTTPRequest { parts.request }
  /// The status.
  public var status: HTTPStatus { parts.status }
  /// The header fields. Platforms join fields of one name, and may change the order of fields and the case of names.
  /// Fields are omitted if their values contain a control character other than a tab.
  public var headers: HTTPHeaders { parts.headers }
  /// The body, or the stream that it arrives in.
  public var content: Content { parts.content }
  /// The trailer fields, which a server sends after the body, such as a digest of a body that it computes while it sends (RFC 9110,
  /// section 6.5). Those of a stream are there when `transfer` has succeeded.
  ///
  /// ```swift
  /// var count = 0
  /// for try await chunk in response.bodyStream { count += chunk.count }
  /// let isWhole = response.trailers["X-Count"] == "\(count)"
  /// ```
  ///
  /// Trailer fields are never merged into `headers`: a field that frames a message, or authenticates one, has no meaning here.
  /// `CurlLoader` and `AsyncHTTPClientLoader` deliver them. `URLSession` drops them, and so do caches and
  /// recordings.
  public var trailers: HTTPHeaders { stream?.trailers ?? parts.trailers }
  /// The times and the connection of the exchange, if the transport measures them: see `HTTPTimings`. `nil` for a response from a
  /// cache.
  public var timings: HTTPTimings? { parts.timings?.value }
  /// What the headers do not show.
  package var marks: Marks { parts.marks }

  package struct Marks: OptionSet {
    /// The response has a `Location` that the headers omit. `Redirect` must not treat it as missing.
    static let hidesLocation = Marks(rawValue: 1)
    /// The platform has decoded the body, and the headers omit its encoding. `Resume` must not count its bytes.
    package static let isDecoded = Marks(rawValue: 2)
    /// The response comes from a cache. `StoreCookies` has stored its cookies before.
    package static let isCached = Marks(rawValue: 4)

    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }
  }

  /// A single reference, because every future of a chain holds a copy of the response.
  private let parts: Parts

  private final class Parts: Sendable {
    let request: HTTPRequest
    let status: HTTPStatus
    let headers: HTTPHeaders
    let content: Content
    let trailers: HTTPHeaders
    let timings: Box?
    let marks: Marks

    init(
      _ request: HTTPRequest, _ status: HTTPStatus, _ headers: HTTPHeaders, _ content: Content,
      _ trailers: HTTPHeaders, _ timings: Box?, _ marks: Marks
    ) {
      self.timings = timings
      self.marks = marks
      self.trailers = trailers
      self.request = request
      self.status = status
      self.headers = headers
      self.content = content
    }
  }

  /// Timings apart, so that a response without them needs no memory for them.
  private final class Box: Sendable {
    let value: HTTPTimings

    init(_ value: HTTPTimings) { self.value = value }
  }

  /// The whole body, in memory. Empty if there is no body.
  ///
  /// - Throws: `HTTPError` with the code `bodyInFile` if the request set `ResponseDelivery.file`. `content` has the URL
  ///   of the file. The code is `bodyInStream` if the request set `ResponseDelivery.stream`. `bodyStream` has the bytes.
  public var body: Data {
    get throws(HTTPError) {
      switch content {
      case .data(let data): return data
      case .file(_, let size):
        throw HTTPError(
          .bodyInFile,
          "The \(size) bytes of the body are in a file, because \(request) requested a file. Read the URL of the file from `content`."
        )
      case .stream:
        throw HTTPError(
          .bodyInStream,
          "The body is a stream, because \(request) requested a stream. Read `bodyStream`, or request a buffered body.")
      }
    }
  }

  /// The number of bytes in the body, in memory or in a file. For a stream, the number of bytes received until now.
  public var bodySize: Int {
    switch content {
    case .data(let data): data.count
    case .file(_, let size): size
    case .stream(let stream): stream.receivedCount
    }
  }

  /// The body as a sequence of chunks. The bytes of a stream can be read once, those of a buffered body any number of times.
  public var bodyStream: HTTPBodyStream {
    switch content {
    case .data(let data): HTTPBodyStream(data)
    case .file(let url, _): HTTPBodyStream(url)
    case .stream(let stream): stream
    }
  }

  /// A future that completes when the whole body has been received, or when its transfer has failed or was cancelled. The
  /// transfer of a buffered body has succeeded.
  ///
  /// ```swift
  /// response.transfer.observe { outcome in log("the body has ended: \(outcome)") }
  /// stopButton.action = { response.transfer.cancel(reason: "the user pressed Stop") }
  /// ```
  ///
  /// Cancelling it closes the connection. A layer that holds something for a load holds it until the transfer has
  /// completed: see `Future.observeTransfer`.
  public var transfer: Future<Void> { stream?.transfer ?? HTTPBodyStream.completedTransfer }

  /// The stream, unless the body is buffered.
  package var stream: HTTPBodyStream? {
    if case .stream(let stream) = content { stream } else { nil }
  }

  /// Creates a response, for custom loaders and for tests.
  public init(
    to request: HTTPRequest, status: HTTPStatus, headers: HTTPHeaders = HTTPHeaders(), body: Data = Data(),
    trailers: HTTPHeaders = HTTPHeaders()
  ) {
    self.init(to: request, status: status, headers: headers, content: .data(body), trailers: trailers)
  }

  /// Creates a response with a body in memory, in a file or in a stream, for custom loaders and for tests.
  ///
  /// The trailer fields of a stream are those of its writer: see `HTTPBodyWriter.finish(trailers:)`.
  public init(
    to request: HTTPRequest, status: HTTPStatus, headers: HTTPHeaders = HTTPHeaders(), content: Content,
    trailers: HTTPHeaders = HTTPHeaders()
  ) {
    self.init(to: request, status: status, headers: headers, content: content, trailers: trailers, marks: [])
  }

  package init(
    to request: HTTPRequest, status: HTTPStatus, headers: HTTPHeaders, content: Content,
    trailers: HTTPHeaders = HTTPHeaders(), timings: HTTPTimings? = nil, marks: Marks
  ) {
    parts = Parts(request, status, headers, content, trailers, timings.map { Box($0) }, marks)
  }

  private init(_ parts: Parts) { self.parts = parts }

  /// Returns the same response, to another request.
  package func answering(_ request: HTTPRequest) -> HTTPResponse {
    HTTPResponse(Parts(request, status, headers, content, parts.trailers, parts.timings, marks))
  }

  package func replacingHeaders(_ headers: HTTPHeaders) -> HTTPResponse {
    HTTPResponse(Parts(request, status, headers, content, parts.trailers, parts.timings, marks))
  }

  package func replacingContent(_ content: Content) -> HTTPResponse {
    HTTPResponse(Parts(request, status, headers, content, parts.trailers, parts.timings, marks))
  }
}

extension HTTPResponse: CustomStringConvertible, CustomReflectable {
  /// The request, the status and the size, without the body and the values of the headers, which may be secrets.
  public var description: String { "\(request): \(status), \(content)" }

  public var customMirror: Mirror {
    Mirror(
      self, children: ["response": description, "headers": headers, "trailers": trailers], displayStyle: .struct)
  }
}

extension HTTPResponse.Content: CustomStringConvertible, CustomReflectable {
  /// The size, without the bytes and the path, which may be secrets.
  public var description: String {
    switch self {
    case .data(let data): "\(data.count) bytes"
    case .file(_, let size): "\(size) bytes in a file"
    case .stream(let stream): stream.description
    }
  }

  public var customMirror: Mirror { Mirror(self, children: ["content": description], displayStyle: .enum) }
}
