import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

/// The code of the landing page, word for word. `HTTPGuideTests` compares the two.
@Suite("Guide: FutureTreeHTTP", .onSockets)
struct FutureTreeHTTPGuideSnippets {
  private struct User: Decodable {}

  @Test("A chain is one expression")
  func chain() throws {
    let server = try Loopback.server()
    server.on("/users/1", .stall)
    let production = try ServerEnvironment(scheme: .http, host: "127.0.0.1", port: UInt16(server.port))

    // guide chain
    let api =
      ResetGuard() --> Autocancel() --> ApplyEnvironment(production)
      --> ModifyRequest { request in try request.setHeader("Accept", "application/json") } --> SystemLoader()

    let user = api.get("users/1", as: User.self)
    user.cancel(reason: "the page was closed")
    // end

    #expect(user.cancelRequest?.reason.message == "the page was closed")
  }
}
