import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeHummingbird
import FutureTreeTesting
import Hummingbird
import NIOConcurrencyHelpers
import ServerTestSupport
import Testing

@Suite("Bodies of responses") struct ResponseBodyTests {
  private let router = Router(context: TestContext.self)

  /// Sends a request, and `GET /next` on the same connection. Returns the first response.
  private func first(_ method: String, _ path: String, _ field: String = "X: 1") async throws -> String {
    router.future(.get, "next") { _, _ in .succeeded("the next response") }
    let received = NIOLockedValueBox("")
    try await withServer(router) { address in
      let client = try await RawClient.connect(to: address)
      try await client.send(
        "\(method) \(path) HTTP/1.1\r\nHost: a\r\n\(field)\r\n\r\nGET /next HTTP/1.1\r\nHost: a\r\n\r\n")
      let text = try await client.receive(through: "the next response")
      received.withLockedValue { $0 = text }
    }
    let responses = received.withLockedValue { $0 }.components(separatedBy: "HTTP/1.1 ")
    #expect(responses.count == 3 && responses.first == "")
    return responses[1]
  }

  private func respond(_ status: Int, _ body: String, method: HTTPMethod = .get) {
    router.future(.init(rawValue: method.name)!, "x") { _, _ in
      .succeeded(
        HTTPResponse(to: try HTTPRequest("http://backend/"), status: HTTPStatus(status), body: Data(body.utf8)))
    }
  }

  @Test("A 204 and a 304 have no body, whatever the handler returns", arguments: [204, 304])
  func noBody(status: Int) async throws {
    respond(status, "unwanted")

    let text = try await first("GET", "/x")

    #expect(text.hasPrefix("\(status) ") && text.hasSuffix("\r\n\r\n"))
    #expect(!text.lowercased().contains("content-length") && !text.lowercased().contains("transfer-encoding"))
  }

  @Test(
    "A status that is not one of a final response is a 502", arguments: [-1, 0, 99, 100, 101, 103, 199, 1000, Int.max])
  func invalidStatus(status: Int) async throws {
    respond(status, "unwanted")

    #expect(try await first("GET", "/x").hasPrefix("502 "))
  }

  @Test("A response to HEAD has the length of the body that it does not have")
  func headLength() async throws {
    respond(200, "hello", method: .head)

    let text = try await first("HEAD", "/x")

    #expect(text.contains("\r\nContent-Length: 5\r\n") && text.hasSuffix("\r\n\r\n"))
  }

  @Test("The response to a HEAD with an invalid timeout has no body")
  func invalidFieldOfHead() async throws {
    respond(200, "", method: .head)

    let text = try await first("HEAD", "/x", "request-timeout: soon")

    #expect(text.hasPrefix("400 ") && text.hasSuffix("\r\n\r\n"))
  }
}
