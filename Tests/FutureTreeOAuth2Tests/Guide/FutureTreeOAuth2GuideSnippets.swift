import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
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
        grant: .clientCredentials), tokens: SystemLoader())
    let api = ResetGuard() --> Autocancel() --> Retry() --> oauth --> Redirect() --> SystemLoader()
    // end

    #expect(api.reset().cancelRequest == nil)
  }

  @Test("A 403 rejects a token")
  func forbidden() throws {
    let mock = MockLoader()
    let renewal = try HTTPRequest("https://example.com/renewal")
    let savedToken = try BearerToken("a1")
    mock.on("/renewal", .text("a2"))
    mock.on(.header("Authorization", "Bearer a1"), .status(.forbidden))
    mock.onOthers(.status(.ok))

    // guide rejection
    let refresh = RefreshOnUnauthorized(
      savedToken, rejection: .responses { $0.status == .forbidden || TokenRejection.unauthorized.includes($0) }
    ) { loader in
      loader.load(renewal).validated().map { try BearerToken(String(decoding: try $0.body, as: UTF8.self)) }
    }
    // end

    #expect((refresh --> mock).load(try HTTPRequest("https://example.com/x")).status == "200")
    #expect(refresh.token?.text == "a2")
  }
}
