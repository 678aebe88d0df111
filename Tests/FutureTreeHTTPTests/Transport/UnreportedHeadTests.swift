import Foundation
import TestSupport
import Testing

@testable import FutureTreeHTTP

/// Row 37 of the article *URLSession on Linux*.
@Suite("ResponseReceiver, unreported redirects") struct UnreportedHeadTests {
  /// The status of the response with its size, or the code of the error.
  private func ending(_ status: Int, _ fields: [(String, String)] = [], of method: HTTPMethod = .get) throws -> String {
    let request = try HTTPRequest(method, "http://example.com/")
    do throws(HTTPError) {
      var receiver = try ResponseReceiver(for: request, maximumSize: 10)
      try receiver.receiveUnreportedHead(HTTPStatus(status), fields.map { (name: $0, value: $1) })
      let response = try receiver.finish()
      return "\(response.status) with \(response.bodySize) bytes"
    } catch {
      return "\(error.code)"
    }
  }

  @Test("An empty body is whole, and a body of another or unknown length is lost")
  func bodies() throws {
    try expectEqual(ending(302, [("Content-Length", "0")]), "302 with 0 bytes")
    try expectEqual(ending(302), "invalidRedirect")
    try expectEqual(ending(302, [("Content-Length", "2")]), "invalidRedirect")
    try expectEqual(ending(302, of: .head), "302 with 0 bytes")
  }
}
