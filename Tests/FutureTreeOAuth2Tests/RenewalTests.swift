import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeOAuth2

@Suite("Renewing tokens: OAuth2")
struct RenewalTests {
  private func clientRig() -> OAuth2Rig {
    OAuth2Rig(.clientCredentials, isEmpty: true, client: .confidential(id: "app", secret: "sesame"))
  }

  @Test(
    "A token that lives no longer than the leeway is used until a quarter of its life is left", arguments: [30, 60])
  func shortLife(life: Int) {
    let rig = clientRig()
    rig.mock.onOthers(.status(.ok))
    rig.tokens.onOthers(.json(#"{"access_token":"a","token_type":"Bearer","expires_in":\#(life)}"#))

    for _ in 0..<20 { _ = rig.api.load(rig.request()) }
    rig.clock.advance(by: .milliseconds(life * 750 - 1))
    _ = rig.api.load(rig.request())
    expectEqual(rig.sent.count, 21)
    expectEqual(rig.tokens.requests.count, 1)
    rig.clock.advance(by: .milliseconds(1))
    _ = rig.api.load(rig.request())

    expectEqual(rig.tokens.requests.count, 2)
    #expect(rig.isIdle)
  }

  @Test(
    "A refusal that a repeat cannot cure ends the session",
    arguments: [
      (400, "invalid_grant", "authenticationRequired"), (200, "bad_refresh_token", "authenticationRequired"),
      (400, "invalid_refresh_token", "authenticationRequired"), (401, "invalid_token", "authenticationRequired"),
      (400, "expired_token", "authenticationRequired"), (400, "interaction_required", "authenticationRequired"),
      (400, "login_required", "authenticationRequired"), (400, "consent_required", "authenticationRequired"),
      (400, "INVALID_GRANT", "authenticationRequired"), (401, "unheard_of", "authenticationRequired"),
      (401, nil, "authenticationRequired"), (401, "invalid_client", "tokenRefused"),
      (400, "unauthorized_client", "tokenRefused"), (400, "unsupported_grant_type", "tokenRefused"),
      (400, "invalid_scope", "tokenRefused"), (400, "invalid_request", "tokenRefused"),
    ] as [(Int, String?, String)])
  func final(status: Int, error: String?, code: String) {
    let rig = OAuth2Rig()
    rig.refuseFirstToken()
    let body = error.map { #"{"error":"\#($0)"}"# } ?? "<html>"
    rig.tokens.on(.any, .json(body, status: HTTPStatus(status)).forever())

    let loads = (0..<50).map { _ in rig.api.load(rig.request()).text }
    #expect(Set(loads) == [code] && rig.asked == [OAuth2Rig.refresh(1)] && rig.sent == ["a1"])
    rig.oauth.replaceCredential(with: OAuth2Credential(accessToken: try! BearerToken("a9")))

    expectEqual(rig.api.load(rig.request()).status, "200")
    #expect(rig.isIdle)
  }

  @Test(
    "After a failure that can pass, at most 5 refreshes begin at once, and then one every 6 seconds",
    arguments: [
      .status(.serviceUnavailable), .status(.tooManyRequests), .status(HTTPStatus(408)),
      .json(#"{"error":"temporarily_unavailable"}"#, status: .badRequest),
      .json(#"{"error":"slow_down"}"#, status: .badRequest),
      .json(#"{"error":"unheard_of"}"#, status: .badRequest), .json("<html>", status: .forbidden), .json("<html>"),
      .fail(HTTPError(.connectionLost, "lost")),
    ] as [MockAnswer])
  func limited(answer: MockAnswer) {
    let rig = OAuth2Rig()
    rig.refuseFirstToken()
    rig.tokens.on(.any, answer.times(5), .json(OAuth2Rig.json(2)))

    let loads = (0..<50).map { _ in rig.api.load(rig.request()).text }
    expectEqual(loads.count { $0 == "refreshPaused" }, 45)
    #expect(loads.suffix(45).allSatisfy { $0 == "refreshPaused" })
    expectEqual(rig.asked, Array(repeating: OAuth2Rig.refresh(1), count: 5))
    expectEqual(rig.sent, ["a1"])
    rig.clock.advance(by: .milliseconds(5999))
    expectEqual(rig.api.load(rig.request()).text, "refreshPaused")
    rig.clock.advance(by: .milliseconds(1))

    expectEqual(rig.api.load(rig.request()).status, "200")
    expectEqual(rig.sent, ["a1", "a2"])
    #expect(rig.isIdle)
  }

  @Test("A refresh whose connection could not be opened does not count", arguments: [true, false])
  func offline(isUnknownHost: Bool) {
    let rig = OAuth2Rig(life: 0)
    rig.tokens.onOthers(.fail(HTTPError(isUnknownHost ? .unknownHost : .cannotConnect, "offline")))

    let loads = (0..<20).map { _ in rig.api.load(rig.request()).text }

    expectEqual(Set(loads), ["tokenRequestFailed"])
    expectEqual(rig.tokens.requests.count, 20)
    #expect(rig.isIdle)
  }

  @Test(
    "The delay of the token endpoint is respected, up to one hour",
    arguments: [(429, "30", 30), (503, "30", 30), (400, "30", 30), (503, "999999", 3600)])
  func retryAfter(status: Int, field: String, delay: Int) throws {
    let rig = OAuth2Rig(life: 0)
    rig.mock.onOthers(.status(.ok))
    rig.tokens.on(
      .any, .respond(status: HTTPStatus(status), headers: try HTTPHeaders([("Retry-After", field)])),
      .json(OAuth2Rig.json(2)))

    _ = rig.api.load(rig.request())
    rig.clock.advance(by: .seconds(delay) - .milliseconds(1))
    expectEqual(rig.api.load(rig.request()).text, "refreshPaused")
    expectEqual(rig.tokens.requests.count, 1)
    rig.clock.advance(by: .milliseconds(1))

    expectEqual(rig.api.load(rig.request()).status, "200")
    expectEqual(rig.tokens.requests.count, 2)
  }

  @Test("A server that rejects every new token causes few refreshes, and other loads are not affected")
  func rejectsAll() {
    let rig = OAuth2Rig()
    rig.mock.on("/broken", .status(.unauthorized).forever())
    rig.mock.onOthers(.status(.ok))
    rig.tokens.onOthers(.json(OAuth2Rig.json(2)))

    let loads = (0..<50).map { _ in rig.api.load(rig.request("/broken")).status }

    expectEqual(Set(loads), ["401"])
    expectEqual(rig.tokens.requests.count, 5)
    expectEqual(rig.api.load(rig.request("/sound")).status, "200")
    #expect(rig.isIdle)
  }

  @Test("A failed refresh is not repeated for loads that were sent before it")
  func storm() {
    let rig = OAuth2Rig()
    let held = rig.mock.on(.any, .hold().forever())
    rig.tokens.onOthers(.status(.serviceUnavailable))
    let loads = (0..<10).map { rig.api.load(rig.request("/\($0)")) }

    for held in held.held { held.answer(status: .unauthorized) }

    #expect(loads.allSatisfy { $0.text == "tokenRequestFailed" })
    expectEqual(rig.tokens.requests.count, 1)
    #expect(rig.isIdle)
  }

  @Test("A reset and a new credential lift the limit", arguments: [true, false])
  func lifted(isReset: Bool) throws {
    let rig = clientRig()
    rig.mock.onOthers(.status(.ok))
    rig.tokens.on(.any, .status(.serviceUnavailable).times(5), .json(OAuth2Rig.json(2)))
    for _ in 0..<6 { _ = rig.api.load(rig.request()) }
    expectEqual(rig.tokens.requests.count, 5)

    if isReset { rig.api.reset() } else { rig.oauth.logIn() }

    expectEqual(rig.api.load(rig.request()).status, "200")
    expectEqual(rig.sent, ["a2"])
  }

  @Test("A rejected client ends the session of client credentials until a login is requested")
  func client() {
    let rig = clientRig()
    rig.mock.onOthers(.status(.ok))
    rig.tokens.on(.any, .json(#"{"error":"invalid_client"}"#, status: .unauthorized).times(2), .json(OAuth2Rig.json(2)))

    let loads = (0..<20).map { _ in rig.api.load(rig.request()).text }
    expectEqual(Set(loads), ["tokenRefused"])
    expectEqual(rig.tokens.requests.count, 1)
    expectEqual(rig.oauth.logIn().text, "tokenRefused")
    expectEqual(rig.oauth.logIn().text, "success")

    expectEqual(rig.api.load(rig.request()).status, "200")
    #expect(rig.isIdle)
  }

  @Test(
    "The response that rejects a token is a parameter",
    arguments: [
      (403, nil, true), (401, #"Token error="expired""#, true), (401, "Basic realm=\"x\"", false), (404, nil, false),
    ]
      as [(Int, String?, Bool)])
  func rejection(status: Int, challenge: String?, isRejection: Bool) throws {
    let rejection = TokenRejection.responses { response in
      response.status == .forbidden || TokenRejection.bearer.includes(response)
        || response.challenges.contains { $0.isOf(scheme: "Token") && $0["error"] == "expired" }
    }
    let rig = OAuth2Rig(rejection: rejection)
    let headers = try HTTPHeaders(challenge.map { ["WWW-Authenticate": $0] } ?? [])
    rig.mock.answer(status: HTTPStatus(status), headers: headers)
    rig.mock.onOthers(.status(.ok))
    rig.tokens.onOthers(.json(OAuth2Rig.json(2)))

    let load = rig.api.load(rig.request())

    expectEqual(load.status, (isRejection ? "200" : "\(status)"))
    expectEqual(rig.sent, isRejection ? ["a1", "a2"] : ["a1"])
  }

  @Test("Whatever rejects a token, a response of another origin does not (H10, credentials never cross an origin)")
  func rejectionElsewhere() throws {
    let rig = OAuth2Rig(rejection: .responses { _ in true })
    let other = try HTTPRequest("https://files.example.net/")
    rig.mock.answer { _ in HTTPResponse(to: other, status: .forbidden) }

    expectEqual(rig.api.load(rig.request()).status, "403")
    #expect(rig.tokens.requests.isEmpty)
  }

  @Test("A reply is changed before it is read")
  func adapted() {
    let rig = OAuth2Rig(
      life: 0,
      adaptReply: { response in
        let body = String(decoding: try response.body, as: UTF8.self).replacing("jwt", with: "access_token")
        return HTTPResponse(
          to: response.request, status: .ok, headers: response.headers,
          body: Data(body.replacing("dead", with: "invalid_grant").utf8))
      })
    rig.mock.onOthers(.status(.ok))
    rig.tokens.on(
      .any, .json(#"{"jwt":"a2","expires_in":0}"#, status: HTTPStatus(500)), .json(#"{"error":"dead"}"#))

    let loads = (0..<3).map { _ in rig.api.load(rig.request()) }

    #expect(loads[0].status == "200" && rig.sent == ["a2"] && rig.tokens.requests.count == 2)
    expectEqual(loads.dropFirst().map(\.text), ["authenticationRequired", "authenticationRequired"])
  }

  @Test("The error of the closure that changes replies is not printed (H11, no printed secret)")
  func adaptFails() {
    struct Leak: Error { let reply: String }
    let rig = OAuth2Rig(life: 0, adaptReply: { throw Leak(reply: String(decoding: try $0.body, as: UTF8.self)) })
    rig.tokens.onOthers(.json(OAuth2Rig.json(2)))

    let load = rig.api.load(rig.request())
    var printed = "\(load.tree())"
    dump(load.outcomeIfCompleted, to: &printed)

    expectEqual(load.text, "invalidTokenResponse")
    #expect(printed.contains("Leak"))
    for secret in ["a2", "r2"] { #expect(!printed.contains(secret)) }
  }
}

@Suite("Renewing tokens: RefreshOnUnauthorized")
struct RefreshRenewalTests {
  private let clock = ManualClock()
  private let mock = MockLoader()
  private let refreshes = Locked(0)

  private func layer(
    _ token: String? = "a1", rejection: TokenRejection = .unauthorized,
    refresh: @escaping @Sendable (any HTTPLoader) throws -> Future<BearerToken>
  ) throws -> RefreshOnUnauthorized {
    RefreshOnUnauthorized(
      try token.map { try BearerToken($0) }, rejection: rejection, refreshesWithoutToken: true, clock: clock,
      date: clock.wallClock()
    ) { [refreshes] loader in
      refreshes.withLock { $0 += 1 }
      return try refresh(loader)
    }
  }

  private func request(_ path: String = "/x") -> HTTPRequest { try! HTTPRequest("https://example.com\(path)") }

  private func refreshed(over loader: any HTTPLoader) -> Future<BearerToken> {
    loader.load(request("/refresh")).validated().map { _ in try BearerToken("a2") }
  }

  @Test(
    "A refresh that the server refuses with 401, or that ends the session, is not repeated", arguments: [true, false])
  func final(isResponse: Bool) throws {
    mock.onOthers(.status(.unauthorized))
    let layer = try layer { [self] loader in
      guard isResponse else { throw HTTPError(.authenticationRequired, "The session has ended. Log in again.") }
      return refreshed(over: loader)
    }

    let loads = (0..<50).map { _ in (layer --> mock).load(request()).text }
    expectEqual(Set(loads), ["credentialsUnavailable"])
    expectEqual(refreshes.value, 1)
    #expect(layer.isIdle)
    layer.replaceToken(with: try BearerToken("a9"))
    mock.on(.header("Authorization", "Bearer a9"), .status(.ok))

    expectEqual((layer --> mock).load(request()).status, "200")
  }

  @Test("If there was no token, the end of the session fails only loads that need one")
  func anonymous() throws {
    mock.on("/public", .status(.ok).forever())
    mock.onOthers(.status(.unauthorized))
    let api = try layer(nil) { [self] in refreshed(over: $0) } --> mock

    let loads = ["/x", "/public", "/x", "/public"].map { path in api.load(request(path)) }

    expectEqual(loads.map(\.text), ["credentialsUnavailable", "success", "credentialsUnavailable", "success"])
    expectEqual(refreshes.value, 1)
  }

  @Test("Failed refreshes are limited, and begin again in time", arguments: ["a1", nil])
  func limited(token: String?) throws {
    mock.onOthers(.status(.unauthorized))
    let api = try layer(token) { _ in throw Oops() } --> mock

    let loads = (0..<50).map { _ in api.load(request()).text }
    let paused = token == nil ? "success" : "refreshPaused"
    expectEqual(loads, Array(repeating: "credentialsUnavailable", count: 5) + Array(repeating: paused, count: 45))
    clock.advance(by: .seconds(6))

    expectEqual(api.load(request()).text, "credentialsUnavailable")
    expectEqual(refreshes.value, 6)
  }

  @Test("A server that rejects every new token causes few refreshes")
  func rejectsAll() throws {
    mock.on("/refresh", .status(.ok).forever())
    mock.on("/sound", .status(.ok))
    mock.onOthers(.status(.unauthorized))
    let api = try layer { [self] in refreshed(over: $0) } --> mock

    let loads = (0..<50).map { _ in api.load(request()).status }

    expectEqual(Set(loads), ["401"])
    expectEqual(refreshes.value, 5)
    expectEqual(api.load(request("/sound")).status, "200")
  }

  @Test("The delay that the server of the refresh asks for is respected")
  func retryAfter() throws {
    mock.on(
      "/refresh", .respond(status: .serviceUnavailable, headers: try HTTPHeaders([("Retry-After", "30")])),
      .status(.ok))
    mock.on(.header("Authorization", "Bearer a2"), .status(.ok))
    mock.onOthers(.status(.unauthorized))
    let api = try layer { [self] in refreshed(over: $0) } --> mock

    let first = api.load(request()).text
    clock.advance(by: .seconds(29))
    let second = api.load(request()).text
    clock.advance(by: .seconds(1))

    expectEqual(first, "credentialsUnavailable")
    expectEqual(second, "refreshPaused")
    expectEqual(api.load(request()).status, "200")
    expectEqual(refreshes.value, 2)
  }

  @Test("The response that rejects a token is a parameter")
  func rejection() throws {
    mock.on(.header("Authorization", "Bearer a1"), .status(.forbidden))
    mock.onOthers(.status(.ok))
    let api = try layer(rejection: .responses { $0.status == .forbidden }) { [self] in refreshed(over: $0) } --> mock

    expectEqual(api.load(request()).status, "200")
    expectEqual(refreshes.value, 1)
  }
}
