import Foundation

/// The answer to a request, with its whole body.
public struct HTTPResponse: Sendable {
  /// What was asked.
  public let request: HTTPRequest
  /// What became of it.
  public let status: HTTPStatus
  /// The header fields. Platforms join fields of one name, and may change their order and the case of their names.
  public let headers: HTTPHeaders
  /// The whole body; empty if there is none.
  public let body: Data

  /// An answer, for loaders of your own and for tests.
  public init(to request: HTTPRequest, status: HTTPStatus, headers: HTTPHeaders = HTTPHeaders(), body: Data = Data()) {
    self.request = request
    self.status = status
    self.headers = headers
    self.body = body
  }
}

extension HTTPResponse: CustomStringConvertible, CustomReflectable {
  /// Request, status and size, without the body and the values of the headers, which may be secrets.
  public var description: String { "\(request): \(status), \(body.count) bytes" }

  public var customMirror: Mirror {
    Mirror(self, children: ["response": description, "headers": headers], displayStyle: .struct)
  }
}
