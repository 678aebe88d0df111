import Foundation
import FutureTree
import FutureTreeHTTPStore
import FutureTreeHTTPTesting
import FutureTreeOAuth2
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTP

/// The points at which a load through all layers is held, in their order.
private enum Point: Int, CaseIterable, CustomTestStringConvertible {
  case token, place, wire, backOff, wireAgain, hop, refresh, replay, ended

  var testDescription: String { "\(self)" }
}

/// A load that is held at every point: it waits for a token, for a slot, and for its first response, which is 503. After a
/// back-off, the second response redirects and the third is 401. After a refresh, the replay gets a response.
private final class Journey: @unchecked Sendable {  // Because: a test runs it on one thread.
  let clock = ManualClock()
  let mock = MockLoader()
  let tokens = MockLoader()
  let store = MemoryCredentialStore()
  let lines = Recorder()
  let throttle: Throttle
  let coalesce = Coalesce()
  let retry: Retry
  let oauth: OAuth2
  let jar: CookieJar
  let cache: HTTPCache
  let cacheLayer: CacheResponses
  private let folder = try! Folder()
  let api: any HTTPLoader
  private let onTheWire: [HeldAnswer]
  private let firstToken: HeldAnswer
  private let refresh: HeldAnswer

  init() throws {
    throttle = Throttle(4, clock: clock)
    throttle.pause()
    retry = Retry(clock: clock, date: clock.wallClock(), random: .constant(1))
    oauth = OAuth2(
      OAuth2Configuration(
        client: .confidential(id: "app", secret: "secret"), tokenEndpoint: try HTTPURL("https://id.example.com/token"),
        grant: .clientCredentials),
      store: store, tokens: tokens, clock: clock, date: clock.wallClock(), random: .seeded(1))
    jar = CookieJar(date: clock.wallClock())
    // Files are read and written during the calls.
    cache = try HTTPCache(directory: folder.file("cache"), date: clock.wallClock(), on: .immediate) { fault in
      Issue.record(fault)
    }
    cacheLayer = CacheResponses(in: cache)
    api =
      (ResetGuard() --> Autocancel(drainTimeout: nil, clock: clock) --> Log({ [lines] in lines($0) }, clock: clock)
        --> ApplyEnvironment(try ServerEnvironment(host: "example.com")) --> coalesce --> retry
        --> Hedge(after: .constant(.seconds(3600)), clock: clock)
        --> CircuitBreaker(CircuitThreshold(of: 3), clock: clock) --> oauth --> throttle
        --> Timeout(
          total: .seconds(3600), attempt: .seconds(600), firstByte: .seconds(600), idle: .seconds(600), clock: clock)
        --> Redirect() --> StoreCookies(in: jar) --> cacheLayer --> mock)
    onTheWire = (0..<4).map { [mock] _ in mock.hold() }
    firstToken = tokens.hold()
    refresh = tokens.hold()
  }

  func load() throws -> Future<HTTPResponse> { api.load(try HTTPRequest(.get, path: "a")) }

  /// Continues the load until it is held at this point.
  func go(to point: Point) {
    for step in 0..<point.rawValue { leave(Point(rawValue: step)!) }
  }

  /// Continues the load from every point: its cancelled parts confirm.
  func finish() {
    for held in [firstToken, refresh] + onTheWire where held.cancelRequest != nil { held.complete(.cancelled) }
    for point in Point.allCases { leave(point) }
  }

  private func leave(_ point: Point) {
    switch point {
    case .token: firstToken.answer(body: Journey.reply(1))
    case .place: throttle.resume()
    case .wire: onTheWire[0].answer(status: .serviceUnavailable, headers: Journey.fields("unavailable"))
    case .backOff: clock.advance(by: .seconds(1))
    case .wireAgain: onTheWire[1].answer(status: HTTPStatus(302), headers: Journey.fields("moved", ("Location", "/b")))
    case .hop: onTheWire[2].answer(status: .unauthorized, headers: Journey.fields("unauthorized"))
    case .refresh: refresh.answer(body: Journey.reply(2))
    case .replay: onTheWire[3].answer(headers: Journey.fields("done"), body: "done")
    case .ended: break
    }
  }

  /// The held, waiting and registered parts of all layers.
  var leftovers: [String] {
    let counts = [
      ("running", throttle.runningCount), ("waiting", throttle.waitingCount), ("flights", coalesce.flightCount),
      ("back-offs", retry.waitingCount), ("timers", clock.timerCount), ("loads", mock.pendingCount),
      ("token requests", tokens.pendingCount), ("shared misses", cacheLayer.flightCount),
    ]
    return counts.filter { $0.1 > 0 }.map { "\($0.1) \($0.0)" } + (oauth.isIdle ? [] : ["OAuth2"])
  }

  private static func reply(_ number: Int) -> String {
    #"{"access_token": "access-\#(number)", "token_type": "Bearer", "expires_in": 86400, "refresh_token": "r-\#(number)"}"#
  }

  /// What a load has stored: the names of cookies, and the numbers of cached responses in memory and in files.
  var stored: [String] {
    let files = (try? FileManager.default.contentsOfDirectory(atPath: folder.file("cache/responses").path)) ?? []
    return jar.cookies.map(\.name) + ["\(cache.count) responses", "\(files.count { $0 != "key" }) files"]
  }

  /// The fields of a response that sets a cookie, and that can be stored.
  private static func fields(_ cookie: String, _ others: (String, String)...) -> HTTPHeaders {
    try! HTTPHeaders([("Set-Cookie", "\(cookie)=1; Path=/"), ("Cache-Control", "max-age=600")] + others)
  }
}

@Suite("The chain of all policies") struct PolicyChainTests {
  @Test("The chain is one expression, and a load passes all points")
  func wholeJourney() throws {
    let journey = try Journey()
    let load = try journey.load()

    for point in Point.allCases { journey.go(to: point) }

    expectEqual(load.text, "success")
    expectEqual(journey.mock.requests.map(\.path), ["/a", "/a", "/b", "/a"])
    expectEqual(
      journey.mock.requests.map { $0.headers["Authorization"] },
      (1...3).map { _ in "Bearer access-1" } + [
        "Bearer access-2"
      ])
    expectEqual(journey.tokens.requests.count, 2)
    expectEqual(journey.stored, ["unavailable", "moved", "unauthorized", "done", "4 responses", "4 files"])
    expectEqual(journey.leftovers, [])
    expectEqual(journey.lines.entries.count, 2)
  }

  @Test(
    "A load that is cancelled at any step completes once, sends nothing more, and leaves nothing behind",
    arguments: Point.allCases,
    [CancellationOptions(), .doNotForwardIfOthersWaiting, .forceImmediately])
  fileprivate func cancelled(at point: Point, options: CancellationOptions) throws {
    let journey = try Journey()
    let endings = Recorder()
    let load = try journey.load()
    load.observe { endings("\($0.ending)") }
    journey.go(to: point)
    let (sent, stored) = (journey.mock.requests.count, journey.stored)

    load.cancel(options)
    journey.finish()

    expectEqual(endings.entries, [point == .ended ? "succeeded" : "cancelled"])
    expectEqual(journey.mock.requests.count, sent)
    expectEqual(journey.stored, stored)
    expectEqual(journey.leftovers, [])
    expectEqual(journey.lines.entries.count, 2)
  }

  @Test("A detached load leaves nothing behind, at any step", arguments: Point.allCases)
  fileprivate func detached(at point: Point) throws {
    let journey = try Journey()
    let load = try journey.load()
    journey.go(to: point)

    load.cancel(.doNotForwardRequest)
    let ending = load.text
    journey.finish()

    expectEqual(ending, point == .ended ? "success" : "cancelled")
    expectEqual(journey.leftovers, [])
  }

  @Test(
    "A response that arrives after a cancellation request is the outcome, and nothing follows",
    arguments: [Point.wire, .replay])
  fileprivate func answered(at point: Point) throws {
    let journey = try Journey()
    let load = try journey.load()
    journey.go(to: point)
    let (sent, stored) = (journey.mock.requests.count, journey.stored)

    load.cancel()
    journey.go(to: Point(rawValue: point.rawValue + 1)!)

    expectEqual(load.text, "success")
    expectEqual(journey.mock.requests.count, sent)
    expectEqual(journey.stored, stored)
    journey.finish()
    expectEqual(journey.leftovers, [])
  }

  @Test(
    "A reset at any step ends the load, forgets the credential and leaves nothing behind", arguments: Point.allCases)
  fileprivate func reset(at point: Point) throws {
    let journey = try Journey()
    let load = try journey.load()
    journey.go(to: point)
    let sent = journey.mock.requests.count

    let reset = journey.api.reset()
    journey.finish()

    expectEqual(reset.outcomeIfCompleted?.ending, .succeeded)
    expectEqual(load.text, point == .ended ? "success" : "cancelled")
    expectEqual(journey.mock.requests.count, sent)
    #expect(try journey.store.load().outcomeIfCompleted?.get() == nil)
    expectEqual(journey.stored, ["0 responses", "0 files"])
    expectEqual(journey.leftovers, [])
  }

  @Test(
    "A stuck load blocks neither its reset nor the next load",
    arguments: Point.allCases)
  fileprivate func usable(after point: Point) throws {
    let journey = try Journey()
    let load = try journey.load()
    journey.go(to: point)
    _ = journey.api.reset()
    journey.finish()
    journey.tokens.on(.any, .json(#"{"access_token": "new", "token_type": "Bearer"}"#))
    let answer = journey.mock.onOthers(.text("fresh"))

    let next = journey.api.load(try HTTPRequest(.get, path: "c"))
    journey.finish()
    journey.finish()

    #expect(load.isCompleted && next.isCompleted)
    expectEqual(journey.leftovers, [])
    withExtendedLifetime(answer) {}
  }
}
