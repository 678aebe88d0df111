import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeOAuth2

/// A browser that the test controls.
private final class Browser: Sendable {
  private let pages = Locked<[(url: URL, promise: Promise<URL>)]>([])

  func open(_ url: URL) -> Future<URL> {
    let promise = Promise<URL>()
    pages.withLock { $0.append((url, promise)) }
    promise.onRequestCancel { _ in .continue }
    return promise.future
  }

  var count: Int { pages.withLock { $0.count } }
  var openCount: Int { pages.value.filter { !$0.promise.future.isCompleted }.count }

  func promise(_ index: Int = 0) -> Promise<URL> { pages.withLock { $0[index].promise } }

  /// The query parameters of a page.
  func query(_ index: Int = 0) -> [String: String] {
    let url = pages.withLock { $0[index].url }
    let items = URLComponents(url: url, resolvingAgainstBaseURL: false)?.queryItems ?? []
    return Dictionary(items.map { ($0.name, $0.value ?? "") }, uniquingKeysWith: { $0 + "," + $1 })
  }

  /// Redirects the page to the redirect URI. `STATE` in the query is replaced by the page's state.
  func lead(_ index: Int = 0, to query: String = "code=SplxlOBeZQQYbYS6WxSbIA&state=STATE") {
    let state = self.query(index)["state"] ?? ""
    promise(index).succeed(URL(string: "com.example.app:/in?" + query.replacing("STATE", with: state))!)
  }

  func close() { pages.value = [] }
}

@Suite("Layers: OAuth2, logins and other grants")
struct OAuth2LogInTests {
  private let browser = Browser()

  private func makeRig(isEmpty: Bool = true, client: OAuth2Client = .public(id: "app")) -> OAuth2Rig {
    let browser = browser
    let grant = OAuth2Grant.authorizationCode(
      at: try! HTTPURL("https://id.example.com/authorize?tenant=1"), redirectURI: "com.example.app:/in",
      parameters: [("prompt", "login")], present: { browser.open($0) })
    let rig = OAuth2Rig(grant, isEmpty: isEmpty, client: client)
    rig.mock.onOthers(.status(.ok))
    return rig
  }

  @Test("All waiting loads share one login: a page with PKCE and state, and a code exchanged with the verifier")
  func logIn() throws {
    let rig = makeRig()
    rig.tokens.answer(body: OAuth2Rig.json(2))

    let loads = (0..<3).map { _ in rig.api.load(rig.request()) }
    expectEqual(browser.count, 1)
    #expect(rig.sent.isEmpty)
    let query = browser.query()
    browser.lead()

    expectEqual(loads.map(\.status), ["200", "200", "200"])
    expectEqual(rig.sent, ["a2", "a2", "a2"])
    #expect(rig.isIdle)
    expectEqual(query["response_type"], "code")
    expectEqual(query["client_id"], "app")
    expectEqual(query["code_challenge_method"], "S256")
    expectEqual(query["redirect_uri"], "com.example.app:/in")
    expectEqual(query["scope"], "read write")
    expectEqual(query["prompt"], "login")
    expectEqual(query["tenant"], "1")
    expectEqual(query["state"]?.count, 43)
    let fields = rig.asked[0].split(separator: "&").map(String.init)
    expectEqual(
      fields.prefix(3),
      [
        "grant_type=authorization_code", "code=SplxlOBeZQQYbYS6WxSbIA", "redirect_uri=com.example.app%3A%2Fin",
      ])
    let verifier = try #require(fields.first { $0.hasPrefix("code_verifier=") }).dropFirst(14)
    expectEqual(verifier.count, 43)
    expectEqual(AuthorizationCodeLogIn.challenge(for: String(verifier)), query["code_challenge"])
    #expect(rig.tokens.requests[0].headers["Authorization"] == nil && fields.last == "client_id=app")
    expectEqual(rig.store.credential?.refreshToken, "r2")
    browser.close()
  }

  @Test(
    "An untrusted redirect fails all waiting loads, and no code is exchanged",
    arguments: [
      "code=secret", "code=secret&state=other", "state=STATE", "code=&state=STATE",
      "code=secret&state=STATE&state=STATE",
      "code=secret&code=secret&state=STATE", "error=access_denied&state=STATE", "error=secret", "",
      "code=secret&state=STATE%00",
    ])
  func distrusted(query: String) {
    let rig = makeRig()
    let loads = (0..<2).map { _ in rig.api.load(rig.request()) }

    browser.lead(to: query)

    expectEqual(loads.map(\.text), ["authorizationFailed", "authorizationFailed"])
    #expect(rig.tokens.requests.isEmpty)
    var printed = ""
    dump(loads[0].outcomeIfCompleted, to: &printed)
    #expect(!printed.contains("secret"))
    expectEqual(printed.contains("access_denied"), query.contains("access_denied"))
    let next = rig.api.load(rig.request())
    expectEqual(browser.count, 2)
    expectEqual(next.text, "pending")
    browser.promise(1).completeCancelled("the page was closed")
    expectEqual(next.text, "cancelled")
    #expect(rig.isIdle)
    browser.close()
  }

  @Test("A failed page and a refused code fail the waiting loads, and the next load logs in again")
  func failing() {
    let rig = makeRig()
    let loads = [rig.api.load(rig.request())]
    browser.promise().fail(Oops())
    rig.tokens.on(.any, .json(#"{"error":"invalid_grant"}"#, status: .badRequest), .json(OAuth2Rig.json(3)))
    let second = rig.api.load(rig.request())
    browser.lead(1)
    let third = rig.api.load(rig.request())
    browser.lead(2)

    #expect(
      loads[0].text == "authorizationFailed" && second.text == "tokenRefused" && third.status == "200" && rig.isIdle)
    browser.close()
  }

  @Test("The last load to detach cancels the login, and a load that arrives during its end gets a new login")
  func abandoned() {
    let rig = makeRig()
    let loads = (0..<2).map { _ in rig.api.load(rig.request()) }

    loads[0].cancel()
    #expect(loads[0].text == "cancelled" && browser.promise().cancelRequest == nil)
    loads[1].cancel(.forceImmediately)
    #expect(loads[1].text == "cancelled" && browser.promise().cancelRequest != nil)
    let late = rig.api.load(rig.request())
    expectEqual(browser.count, 1)
    expectEqual(late.text, "pending")
    browser.promise().completeCancelled()
    expectEqual(browser.count, 2)
    expectEqual(late.text, "pending")
    rig.tokens.answer(body: OAuth2Rig.json(2))
    browser.lead(1)

    expectEqual(late.status, "200")
    expectEqual(rig.sent, ["a2"])
    #expect(rig.isIdle)
    browser.close()
  }

  @Test("A load and a logIn() that arrive during the end of an abandoned login share one new page")
  func afterAbandoned() {
    let rig = makeRig()
    rig.tokens.answer(body: OAuth2Rig.json(2))
    rig.api.load(rig.request()).cancel()
    let logIn = rig.oauth.logIn()
    let load = rig.api.load(rig.request())

    browser.promise().completeCancelled()
    expectEqual(browser.count, 2)
    expectEqual(load.text, "pending")
    browser.lead(1)

    expectEqual(browser.count, 2)
    expectEqual(logIn.text, "success")
    expectEqual(load.status, "200")
    #expect(rig.isIdle)
    browser.close()
  }

  @Test("An abandoned login that fails does not fail a load that arrived during its end")
  func afterFailed() {
    let rig = makeRig()
    rig.tokens.answer(body: OAuth2Rig.json(2))
    rig.api.load(rig.request()).cancel()
    let load = rig.api.load(rig.request())

    browser.promise().fail(Oops(name: "the window was closed"))
    expectEqual(browser.count, 2)
    expectEqual(load.text, "pending")
    browser.lead(1)

    expectEqual(load.status, "200")
    #expect(rig.isIdle)
    browser.close()
  }

  @Test("A redirect after a cancellation request is ignored")
  func abandonedTooLate() {
    let rig = makeRig()
    let load = rig.api.load(rig.request())
    rig.tokens.answer(body: OAuth2Rig.json(2))

    load.cancel()
    browser.lead()
    #expect(rig.tokens.requests.isEmpty, "a cancelled login does not continue")
    let again = rig.api.load(rig.request())
    browser.lead(1)

    expectEqual(again.status, "200")
    expectEqual(rig.store.credential?.accessToken.text, "a2")
    #expect(rig.isIdle)
    browser.close()
  }

  @Test("After a session has ended, logIn() starts one new session for all callers")
  func logInAgain() {
    let rig = makeRig(isEmpty: false)
    rig.mock.on(.header("Authorization", "Bearer a1"), .status(.unauthorized).forever())
    let api = rig.oauth --> MockLoader()
    rig.tokens.on(.any, .json(#"{"error":"invalid_grant"}"#, status: .badRequest), .json(OAuth2Rig.json(3)))
    _ = rig.oauth.replaceCredential(
      with: OAuth2Credential(accessToken: try! BearerToken("a1"), refreshToken: "r1", expires: .distantPast))
    expectEqual(api.load(rig.request()).text, "authenticationRequired")
    expectEqual(browser.count, 0)
    expectEqual(api.load(rig.request()).text, "authenticationRequired")
    expectEqual(rig.tokens.requests.count, 1)

    let logIns = [rig.oauth.logIn(), rig.oauth.logIn()]
    let load = rig.api.load(rig.request())
    expectEqual(browser.count, 1)
    expectEqual(load.text, "pending")
    browser.lead()

    expectEqual(logIns.map(\.text), ["success", "success"])
    expectEqual(load.status, "200")
    expectEqual(rig.sent, ["a3"])
    #expect(rig.isIdle)
    browser.close()
  }

  @Test("logIn() waits for a refresh and does not cancel it")
  func logInDuringRefresh() {
    let rig = makeRig(isEmpty: false)
    let token = rig.tokens.hold()
    rig.clock.advance(by: .seconds(4000))
    let load = rig.api.load(rig.request())
    let logIns = [rig.oauth.logIn(), rig.oauth.logIn()]
    logIns[0].cancel()

    #expect(logIns[0].text == "cancelled" && token.cancelRequest == nil && browser.count == 0)
    token.answer(body: OAuth2Rig.json(2))
    #expect(load.status == "200" && browser.count == 1 && logIns[1].text == "pending")
    rig.tokens.answer(body: OAuth2Rig.json(3))
    browser.lead()

    #expect(logIns[1].text == "success" && rig.store.credential?.accessToken.text == "a3" && rig.isIdle)
    browser.close()
  }

  @Test("A reset closes the page and discards a later redirect")
  func reset() {
    let rig = makeRig()
    let load = rig.api.load(rig.request())

    let reset = rig.api.reset()
    expectEqual(load.text, "cancelled")
    expectEqual(reset.text, "pending")
    #expect(browser.promise().cancelRequest != nil)
    let during = rig.api.load(rig.request())
    browser.lead()
    #expect(reset.text == "success" && rig.tokens.requests.isEmpty && browser.count == 2, "the new load logs in")
    rig.tokens.answer(body: OAuth2Rig.json(2))
    browser.lead(1)

    expectEqual(during.status, "200")
    #expect(rig.isIdle)
    browser.close()
  }

  @Test(
    "Client credentials follow RFC 6749, sections 2.3.1 and 4.4.2, and each token is a new request",
    arguments: [ClientAuthenticationMethod.header, .body])
  func clientCredentials(method: ClientAuthenticationMethod) {
    let rig = OAuth2Rig(
      .clientCredentials, isEmpty: true, client: .confidential(id: "s6BhdRkqt3", secret: "gX1fBat3bV", method: method))
    rig.mock.on(.header("Authorization", "Bearer a2"), .status(.unauthorized).forever())
    rig.mock.onOthers(.status(.ok))
    rig.tokens.on(.any, .json(OAuth2Rig.json(2)), .json(OAuth2Rig.json(3)))

    let load = rig.api.load(rig.request())

    expectEqual(load.status, "200")
    expectEqual(rig.sent, ["a2", "a3"])
    #expect(rig.isIdle)
    let secret = method == .body ? "&client_id=s6BhdRkqt3&client_secret=gX1fBat3bV" : ""
    expectEqual(rig.asked, Array(repeating: "grant_type=client_credentials&scope=read+write" + secret, count: 2))
    let basic = method == .header ? "Basic czZCaGRSa3F0MzpnWDFmQmF0M2JW" : nil
    expectEqual(rig.tokens.requests.map { $0.headers["Authorization"] }, [basic, basic])
    expectEqual(rig.tokens.requests[0].body.contentType, "application/x-www-form-urlencoded")
  }

  @Test("Client and secret are form-encoded before they are joined")
  func clientEncoding() {
    let rig = OAuth2Rig(.clientCredentials, isEmpty: true, client: .confidential(id: "a:b", secret: "ü %+"))
    rig.mock.onOthers(.status(.ok))
    rig.tokens.answer(body: OAuth2Rig.json(2))

    _ = rig.api.load(rig.request())

    let encoded = Data("a%3Ab:%C3%BC+%25%2B".utf8).base64EncodedString()
    expectEqual(rig.tokens.requests[0].headers["Authorization"], "Basic " + encoded)
  }

  @Test("Plain http is refused for page and token endpoint")
  func insecure() throws {
    let tokens = MockLoader()
    let browser = browser
    func load(_ page: String, _ endpoint: String) throws -> Future<HTTPResponse> {
      let configuration = OAuth2Configuration(
        client: .public(id: "app"), tokenEndpoint: try HTTPURL(endpoint),
        grant: .authorizationCode(at: try HTTPURL(page), redirectURI: "a:/b") { browser.open($0) })
      return (OAuth2(configuration, tokens: tokens) --> MockLoader()).load(try HTTPRequest("https://api.example.com/"))
    }

    let byPage = try load("http://id.example.com/", "https://id.example.com/")
    let byEndpoint = try load("https://id.example.com/", "http://id.example.com/")
    browser.lead()

    expectEqual(byPage.text, "insecureCredentials")
    expectEqual(byEndpoint.text, "insecureCredentials")
    #expect(tokens.requests.isEmpty)
    browser.close()
  }

  private enum Event: CaseIterable {
    case cancelFirst, cancelSecond, pageDone, pageClosed, tokenDone, reset
  }

  @Test("Every order of cancellations, redirect, closed page, token and reset completes each load once")
  func orders() {
    var faults: [String] = []
    for order in permutations(Event.allCases) {
      let rig = makeRig()
      let tokens = rig.tokens.on(.any, .hold().forever())
      let ends = Locked([0, 0])
      let loads = (0..<2).map { _ in rig.api.load(rig.request()) }
      for (number, load) in loads.enumerated() { load.observe { _ in ends.withLock { $0[number] += 1 } } }
      var reset: Future<Void>?
      var isTwice = false
      func page(_ body: (Int) -> Void) {
        for index in 0..<browser.count where !browser.promise(index).future.isCompleted { body(index) }
      }
      func answerTokens() {
        for held in tokens.held where !held.isCompleted { held.answer(body: OAuth2Rig.json(tokens.held.count + 1)) }
      }
      for event in order {
        switch event {
        case .cancelFirst: loads[0].cancel()
        case .cancelSecond: loads[1].cancel()
        case .pageDone: page { browser.lead($0) }
        case .pageClosed: page { browser.promise($0).completeCancelled() }
        case .tokenDone: answerTokens()
        case .reset: reset = rig.api.reset()
        }
        isTwice = isTwice || browser.openCount > 1
      }
      page { browser.lead($0) }
      answerTokens()

      if ends.value != [1, 1] || !rig.isIdle || reset?.text != "success" { faults.append("\(order): not ended") }
      if isTwice { faults.append("\(order): two pages at once") }
      if Set(rig.asked).count != rig.asked.count { faults.append("\(order): a code was used twice") }
      if rig.store.credential != nil { faults.append("\(order): the store is not empty") }
      browser.close()
    }

    expectEqual(faults, [], "\(faults.count) faults")
  }
}
