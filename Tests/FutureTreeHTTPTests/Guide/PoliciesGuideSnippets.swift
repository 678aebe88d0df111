import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeOAuth2
import TestSupport
import Testing

/// The code of the article *Policies*, word for word. `HTTPGuideTests` compares the two.
@Suite("Guide: Policies", .onSockets)
struct PoliciesGuideSnippets {
  private let print = Transcript()

  @Test("The chain of all policies is one expression")
  func chain() throws {
    let production = try ServerEnvironment(scheme: .http, host: "localhost", port: 9)
    let secret = "secret"

    // guide chain
    let oauth = OAuth2(
      OAuth2Configuration(
        client: .confidential(id: "app", secret: secret), tokenEndpoint: try HTTPURL("https://id.example.com/token"),
        grant: .clientCredentials), tokens: SystemLoader())

    let api =
      ResetGuard() --> Autocancel() --> Log() --> ApplyEnvironment(production) --> Coalesce() --> Retry() --> oauth
      --> Throttle(4) --> Timeout(attempt: .seconds(30)) --> Redirect() --> SystemLoader()
    // end

    let reset = api.reset()
    #expect(reset.cancelRequest == nil)
  }

  @Test("The tree of a load names the layers")
  func tree() throws {
    let loader = MockLoader()
    let held = loader.hold()
    let request = try HTTPRequest("https://example.com/feed")

    // guide tree
    let load = (ResetGuard() --> Retry() --> Throttle(4) --> loader).load(request)
    print(load.tree())
    // end

    let drawings = try Guide("Policies", of: "FutureTreeHTTP").page().blocks.filter { $0.language == "text" }
    #expect(drawings.map(\.text) == [print.lines.joined(separator: "\n") + "\n"])
    held.answer()
  }

  @Test("A request carries its options")
  func options() throws {
    // guide options
    var request = try HTTPRequest("https://example.com/feed")
    request.deadline = .after(.seconds(10))
    request.priority = .high
    request.retry = .exponential(attempts: 5)
    // end

    #expect(request.deadline.map { $0.remaining > .zero } == true)
  }

  @Test("A request is printed as a cURL command")
  func curl() throws {
    let request = try HTTPRequest("https://example.com/feed")

    // guide curl
    print(request.curl())  // curl --url 'https://example.com/feed'
    // end

    #expect(print.lines == ["curl --url 'https://example.com/feed'"])
  }
}
