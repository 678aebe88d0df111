import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("Trailers of requests") struct RequestTrailersTests {
  @Test("A sending counts its own bytes")
  func sendings() throws {
    let trailers = try RequestTrailers.counting()
    let (first, second) = (trailers.begin(), trailers.begin())
    first.receive(Data("ab".utf8))
    second.receive(Data("c".utf8))
    first.receive(Data("de".utf8))

    expectEqual(try first.finish().map { "\($0.name): \($0.value)" }, ["X-Count: 4"])
    expectEqual(try second.finish()["x-count"], "1")
  }

  @Test(
    "A field that a server needs before the body is refused",
    arguments: [
      "Content-Length", "transfer-encoding", "Host", "Trailer", "TE", "Authorization", "COOKIE", "Content-Type",
      "Content-Encoding", "Content-Range", "Range", "If-Match", "Cache-Control", "Max-Forwards", "Proxy-Authorization",
    ])
  func forbidden(name: String) throws {
    let error = #expect(throws: HTTPError.self) {
      try RequestTrailers([name], from: 0) { _, _ in
      } fields: { _ in
        [:]
      }
    }
    expectEqual(error?.code, .forbiddenHeader)
  }

  @Test("A name that is no token is refused")
  func token() throws {
    let error = #expect(throws: HTTPError.self) {
      try RequestTrailers(["X Y"], from: 0) { _, _ in
      } fields: { _ in
        [:]
      }
    }
    expectEqual(error?.code, .invalidHeaderName)
  }

  @Test("A transport that sends no trailers refuses a body with them, and its error names the request")
  func unsupported() async throws {
    var request = try HTTPRequest(.put, "http://127.0.0.1:1/film")
    request.trailers = try .counting()
    let limits = HTTPExchange.Limits(timeout: nil, idleTimeout: nil, maximumBodySize: 1)
    #expect(try HTTPExchange(of: request, limits).trailers == nil)  // There is no body.
    request.body = .data(Data("film".utf8))
    expectEqual(try HTTPExchange(of: request, limits, sendsTrailers: true).trailers?.names, ["X-Count", "X-Sum"])

    let error = await #expect(throws: HTTPError.self) { try await URLSessionLoader().load(request).value }
    expectEqual(error?.code, .unsupportedTrailers)
    #expect(error?.message.hasPrefix("PUT http://127.0.0.1:1/film: ") == true)
    request.trailers = nil
    #expect(try HTTPExchange(of: request, limits).trailers == nil)
  }
}
