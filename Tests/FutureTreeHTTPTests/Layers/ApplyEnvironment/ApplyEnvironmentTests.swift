import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import TestSupport
import Testing

@Suite("Layers: ApplyEnvironment")
struct ApplyEnvironmentTests {
  private let mock = MockLoader()
  private let production = try! ServerEnvironment(host: "example.com", pathPrefix: "/v1", headers: [("X-One", "1")])
  private let staging = try! ServerEnvironment(scheme: .http, host: "staging.example.com", port: 8080)

  private func sent(_ request: HTTPRequest, by environment: ServerEnvironment?) -> String? {
    mock.answer()
    _ = (ApplyEnvironment(environment) --> mock).load(request)
    return mock.requests.last?.url?.absoluteString
  }

  @Test("The environment fills in the missing parts of a request")
  func fillsIn() throws {
    let request = try HTTPRequest(.get, path: "users/1")

    #expect(sent(request, by: production) == "https://example.com/v1/users/1")
    expectEqual(mock.requests[0].headers["x-one"], "1")
  }

  @Test("The environment of a request takes precedence")
  func ofRequest() throws {
    var request = try HTTPRequest(.get, path: "/users/1")
    request.serverEnvironment = staging

    #expect(sent(request, by: production) == "http://staging.example.com:8080/users/1")
    #expect(sent(request, by: nil) == "http://staging.example.com:8080/users/1")
  }

  @Test("A request to another origin passes unchanged (H10, credentials never cross an origin)")
  func otherOrigin() throws {
    let request = try HTTPRequest("https://elsewhere.example/a")

    #expect(sent(request, by: production) == "https://elsewhere.example/a")
    #expect(mock.requests[0].headers["x-one"] == nil)
  }

  @Test("A request passes unchanged without an environment")
  func none() throws {
    #expect(sent(try HTTPRequest("http://example.com/a"), by: nil) == "http://example.com/a")
  }

  @Test("Cancellation requests and resets are forwarded")
  func passes() throws {
    let held = mock.hold()
    let api = ApplyEnvironment(production) --> mock
    let load = api.load(try HTTPRequest(.get, path: "a"))

    load.cancel()
    held.complete(.cancelled)

    expectEqual(load.text, "cancelled")
    expectEqual(api.reset().text, "success")
  }
}
