import Foundation

/// The response to a request, with its whole body.
///
/// ```swift
/// switch response.content {
/// case .data(let data): decode(data)
/// case .file(let url, _): play(url)  // The request asked for `ResponseDelivery.file`.
/// }
/// ```
public struct HTTPResponse: Sendable {
  /// The location of a body.
  public enum Content: Sendable {
    /// The bytes in memory. Empty if there is no body.
    case data(Data)
    /// A file with this number of bytes. The file belongs to the caller that requested it.
    case file(URL, size: Int)
  }

  /// The request.
  public var request: HTTPRequest { parts.request }
  /// The status.
  public var status: HTTPStatus { parts.status }
  /// The header fields. Platforms join fields of one name, and may change the order of fields and the case of names.
  /// Fields are omitted if their values contain bytes that are not visible ASCII.
  public var headers: HTTPHeaders { parts.headers }
  /// The whole body.
  public var content: Content { parts.content }
  /// Whether the response has a `Location` that the headers omit. `Redirect` must not treat it as missing.
  var hidesLocation: Bool { parts.hidesLocation }

  /// A single reference, because every future of a chain holds a copy of the response.
  private let parts: Parts

  private final class Parts: Sendable {
    let request: HTTPRequest
    let status: HTTPStatus
    let headers: HTTPHeaders
    let content: Content
    let hidesLocation: Bool

    init(
      _ request: HTTPRequest, _ status: HTTPStatus, _ headers: HTTPHeaders, _ content: Content, hidesLocation: Bool
    ) {
      self.hidesLocation = hidesLocation
      self.request = request
      self.status = status
      self.headers = headers
      self.content = content
    }
  }

  /// The whole body, in memory. Empty if there is no body.
  ///
  /// - Throws: `HTTPError` with the code `bodyInFile` if the request set `ResponseDelivery.file`. `content` has the URL
  ///   of the file.
  public var body: Data {
    get throws(HTTPError) {
      switch content {
      case .data(let data): return data
      case .file(_, let size):
        throw HTTPError(
          .bodyInFile,
          "The \(size) bytes of the body are in a file, because \(request) requested a file. Read the URL of the file from `content`."
        )
      }
    }
  }

  /// The number of bytes in the body, in memory or in a file.
  public var bodySize: Int {
    switch content {
    case .data(let data): data.count
    case .file(_, let size): size
    }
  }

  /// Creates a response, for custom loaders and for tests.
  public init(to request: HTTPRequest, status: HTTPStatus, headers: HTTPHeaders = HTTPHeaders(), body: Data = Data()) {
    self.init(to: request, status: status, headers: headers, content: .data(body))
  }

  /// Creates a response with a body in memory or in a file, for custom loaders and for tests.
  public init(to request: HTTPRequest, status: HTTPStatus, headers: HTTPHeaders = HTTPHeaders(), content: Content) {
    self.init(to: request, status: status, headers: headers, content: content, hidesLocation: false)
  }

  init(to request: HTTPRequest, status: HTTPStatus, headers: HTTPHeaders, content: Content, hidesLocation: Bool) {
    parts = Parts(request, status, headers, content, hidesLocation: hidesLocation)
  }

  /// Returns the same response, to another request.
  func answering(_ request: HTTPRequest) -> HTTPResponse {
    HTTPResponse(to: request, status: status, headers: headers, content: content, hidesLocation: hidesLocation)
  }
}

extension HTTPResponse: CustomStringConvertible, CustomReflectable {
  /// The request, the status and the size, without the body and the values of the headers, which may be secrets.
  public var description: String { "\(request): \(status), \(bodySize) bytes" + (isInFile ? " in a file" : "") }

  public var customMirror: Mirror {
    Mirror(self, children: ["response": description, "headers": headers], displayStyle: .struct)
  }

  private var isInFile: Bool {
    if case .file = content { true } else { false }
  }
}

extension HTTPResponse.Content: CustomStringConvertible, CustomReflectable {
  /// The size, without the bytes and the path, which may be secrets.
  public var description: String {
    switch self {
    case .data(let data): "\(data.count) bytes"
    case .file(_, let size): "\(size) bytes in a file"
    }
  }

  public var customMirror: Mirror { Mirror(self, children: ["content": description], displayStyle: .enum) }
}
