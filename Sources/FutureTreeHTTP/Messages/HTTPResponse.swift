import Foundation

/// The answer to a request, with its whole body.
///
/// ```swift
/// switch response.content {
/// case .data(let data): decode(data)
/// case .file(let url, _): play(url)  // The request asked for `ResponseDelivery.file`.
/// }
/// ```
public struct HTTPResponse: Sendable {
  /// Where a body is.
  public enum Content: Sendable {
    /// In memory; empty if there is none.
    case data(Data)
    /// In a file, with this many bytes. It belongs to whoever asked for it.
    case file(URL, size: Int)
  }

  /// What was asked.
  public var request: HTTPRequest { parts.request }
  /// What became of it.
  public var status: HTTPStatus { parts.status }
  /// The header fields. Platforms join fields of one name, and may change their order and the case of their names.
  /// Fields whose values have bytes that are not visible ASCII are left out.
  public var headers: HTTPHeaders { parts.headers }
  /// The whole body.
  public var content: Content { parts.content }
  /// Whether the answer has a `Location` that is left out of the headers: `Redirect` must not take it for none.
  var hidesLocation: Bool { parts.hidesLocation }

  /// One reference, because every future of a chain has a copy.
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

  /// The whole body, in memory; empty if there is none.
  ///
  /// - Throws: `HTTPError` with the code `bodyInFile` if the request asked for `ResponseDelivery.file`: a file is never taken
  ///   for an empty body. `content` tells where it is.
  public var body: Data {
    get throws(HTTPError) {
      switch content {
      case .data(let data): return data
      case .file(_, let size):
        throw HTTPError(
          .bodyInFile, "The \(size) bytes of the body are in a file, as \(request) asked. Use `content` to find it.")
      }
    }
  }

  /// How many bytes the body has, wherever it is.
  public var bodySize: Int {
    switch content {
    case .data(let data): data.count
    case .file(_, let size): size
    }
  }

  /// An answer, for loaders of your own and for tests.
  public init(to request: HTTPRequest, status: HTTPStatus, headers: HTTPHeaders = HTTPHeaders(), body: Data = Data()) {
    self.init(to: request, status: status, headers: headers, content: .data(body))
  }

  /// An answer whose body is in memory or in a file, for loaders of your own and for tests.
  public init(to request: HTTPRequest, status: HTTPStatus, headers: HTTPHeaders = HTTPHeaders(), content: Content) {
    self.init(to: request, status: status, headers: headers, content: content, hidesLocation: false)
  }

  init(to request: HTTPRequest, status: HTTPStatus, headers: HTTPHeaders, content: Content, hidesLocation: Bool) {
    parts = Parts(request, status, headers, content, hidesLocation: hidesLocation)
  }

  /// The same answer, to another request.
  func answering(_ request: HTTPRequest) -> HTTPResponse {
    HTTPResponse(to: request, status: status, headers: headers, content: content, hidesLocation: hidesLocation)
  }
}

extension HTTPResponse: CustomStringConvertible, CustomReflectable {
  /// Request, status and size, without the body and the values of the headers, which may be secrets.
  public var description: String { "\(request): \(status), \(bodySize) bytes" + (isInFile ? " in a file" : "") }

  public var customMirror: Mirror {
    Mirror(self, children: ["response": description, "headers": headers], displayStyle: .struct)
  }

  private var isInFile: Bool {
    if case .file = content { true } else { false }
  }
}

extension HTTPResponse.Content: CustomStringConvertible, CustomReflectable {
  /// The size, without the bytes and without the path, which may be secrets.
  public var description: String {
    switch self {
    case .data(let data): "\(data.count) bytes"
    case .file(_, let size): "\(size) bytes in a file"
    }
  }

  public var customMirror: Mirror { Mirror(self, children: ["content": description], displayStyle: .enum) }
}
