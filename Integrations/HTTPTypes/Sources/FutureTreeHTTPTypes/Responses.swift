import Foundation
import FutureTreeHTTP
import HTTPTypes

extension FutureTreeHTTP.HTTPResponse {
  /// Creates a response from a response of swift-http-types, as a transport would.
  ///
  /// The rules are those of `ResponseReceiver`: fields with invalid values are omitted, a body that does not match its `Content-Length`
  /// is an error, and an encoded body stays encoded. The body is in a file if the request asks for one. The reason phrase is lost.
  ///
  /// - Parameters:
  ///   - head: The status and the fields. An informational response is none.
  ///   - request: The request.
  ///   - body: The whole body. Defaults to none.
  ///   - trailers: The fields after the body. Defaults to none.
  /// - Throws: `HTTPError` with the code `truncatedBody`, `ambiguousBody`, `unwritableBody` or `invalidResponse`.
  public init(
    _ head: HTTPTypes.HTTPResponse, to request: FutureTreeHTTP.HTTPRequest, body: Data = Data(),
    trailers: HTTPFields = HTTPFields()
  ) throws(HTTPError) {
    var receiver = try ResponseReceiver(for: request, maximumSize: .max)
    try receiver.receiveHead(HTTPStatus(head.status), head.headerFields.map { ($0.name.rawName, $0.value) })
    if !body.isEmpty { try receiver.receive(body) }
    receiver.receiveTrailers(trailers.map { ($0.name.rawName, $0.value) })
    self = try receiver.finish()
  }
}

extension HTTPTypes.HTTPResponse {
  /// Creates the head of a response. Its body is lost. `HTTPFields(response.trailers, of: response.request)` has the fields after it.
  ///
  /// Secrets, such as `Set-Cookie`, have the indexing strategy `disallow`.
  ///
  /// - Throws: `HTTPError` with the code `invalidResponse` if the status is not in 0 to 999, which no transport returns, or
  ///   `invalidHeaderValue` if there are too many fields for `HTTPFields`.
  /// - Complexity: O(n) in the number of fields.
  public init(_ response: FutureTreeHTTP.HTTPResponse) throws(HTTPError) {
    guard let status = Status(response.status) else {
      throw HTTPError(.invalidResponse, "The status \(response.status) is not in 0 to 999. Correct the loader.")
    }
    self.init(status: status, headerFields: try HTTPFields(response.headers, of: response.request))
  }
}
