import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPStore
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("Layers: StoreCookies") struct StoreCookiesTests {
  private let mock = MockLoader()
  private let jar = CookieJar()
  private var api: any HTTPLoader { StoreCookies(in: jar) --> mock }

  private static func setting(_ cookies: String...) -> HTTPHeaders {
    received(cookies.map { ("Set-Cookie", $0) })
  }

  private var sent: [String] { mock.requests.map { $0.headers["Cookie"] ?? "none" } }

  @Test("Cookies of a response are sent with the next request")
  func stored() {
    mock.answer(headers: Self.setting("a=1", "b=2; Path=/x", ""))
    mock.answer()

    _ = api.load(anyRequest())
    _ = api.load(anyRequest("/x"))

    expectEqual(sent, ["none", "b=2; a=1"])
  }

  @Test("A cookie beyond ASCII is sent back with the same bytes (H13, tolerant reading)")
  func bytes() throws {
    let cookies = ["a=café", "b=cafe\u{301}", "é=€"]
    mock.answer(headers: received(cookies.map { ("Set-Cookie", $0) }))
    mock.answer()

    _ = api.load(anyRequest())
    _ = api.load(anyRequest())

    expectEqual(sent.last.map { Array($0.utf8) }, Array(cookies.joined(separator: "; ").utf8))
  }

  @Test("Each hop of a redirect sets cookies, and gets those of its own host")
  func redirects() throws {
    for (location, cookie) in [
      ("/home", "session=1; Path=/"), ("http://other.example/", "home=1; Path=/"), ("http://example.com/", "other=1"),
    ] {
      var headers = Self.setting(cookie)
      try headers.set("Location", location)
      mock.answer(status: HTTPStatus(302), headers: headers)
    }
    mock.answer()

    let load = (Redirect() --> api).load(anyRequest("/login"))

    expectEqual(load.text, "success")
    expectEqual(sent, ["none", "session=1", "none", "session=1; home=1"])
    expectEqual(jar.cookies.map(\.domain), ["example.com", "example.com", "other.example"])
  }

  @Test("A request with its own header is sent with it, and stores the cookies of its response")
  func ownHeader() throws {
    jar.store("a=1", from: try HTTPURL("http://example.com/"))
    mock.answer(headers: Self.setting("b=2"))
    var request = anyRequest()
    try request.setHeader("Cookie", "mine=1")

    _ = api.load(request)

    expectEqual(sent, ["mine=1"])
    expectEqual(jar.cookies.map(\.name), ["a", "b"])
  }

  @Test("A request with the option `off` sends and stores nothing")
  func off() throws {
    jar.store("a=1", from: try HTTPURL("http://example.com/"))
    mock.answer(headers: Self.setting("b=2"))
    var request = anyRequest()
    request.cookies = .off

    _ = api.load(request)

    expectEqual(sent, ["none"])
    expectEqual(jar.cookies.map(\.name), ["a"])
  }

  @Test("A request without a host fails")
  func noHost() throws {
    let load = api.load(try HTTPRequest(.get, path: "/"))

    expectEqual(load.outcomeIfCompleted?.code, .missingHost)
    #expect(mock.requests.isEmpty)
  }

  @Test("A failed load stores nothing, and its error is passed on")
  func failed() {
    mock.on(.any, .fail(Oops()))

    expectEqual(api.load(anyRequest()).text, "oops")
    expectEqual(jar.cookies, [])
  }

  @Test(
    "A response that arrives after a cancellation request stores nothing",
    arguments: [[], .doNotForwardRequest, .doNotForwardIfOthersWaiting, .forceImmediately] as [CancellationOptions])
  func cancelled(options: CancellationOptions) {
    let held = mock.hold()
    let load = api.load(anyRequest())

    load.cancel(options)
    held.answer(headers: Self.setting("a=1"))

    #expect(load.outcomeIfCompleted != nil)
    expectEqual(jar.cookies, [])
    expectEqual(mock.pendingCount, 0)
  }

  @Test("A response from before a reset stores nothing, even if the load was not cancelled")
  func reset() throws {
    jar.store("old=1", from: try HTTPURL("http://example.com/"))
    let below = HeldResets()
    let held = below.mock.hold()
    let api = StoreCookies(in: jar) --> below
    let load = api.load(anyRequest())

    let reset = api.reset()
    below.endReset()
    held.answer(headers: Self.setting("late=1"))

    #expect(reset.outcomeIfCompleted != nil)
    expectEqual(load.text, "success")
    expectEqual(jar.cookies, [])
  }

  @Test("Cookies that are stored while the next loader is reset are removed")
  func resetTwice() {
    let below = HeldResets()
    below.mock.answer(headers: Self.setting("a=1"))
    let api = StoreCookies(in: jar) --> below

    let reset = api.reset()
    _ = api.load(anyRequest())
    expectEqual(jar.cookies.count, 1)
    #expect(reset.outcomeIfCompleted == nil)
    below.endReset()

    #expect(reset.outcomeIfCompleted != nil)
    expectEqual(jar.cookies, [])
  }

  @Test("A reset that fails below still removes the cookies, and reports the failure")
  func failedReset() throws {
    jar.store("a=1", from: try HTTPURL("http://example.com/"))
    let below = HeldResets()
    let reset = (StoreCookies(in: jar) --> below).reset()

    below.endReset(0, .failure(Oops()))

    guard case .failure(let error as ResetFailed) = reset.outcomeIfCompleted else {
      Issue.record("The reset did not fail.")
      return
    }
    expectEqual(error.errors.count, 1)
    expectEqual(jar.cookies, [])
  }

  @Test("A reset completes when the file is removed")
  func file() async throws {
    let folder = try Folder()
    let jar = CookieJar(file: folder.file("cookies")) { _ in }
    jar.store("a=1; Max-Age=60", from: try HTTPURL("http://example.com/"))

    try await (ResetGuard() --> StoreCookies(in: jar) --> mock).reset().value

    expectEqual(folder.names, [])
  }
}
