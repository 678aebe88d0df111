import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("H10: credentials never cross an origin", .tags(.h10), .onSockets, .timeLimit(.minutes(20)))
struct H10OriginTests {
  @Test(
    "A redirect to another origin is the response, and no request goes there", arguments: [301, 302, 303, 307, 308])
  func redirect(status: Int) async throws {
    let (server, other) = (try Loopback.server(), try Loopback.server())
    server.on("/", .respond(status: status, headers: [("Location", other.url("/"))]))
    var request = try HTTPRequest(server.url("/"))
    try request.setHeader("Authorization", "Bearer \(sentinel)")

    let response = try await SystemLoader(.patient).load(request).value

    expectEqual(response.status.code, status)
    expectEqual(server.record.requests.count, 1)
    #expect(other.record.requests.isEmpty)
  }

  @Test("An environment adds its headers and its query only to requests for its origin")
  func environment() throws {
    let mock = MockLoader()
    mock.answer()
    let server = try ServerEnvironment(
      host: "example.com", headers: [("Authorization", sentinel)], query: [("key", sentinel)])

    let load = (ApplyEnvironment(server) --> mock).load(try HTTPRequest("http://example.com/a"))

    #expect(load.text == "success" && mock.requests[0].headers.isEmpty && mock.requests[0].query == nil)
  }
}
