import FutureTree
import FutureTreeHTTP
import FutureTreeOAuth2
import HTTPTestSupport
import Testing

/// The code of the landing page, word for word. `OAuth2GuideTests` compares the two.
@Suite("Guide: FutureTreeOAuth2")
struct FutureTreeOAuth2GuideSnippets {
  @Test("A chain that adds tokens")
  func example() throws {
    let secret = sentinel

    // guide example
    let oauth = OAuth2(
      OAuth2Configuration(
        client: .confidential(id: "app", secret: secret), tokenEndpoint: try HTTPURL("https://id.example.com/token"),
        grant: .clientCredentials), tokens: URLSessionLoader())
    let api = ResetGuard() --> Autocancel() --> Retry() --> oauth --> Redirect() --> URLSessionLoader()
    // end

    #expect(api.reset().cancelRequest == nil)
  }
}
