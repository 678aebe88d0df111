import Dispatch
import Foundation
import FutureTree
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTP
@testable import FutureTreeOAuth2

@Suite("Layers: OAuth2")
struct OAuth2Tests {
  @Test("Requests are sent with the stored token")
  func stored() {
    let rig = OAuth2Rig()
    rig.mock.onOthers(.status(.ok))

    let loads = (0..<3).map { _ in rig.api.load(rig.request()) }

    expectEqual(loads.map(\.status), ["200", "200", "200"])
    expectEqual(rig.sent, ["a1", "a1", "a1"])
    #expect(rig.tokens.requests.isEmpty && rig.isIdle)
  }

  @Test("100 concurrent 401s make one refresh and 100 replays with their bodies")
  func hundred() {
    let rig = OAuth2Rig()
    let first = rig.mock.on(.header("Authorization", "Bearer a1"), .hold().forever())
    rig.mock.onOthers(.make { HTTPResponse(to: $0, status: .ok, body: $0.body.data ?? Data()) })
    let token = rig.tokens.hold()
    let loads = (0..<100).map { rig.api.load(rig.request("/\($0)", body: "body \($0)")) }

    for held in first.held { held.answer(status: .unauthorized) }
    expectEqual(rig.tokens.requests.count, 1)
    #expect(loads.allSatisfy { $0.text == "pending" })
    token.answer(body: OAuth2Rig.json(2))

    expectEqual(rig.asked, [OAuth2Rig.refresh(1)])
    expectEqual(rig.sent, Array(repeating: "a1", count: 100) + Array(repeating: "a2", count: 100))
    for (number, load) in loads.enumerated() {
      guard case .success(let response)? = load.outcomeIfCompleted else {
        Issue.record("Load \(number): \(load.text)")
        continue
      }
      #expect(response.status == .ok && (try? response.body) == Data("body \(number)".utf8))
    }
    expectEqual(rig.store.credential?.refreshToken, "r2")
    #expect(rig.isIdle)
  }

  @Test("100 loads from many threads make one refresh")
  func threads() {
    let rig = OAuth2Rig()
    rig.refuseFirstToken()
    let token = rig.tokens.hold()
    let loads = Locked<[Future<HTTPResponse>]>([])

    DispatchQueue.concurrentPerform(iterations: 100) { number in
      let load = rig.api.load(rig.request("/\(number)", body: "x"))
      loads.withLock { $0.append(load) }
    }
    token.answer(body: OAuth2Rig.json(2))

    expectEqual(loads.value.map(\.status), Array(repeating: "200", count: 100))
    expectEqual(rig.tokens.requests.count, 1)
    #expect(rig.isIdle)
  }

  @Test("A 401 after the replay is returned, and the next load refreshes with the new refresh token")
  func secondRefusal() {
    let rig = OAuth2Rig()
    rig.mock.onOthers(.status(.unauthorized))
    rig.tokens.on(.any, .json(OAuth2Rig.json(2)), .json(OAuth2Rig.json(3)))

    let first = rig.api.load(rig.request())
    expectEqual(first.status, "401")
    expectEqual(rig.sent, ["a1", "a2"])
    let second = rig.api.load(rig.request())

    expectEqual(second.status, "401")
    expectEqual(rig.sent, ["a1", "a2", "a2", "a3"])
    expectEqual(rig.asked, [OAuth2Rig.refresh(1), OAuth2Rig.refresh(2)])
    #expect(rig.isIdle)
  }

  @Test("A request with an outdated token is sent again at once with the current token")
  func stale() {
    let rig = OAuth2Rig()
    let held = [rig.mock.hold(), rig.mock.hold()]
    rig.mock.onOthers(.status(.ok))
    rig.tokens.on(.any, .json(OAuth2Rig.json(2)))
    let loads = [rig.api.load(rig.request("/a")), rig.api.load(rig.request("/b"))]

    held[0].answer(status: .unauthorized)
    #expect(loads[0].status == "200" && rig.tokens.requests.count == 1)
    held[1].answer(status: .unauthorized)

    #expect(loads[1].status == "200" && rig.sent == ["a1", "a1", "a2", "a2"] && rig.tokens.requests.count == 1)
    #expect(rig.isIdle)
  }

  @Test("A token that expires within the leeway is refreshed before it is used")
  func proactive() {
    let rig = OAuth2Rig(life: 3600)
    rig.mock.onOthers(.status(.ok))
    let token = rig.tokens.hold()
    _ = rig.api.load(rig.request())
    rig.clock.advance(by: .milliseconds(3_539_999))
    _ = rig.api.load(rig.request())

    rig.clock.advance(by: .milliseconds(1))
    let loads = (0..<3).map { _ in rig.api.load(rig.request()) }
    expectEqual(rig.sent, ["a1", "a1"])
    #expect(loads.allSatisfy { $0.text == "pending" })
    rig.clock.advance(by: .seconds(10))
    token.answer(body: OAuth2Rig.json(2))

    expectEqual(rig.sent, ["a1", "a1", "a2", "a2", "a2"])
    #expect(rig.isIdle)
    expectEqual(
      rig.store.credential?.expires, OAuth2Rig.start.addingTimeInterval(7140), "a lifetime starts at the token request")
  }

  @Test("A token that has expired when it arrives is used by the loads that waited for it")
  func shortLife() {
    let rig = OAuth2Rig(life: 0)
    rig.mock.onOthers(.status(.ok))
    rig.tokens.on(.any, .json(OAuth2Rig.json(2, life: 0)), .json(OAuth2Rig.json(3, life: -5)))

    let loads = (0..<2).map { _ in rig.api.load(rig.request()) }

    expectEqual(loads.map(\.status), ["200", "200"])
    expectEqual(rig.sent, ["a2", "a3"])
    #expect(rig.isIdle)
  }

  @Test("A failed refresh fails all waiting loads, and the next load tries again")
  func failedRefresh() {
    let rig = OAuth2Rig()
    rig.refuseFirstToken()
    let token = rig.tokens.hold()
    let loads = (0..<3).map { _ in rig.api.load(rig.request()) }

    token.complete(.failure(HTTPError(.connectionLost, "gone")))
    expectEqual(loads.map(\.text), Array(repeating: "tokenRequestFailed", count: 3))
    expectEqual(rig.sent, ["a1"])
    rig.tokens.on(.any, .json(OAuth2Rig.json(2)))
    let next = rig.api.load(rig.request())

    #expect(next.status == "200" && rig.sent == ["a1", "a2"], "a refused token is not sent again")
    expectEqual(rig.asked, [OAuth2Rig.refresh(1), OAuth2Rig.refresh(1)])
    #expect(rig.isIdle)
  }

  @Test("invalid_grant ends the session until a new credential is set")
  func invalidGrant() {
    let rig = OAuth2Rig()
    rig.refuseFirstToken()
    rig.tokens.on(.any, .json(#"{"error":"invalid_grant","error_description":"secret"}"#, status: .badRequest))

    let loads = (0..<3).map { _ in rig.api.load(rig.request()) }
    expectEqual(loads.map(\.text), Array(repeating: "authenticationRequired", count: 3))
    expectEqual(rig.sent, ["a1"])
    expectEqual(rig.tokens.requests.count, 1)
    expectEqual(rig.oauth.logIn().text, "authenticationRequired")
    let replaced = rig.oauth.replaceCredential(with: OAuth2Credential(accessToken: try! BearerToken("a9")))
    let after = rig.api.load(rig.request())

    expectEqual(replaced.text, "success")
    expectEqual(after.status, "200")
    expectEqual(rig.sent, ["a1", "a9"])
    expectEqual(rig.store.credential?.accessToken.text, "a9")
    #expect(rig.isIdle)
  }

  @Test("A refresh continues after all waiting loads are cancelled, and its token is saved")
  func cancelWaiting() {
    let rig = OAuth2Rig(life: 0)
    rig.mock.onOthers(.status(.ok))
    let token = rig.tokens.hold()
    let loads = (0..<3).map { _ in rig.api.load(rig.request()) }
    let options: [CancellationOptions] = [[], .forceImmediately, .doNotForwardIfOthersWaiting]

    for (load, options) in zip(loads, options) { load.cancel(options) }
    expectEqual(loads.map(\.text), ["cancelled", "cancelled", "cancelled"])
    #expect(token.cancelRequest == nil)
    let late = rig.api.load(rig.request())
    token.answer(body: OAuth2Rig.json(2))

    expectEqual(late.status, "200")
    expectEqual(rig.sent, ["a2"])
    expectEqual(rig.store.credential?.refreshToken, "r2")
    #expect(rig.isIdle)
  }

  @Test("A load cancelled in flight is not sent again after a 401", arguments: [true, false])
  func cancelSent(isReplay: Bool) {
    let rig = OAuth2Rig()
    if isReplay {
      rig.mock.answer(status: .unauthorized)
      rig.tokens.on(.any, .json(OAuth2Rig.json(2)))
    }
    let held = rig.mock.hold()
    let load = rig.api.load(rig.request())

    load.cancel()
    #expect(held.cancelRequest != nil)
    expectEqual(load.text, "pending")
    held.answer(status: .unauthorized)

    expectEqual(load.status, "401")
    expectEqual(rig.sent.count, isReplay ? 2 : 1)
    #expect(rig.isIdle)
    expectEqual(rig.tokens.requests.count, isReplay ? 1 : 0)
  }

  @Test("A success after a cancellation request is kept")
  func successRaces() {
    let rig = OAuth2Rig()
    let held = rig.mock.hold()
    let load = rig.api.load(rig.request())

    load.cancel()
    held.answer()

    expectEqual(load.status, "200")
    #expect(rig.isIdle)
  }

  @Test("A 401 to a body that cannot be replayed is the response, and the next load refreshes first")
  func notReplayable() {
    let rig = OAuth2Rig()
    rig.refuseFirstToken()
    var request = rig.request("/upload", body: "x")
    request.body = .stream(isReplayable: false) { HTTPBodyReader { _ in Data() } }
    rig.tokens.on(.any, .json(OAuth2Rig.json(2)))

    let load = rig.api.load(request)
    expectEqual(load.status, "401")
    #expect(rig.tokens.requests.isEmpty)
    let next = rig.api.load(rig.request())

    expectEqual(next.status, "200")
    expectEqual(rig.sent, ["a1", "a2"])
    #expect(rig.isIdle)
  }

  @Test(
    "Only a 401 about the token starts a refresh",
    arguments: [
      (nil, true), ("Bearer", true), (#"Bearer error="invalid_token""#, true),
      (#"Basic realm="x", Bearer realm="y""#, true),
      (#"Basic realm="x""#, false), ("Digest qop=auth", false), (#"bearer error="insufficient_scope""#, false),
      (#"Bearer error="invalid_request""#, false), (#"Bearer error="insufficient_scope"#, true),
    ] as [(String?, Bool)])
  func challenges(challenge: String?, isAboutToken: Bool) throws {
    let rig = OAuth2Rig()
    rig.mock.answer(
      status: .unauthorized, headers: try HTTPHeaders(challenge.map { ["WWW-Authenticate": $0] } ?? []))
    rig.mock.onOthers(.status(.ok))
    rig.tokens.onOthers(.json(OAuth2Rig.json(2)))

    let load = rig.api.load(rig.request())

    expectEqual(load.status, isAboutToken ? "200" : "401")
    expectEqual(rig.tokens.requests.count, isAboutToken ? 1 : 0)
  }

  @Test("A 401 from another origin after a redirect starts no refresh")
  func elsewhere() throws {
    let rig = OAuth2Rig()
    let other = try HTTPRequest("https://files.example.net/")
    rig.mock.answer { _ in HTTPResponse(to: other, status: .unauthorized) }

    expectEqual(rig.api.load(rig.request()).status, "401")
    #expect(rig.tokens.requests.isEmpty)
    #expect(rig.isIdle)
  }

  @Test("A 401 after a redirect to another origin and back starts no refresh")
  func roundTrip() {
    let rig = OAuth2Rig()
    rig.mock.on(.any, .redirect(to: "https://other.example.com/"))
    rig.mock.on(.any, .redirect(to: "https://api.example.com/back"))
    rig.mock.answer(status: .unauthorized)

    let load = (rig.oauth --> Redirect() --> rig.mock).load(rig.request())

    expectEqual(load.status, "401")
    expectEqual(rig.sent, ["a1", "-", "-"])
    #expect(rig.asked.isEmpty)
  }

  @Test("A request over plain http or with its own header gets no token")
  func targets() throws {
    let rig = OAuth2Rig()
    rig.mock.onOthers(.status(.ok))
    var own = rig.request()
    try own.setHeader("Authorization", "Custom x")

    expectEqual(rig.api.load(anyRequest()).text, "insecureCredentials")
    expectEqual(rig.api.load(own).status, "200")
    expectEqual(rig.mock.requests.map { $0.headers["Authorization"] }, ["Custom x"])
    #expect(rig.isIdle)
  }

  @Test("A token endpoint that does not respond times out on the injected clock")
  func tokenTimeout() {
    let rig = OAuth2Rig(life: 0, tokenTimeout: .seconds(30))
    let token = rig.tokens.hold()
    let load = rig.api.load(rig.request())

    rig.clock.advance(by: .seconds(29))
    expectEqual(load.text, "pending")
    rig.clock.advance(by: .seconds(1))

    expectEqual(load.text, "tokenRequestFailed")
    #expect(token.cancelRequest != nil)
    token.complete(.cancelled)
    #expect(rig.isIdle)
  }

  @Test(
    "No redirect sends a refresh token to another origin (H10, credentials never cross an origin)",
    arguments: [302, 307, 308])
  func redirectedRefresh(status: Int) {
    let rig = OAuth2Rig(life: 0)
    rig.tokens.redirect(status, to: "https://other.example.com/token")
    let configuration = OAuth2Configuration(
      client: .confidential(id: "app", secret: sentinel, method: .body),
      tokenEndpoint: try! HTTPURL("https://id.example.com/token"), grant: .storedCredential)
    let oauth = OAuth2(configuration, store: rig.store, tokens: Redirect() --> rig.tokens, date: rig.clock.wallClock())

    let load = (oauth --> rig.mock).load(rig.request())

    #expect(load.text == "invalidTokenResponse" && rig.tokens.sent == ["POST https://id.example.com/token"])
  }

  @Test("Two chains share one credential and one refresh")
  func twoChains() {
    let rig = OAuth2Rig(life: 0)
    let other = MockLoader()
    for mock in [rig.mock, other] { mock.onOthers(.status(.ok)) }
    let token = rig.tokens.hold()
    let loads = [rig.api.load(rig.request()), (rig.oauth --> other).load(rig.request())]

    token.answer(body: OAuth2Rig.json(2))

    expectEqual(loads.map(\.status), ["200", "200"])
    expectEqual(rig.tokens.requests.count, 1)
    #expect(rig.isIdle)
    expectEqual(other.requests.map { $0.headers["Authorization"] }, ["Bearer a2"])
  }

  @Test("Nothing printable shows tokens or secrets (H11, no printed secret)")
  func redacted() {
    let rig = OAuth2Rig(client: .confidential(id: "app", secret: "sesame"))
    rig.refuseFirstToken()
    rig.tokens.on(.any, .json(#"{"error":"invalid_client","error_description":"r1 sesame"}"#, status: .unauthorized))
    let load = rig.api.load(rig.request())
    var printed = "\(load.outcomeIfCompleted.map { "\($0)" } ?? "") \(load.tree())"

    if case .failure(let error)? = load.outcomeIfCompleted { dump(error, to: &printed) }
    dump(rig.oauth, to: &printed)
    printed += "\(rig.tokens.requests) \(rig.mock.requests)"

    expectEqual(load.text, "tokenRefused")
    #expect(printed.contains("invalid_client"))
    for secret in ["\"a1\"", "Bearer a1", "r1", "sesame", "c2VzYW1l"] { #expect(!printed.contains(secret)) }
  }
}
