import Foundation
import FutureTree
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTP
@testable import FutureTreeOAuth2

@Suite("Layers: RefreshOnUnauthorized") struct RefreshOnUnauthorizedTests {
  let mock = MockLoader()
  let changes = Locked<[String?]>([])

  static func token(_ text: String) -> BearerToken { try! BearerToken(text) }  // The tests use valid tokens only.

  /// A layer that begins with the token `a1`, and refreshes it with loads of `/refresh` through the next loader.
  func refreshing(_ token: String? = "a1", for targets: CredentialTargets = .everyRequest)
    -> RefreshOnUnauthorized
  {
    RefreshOnUnauthorized(token.map(Self.token), for: targets, refreshesWithoutToken: true) { loader in
      loader.load(try HTTPRequest("https://example.com/refresh")).map { response in
        try BearerToken(String(decoding: try response.body, as: UTF8.self))
      }
    } onChange: { [changes] token in
      changes.withLock { $0.append(token?.text) }
    }
  }

  func request(_ path: String = "/", body: HTTPBody = .empty) -> HTTPRequest {
    var request = try! HTTPRequest(.post, "https://example.com\(path)")
    request.body = body
    return request
  }

  /// The path and the token of each request.
  var sent: [String] {
    mock.requests.map { $0.path + ($0.headers["Authorization"].map { " " + $0.dropFirst(7) } ?? "") }
  }

  func reject(_ token: String?) {
    let rejected: RequestMatcher =
      token.map { .header("Authorization", "Bearer \($0)") }
      ?? .matching("no token") { $0.headers["Authorization"] == nil }
    mock.on(rejected && !.path("/refresh"), .status(.unauthorized).forever())
  }

  @Test("A 401 refreshes the token, and the request is sent again with its body and the new token")
  func refreshes() {
    reject("a1")
    mock.on("/refresh", .text("a2"))
    mock.onOthers(.make { HTTPResponse(to: $0, status: .ok, body: $0.body.data ?? Data()) })
    let layer = refreshing()

    let load = (layer --> mock).load(request("/x", body: .data(Data("body".utf8))))

    expectEqual((try? load.outcomeIfCompleted?.get().body), Data("body".utf8))
    expectEqual(sent, ["/x a1", "/refresh", "/x a2"])
    expectEqual(layer.token, Self.token("a2"))
    expectEqual(changes.value, ["a2"])
    #expect(layer.isIdle)
  }

  @Test("Requests are sent without a token until a 401 requires one")
  func withoutToken() {
    reject(nil)
    mock.on("/refresh", .text("a1"))
    mock.onOthers(.status(.ok))
    let layer = refreshing(nil)

    expectEqual((layer --> mock).load(request("/x")).status, "200")
    expectEqual((layer --> mock).load(request("/y")).status, "200")
    expectEqual(sent, ["/x", "/refresh", "/x a1", "/y a1"])
    #expect(layer.isIdle)
  }

  @Test("Without a token a 401 is the response, even after a reset")
  func noTokenNoRefresh() throws {
    mock.onOthers(.status(.unauthorized))
    let layer = RefreshOnUnauthorized(Self.token("a1")) { _ in .failed(Oops()) }
    let api = layer --> mock

    api.reset()
    expectEqual(api.load(request("/x")).status, "401")
    expectEqual(sent, ["/x"])
    layer.replaceToken(with: Self.token("a2"))
    expectEqual(api.load(request("/y")).text, "credentialsUnavailable")
    expectEqual(sent, ["/x", "/y a2"])
    #expect(layer.isIdle)
  }

  @Test("A load that was sent before the login takes the new token after its 401")
  func logInInBetween() {
    let held = mock.hold("/x")
    mock.on(.header("Authorization", "Bearer a1"), .status(.ok))
    let layer = RefreshOnUnauthorized { _ in .failed(Oops()) }
    let load = (layer --> mock).load(request("/x"))

    layer.replaceToken(with: Self.token("a1"))
    held.answer(.status(.unauthorized))

    expectEqual(load.status, "200")
    expectEqual(sent, ["/x", "/x a1"])
  }

  @Test("Without a 401 no token is fetched")
  func anonymous() {
    mock.onOthers(.status(.ok))

    expectEqual((refreshing(nil) --> mock).load(request("/x")).status, "200")
    expectEqual(sent, ["/x"])
    #expect(changes.value.isEmpty)
  }

  @Test("All waiting loads share one refresh, also those that arrive during it", arguments: ["a1", nil])
  func oneRefresh(token: String?) {
    reject(token)
    let refresh = mock.hold("/refresh")
    mock.onOthers(.status(.ok))
    let layer = refreshing(token)
    let loads = (0..<100).map { (layer --> mock).load(request("/\($0)")) }

    expectEqual(refresh.isCompleted, false)
    #expect(loads.allSatisfy { !$0.isCompleted })
    refresh.answer(.text("a2"))

    #expect(loads.allSatisfy { $0.status == "200" })
    expectEqual(sent.filter { $0 == "/refresh" }.count, 1)
    #expect(layer.isIdle)
  }

  @Test("The refresh is skipped if the token has changed since the request was sent")
  func skips() {
    let late = mock.hold("/late")
    reject("a1")
    mock.on("/refresh", .text("a2"))
    mock.onOthers(.status(.ok))
    let layer = refreshing()
    let load = (layer --> mock).load(request("/late"))
    _ = (layer --> mock).load(request("/x"))

    late.answer(.status(.unauthorized))

    expectEqual(load.status, "200")
    expectEqual(sent, ["/late a1", "/x a1", "/refresh", "/x a2", "/late a2"])
  }

  @Test("A second 401 is the response")
  func onlyOnce() {
    mock.on("/refresh", .text("a2").forever())
    mock.onOthers(.status(.unauthorized))

    expectEqual((refreshing() --> mock).load(request("/x")).status, "401")
    expectEqual(sent, ["/x a1", "/refresh", "/x a2"])
  }

  @Test("A body that cannot be replayed is not sent again, and the next load refreshes first")
  func onceBody() {
    reject("a1")
    mock.on("/refresh", .text("a2"))
    mock.onOthers(.status(.ok))
    let layer = refreshing()
    let body = HTTPBody.stream(isReplayable: false) { HTTPBodyReader(InputStream(data: Data())) }

    expectEqual((layer --> mock).load(request("/x", body: body)).status, "401")
    expectEqual((layer --> mock).load(request("/y")).status, "200")
    expectEqual(sent, ["/x a1", "/refresh", "/y a2"])
  }

  @Test("A 401 from another origin, to a request without the token, or about the scope is the response")
  func otherOrigin() throws {
    let elsewhere = try HTTPRequest("https://example.org/")
    var headers = HTTPHeaders()
    try headers.set("WWW-Authenticate", "Bearer error=\"insufficient_scope\"")
    mock.on("/redirected", .make { _ in HTTPResponse(to: elsewhere, status: .unauthorized) })
    mock.on("/stripped", .make { [request] _ in HTTPResponse(to: request("/stripped", .empty), status: .unauthorized) })
    mock.on("/scope", .respond(status: .unauthorized, headers: headers))
    let api = refreshing() --> mock

    expectEqual(["/redirected", "/stripped", "/scope"].map { api.load(request($0)).status }, ["401", "401", "401"])
    expectEqual(mock.requests.count, 3)
  }

  @Test(
    "Any other challenge starts a refresh",
    arguments: ["Basic realm=\"x\"", "Token", "Bearer error=\"invalid_token\""])
  func challenges(challenge: String) throws {
    var headers = HTTPHeaders()
    try headers.set("WWW-Authenticate", challenge)
    mock.on("/x", .respond(status: .unauthorized, headers: headers), .status(.ok))
    mock.on("/refresh", .text("a2"))

    expectEqual((refreshing() --> mock).load(request("/x")).status, "200")
  }

  @Test("The token is sent only to its targets and over https, and a request's own header is retained")
  func targets() throws {
    mock.onOthers(.status(.unauthorized))
    let api = refreshing(for: .origins(try HTTPURL("https://example.com/"))) --> mock
    var own = request("/own")
    try own.setHeader("Authorization", "Bearer own")

    #expect(api.load(try HTTPRequest("https://example.org/else")).status == "401")
    expectEqual(api.load(own).status, "401")
    #expect((refreshing() --> mock).load(try HTTPRequest("http://example.com/")).text == "insecureCredentials")
    expectEqual(sent, ["/else", "/own own"])
  }

  @Test("A failed refresh fails all waiting loads, and the next load refreshes before it is sent")
  func fails() {
    reject("a1")
    let refresh = [mock.hold("/refresh"), mock.hold("/refresh")]
    mock.onOthers(.status(.ok))
    let layer = refreshing()
    let loads = (0..<3).map { (layer --> mock).load(request("/\($0)")) }

    refresh[0].complete(.failure(Oops()))
    expectEqual(loads.map(\.text), Array(repeating: "credentialsUnavailable", count: 3))
    let next = (layer --> mock).load(request("/next"))
    refresh[1].answer(.text("a2"))

    expectEqual(next.status, "200")
    #expect(layer.isIdle)
    expectEqual(sent.suffix(2), ["/refresh", "/next a2"])
  }

  @Test("A failed refresh is not repeated for loads that were sent before it", arguments: ["a1", nil])
  func storm(token: String?) {
    let held = mock.on(!.path("/refresh") && !.path("/next"), .hold().forever())
    let refreshes = Locked(0)
    let layer = RefreshOnUnauthorized(token.map(Self.token), refreshesWithoutToken: true) { _ in
      refreshes.withLock { $0 += 1 }
      throw Oops()
    }
    let loads = (0..<10).map { (layer --> mock).load(request("/\($0)")) }

    for held in held.held { held.answer(.status(.unauthorized)) }
    #expect(loads.allSatisfy { $0.text == "credentialsUnavailable" })
    expectEqual(refreshes.value, 1)
    mock.on("/next", .status(.unauthorized).forever())

    #expect((layer --> mock).load(request("/next")).text == "credentialsUnavailable")
    expectEqual(refreshes.value, 2)
  }

  @Test("Without a token, requests over plain http and relative paths pass")
  func nothingToProtect() throws {
    mock.onOthers(.status(.ok))
    let api = refreshing(nil) --> anyHost --> mock

    #expect(api.load(try HTTPRequest("http://example.com/")).status == "200")
    expectEqual(api.load(try HTTPRequest(.get, path: "users")).status, "200")
  }

  @Test("An error that the closure throws fails the refresh")
  func throwing() {
    reject("a1")
    let api = RefreshOnUnauthorized(Self.token("a1")) { _ in throw Oops() } --> mock

    expectEqual(api.load(request()).text, "credentialsUnavailable")
  }

  @Test("Loads of the refresh closure and of its tasks bypass the layer")
  func bypass() async throws {
    reject("a1")
    mock.on("/refresh", .text("a2").times(2))
    mock.onOthers(.status(.ok))
    for startsTask in [false, true] {
      let chain = Locked<(any HTTPLoader)?>(nil)
      let layer = RefreshOnUnauthorized(Self.token("a1")) { _ in
        guard let api = chain.value else { throw Oops() }
        let request = try HTTPRequest("https://example.com/refresh")
        let response = startsTask ? Future.task { try await api.load(request).value } : api.load(request)
        return response.map { try BearerToken(String(decoding: try $0.body, as: UTF8.self)) }
      }
      chain.value = (layer --> mock)

      try await expectEqual(chain.value?.load(request()).value.status, .ok)
    }
    #expect(mock.requests.filter { $0.path == "/refresh" }.allSatisfy { $0.headers["Authorization"] == nil })
  }

  @Test("A load that follows a waiting load does not bypass the layer, even if a task completed the refresh")
  func afterRefresh() async throws {
    reject("a1")
    mock.onOthers(.status(.ok))
    let layer = RefreshOnUnauthorized(Self.token("a1")) { _ in
      .task {
        await Task.yield()
        return Self.token("a2")
      }
    }
    let api = layer --> mock

    let second = api.load(request("/1")).flatMap { [request] _ in api.load(request("/2", .empty)) }

    #expect(try await second.value.status == .ok && sent == ["/1 a1", "/1 a2", "/2 a2"])
  }
}
