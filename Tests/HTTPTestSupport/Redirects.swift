import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting

extension MockAnswer {
  /// Returns a redirect with one `Location` field for each text.
  package static func redirect(_ status: Int = 302, to locations: String...) -> MockAnswer {
    var headers = HTTPHeaders()
    for location in locations { try! headers.add("Location", location) }  // The tests give valid values.
    return .respond(status: HTTPStatus(status), headers: headers, body: Data("moved".utf8))
  }
}

extension HeldAnswer {
  /// Completes the load with a redirect.
  @discardableResult
  package func redirect(_ status: Int = 302, to location: String) -> Bool {
    let headers = try! HTTPHeaders([("Location", location)])  // The tests give valid values.
    return answer(status: HTTPStatus(status), headers: headers)
  }
}

extension MockLoader {
  /// Redirects the next requests, one after the other, and then answers.
  package func redirect(_ status: Int = 302, to locations: String...) {
    for location in locations { on(.any, .redirect(status, to: location)) }
    answer(body: "there")
  }

  /// The method and the URL of each request.
  package var sent: [String] { requests.map { "\($0.method) \($0.url?.absoluteString ?? $0.path)" } }
}

extension HTTPRequest {
  /// Returns a request with header fields and a body.
  package static func sending(
    _ method: HTTPMethod, _ url: String, headers: [(String, String)] = [], body: HTTPBody = .empty
  ) throws -> HTTPRequest {
    var request = try HTTPRequest(method, url)
    for (name, value) in headers { try request.addHeader(name, value) }
    request.body = body
    return request
  }
}

extension Outcome<HTTPResponse> {
  package var error: HTTPError? {
    if case .failure(let error as HTTPError) = self { error } else { nil }
  }

  package var value: HTTPResponse? {
    if case .success(let response) = self { response } else { nil }
  }

  /// The message of the cancellation reason.
  package var reason: String? {
    if case .cancelled(let reason) = self { reason.message } else { nil }
  }
}
