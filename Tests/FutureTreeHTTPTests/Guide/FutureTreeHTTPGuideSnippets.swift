import FutureTree
import FutureTreeHTTP
import FutureTreeTesting
import GuideSupport
import Testing

/// The code of the landing page, word for word. `HTTPGuideTests` compares the two.
@Suite("Guide: FutureTreeHTTP")
struct FutureTreeHTTPGuideSnippets {
  private struct User: Decodable {}

  @Test("a chain is one expression")
  func chain() throws {
    let production = try ServerEnvironment(scheme: .http, host: "localhost", port: 9)

    // guide chain
    let api =
      ResetGuard() --> Autocancel() --> ApplyEnvironment(production)
      --> ModifyRequest { request in
        var request = request
        try request.setHeader("Accept", "application/json")
        return request
      } --> URLSessionLoader()

    let user = api.load(try HTTPRequest(.get, path: "users/1")).validated().decoded(as: User.self)
    user.cancel(reason: "the page was closed")
    // end

    #expect(user.cancelRequest?.reason.message == "the page was closed")
  }
}
