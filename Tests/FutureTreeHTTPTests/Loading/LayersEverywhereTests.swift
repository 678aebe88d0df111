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

/// Each layer is cancelled at every point of a load through it, with each option. `PolicyChainTests` does so by hand for a chain
/// of all layers.
@Suite("Layers, cancelled everywhere")
struct LayersEverywhereTests {
  @Test("Retry begins no attempt and keeps no pause")
  func retry() throws {
    try CancelEverywhere.run { trial in
      let mock = mock(trial, .status(.serviceUnavailable), .status(.serviceUnavailable), .json("[]"))
      let retry = trial.track(Retry(clock: trial.clock, random: .constant(1)))
      trial.expect("no load is tracked and no pause is kept") { _ in retry.waitingCount == 0 }
      return (retry --> mock).load(try request())
    }
  }

  @Test("Throttle gives each slot back, and begins the requests behind a cancelled one")
  func throttle() throws {
    // The other loads are not in the tree, and continue.
    try CancelEverywhere.run(grace: .seconds(10)) { trial in
      let mock = mock(trial, .json("1"), .json("2"), .json("3"))
      let throttle = trial.track(
        Throttle(2, perHost: 1, rate: .init(1, per: .seconds(3)), aging: nil, clock: trial.clock))
      let api = throttle --> mock
      let first = api.load(try request())
      let second = api.load(try request())
      let third = api.load(try request())
      trial.expect("no slot is taken, and the queue is empty") { _ in throttle.isIdle }
      trial.expect("the others succeed") { _ in
        [first, third].allSatisfy { $0.outcomeIfCompleted?.ending == .succeeded }
      }
      return second
    }
  }

  @Test("Coalesce continues for the other caller")
  func coalesce() throws {
    try CancelEverywhere.run { trial in
      let mock = mock(trial, .json("1"), .json("2"))
      let coalesce = trial.track(Coalesce())
      let api = coalesce --> mock
      let other = api.load(try request())
      trial.expect("no load is shared") { _ in coalesce.flightCount == 0 }
      trial.expect("the other caller succeeds, with one request") { _ in
        other.outcomeIfCompleted?.ending == .succeeded && mock.requests.count == 1
      }
      return api.load(try request())
    }
  }

  @Test("The last caller of Coalesce cancels the load")
  func coalesceAlone() throws {
    try CancelEverywhere.run { trial in
      let mock = mock(trial, .json("1"), .json("2"))
      let coalesce = trial.track(Coalesce())
      let api = coalesce --> mock
      trial.expect("no load is shared") { _ in coalesce.flightCount == 0 }
      let both = [try request(), try request()].map { api.load($0) }
      return Future.all(both).map { $0.count }
    }
  }

  @Test("Timeout keeps no timer, whether it expires or not", arguments: [2, 60])
  func timeout(seconds: Int) throws {
    try CancelEverywhere.run { trial in
      let mock = MockLoader(clock: trial.clock)
      mock.on(.any, .json("[]").delayed(by: .seconds(3), clock: trial.clock).forever())
      let limit = Duration.seconds(seconds)
      let timeout = Timeout(total: limit, attempt: limit, firstByte: limit, clock: trial.clock)
      return (timeout --> mock).load(try request())
    }
  }

  @Test("Redirect follows no redirect after a cancellation, and a cookie is stored before or not at all")
  func redirectAndCookies() throws {
    try CancelEverywhere.run { trial in
      let mock = MockLoader(clock: trial.clock)
      let headers = try HTTPHeaders([("Location", "/b"), ("Set-Cookie", "a=1")])
      mock.on(
        "/a", .respond(status: HTTPStatus(302), headers: headers).delayed(by: .seconds(1), clock: trial.clock).forever()
      )
      mock.on("/b", .json("[]").delayed(by: .seconds(1), clock: trial.clock).forever())
      let jar = trial.track(CookieJar(date: trial.clock.wallClock()))
      trial.expect("a second hop has the cookie") { _ in
        mock.requests.count < 2 || mock.requests[1].headers["Cookie"] == "a=1"
      }
      return (Redirect() --> StoreCookies(in: jar) --> mock).load(try request("a"))
    }
  }

  @Test("CacheResponses leaves no shared load, in memory and in files", arguments: [false, true])
  func cache(inFiles: Bool) throws {
    let folder = try Folder()
    let runs = Locked(0)
    try CancelEverywhere.run { trial in
      let mock = MockLoader(clock: trial.clock)
      let headers = try HTTPHeaders([("Cache-Control", "max-age=5"), ("ETag", "\"1\"")])
      mock.on(
        .any, .respond(headers: headers, body: Data("[]".utf8)).delayed(by: .seconds(1), clock: trial.clock).forever())
      let number = runs.withLock { runs in
        runs += 1
        return runs
      }
      let date = trial.clock.wallClock()
      let cache =
        inFiles
        ? try HTTPCache(directory: folder.file("\(number)"), date: date, on: trial.executor) { _ in }
        : HTTPCache(date: date)
      let api = CacheResponses(in: trial.track(cache)) --> mock
      let first = api.load(try request())
      let clock = trial.clock
      return first.flatMap { _ in api.load(try request()) }
        .flatMap { _ in Future.after(.seconds(10), clock: clock) }
        .flatMap { api.load(try request()) }
    }
  }

  @Test("Providers of credentials, and refreshes, leave nothing")
  func credentials() throws {
    try CancelEverywhere.run { trial in
      let mock = mock(trial, .status(.unauthorized), .json("[]"))
      let clock = trial.clock
      let refresh = trial.track(
        RefreshOnUnauthorized { _ in Future.after(.seconds(2), clock: clock).map { try BearerToken("new") } })
      let basic = trial.track(
        BasicAuth {
          Future.after(.seconds(1), clock: clock).map { try BasicCredentials(userName: "a", password: "b") }
        })
      return (basic --> refresh --> mock).load(try request())
    }
  }

  @Test("OAuth2 leaves no load of a token")
  func oauth() throws {
    // The load of a token continues without a load that waits for it.
    try CancelEverywhere.run(grace: .seconds(1)) { trial in
      let mock = mock(trial, .status(.unauthorized), .json("[]"))
      let tokens = MockLoader(clock: trial.clock)
      let answer = #"{"access_token": "a", "token_type": "Bearer", "expires_in": 3600}"#
      tokens.on(.any, .json(answer).delayed(by: .seconds(1), clock: trial.clock).forever())
      let oauth = trial.track(
        OAuth2(
          OAuth2Configuration(
            client: .confidential(id: "app", secret: "secret"),
            tokenEndpoint: try HTTPURL("https://id.example.com/token"), grant: .clientCredentials),
          tokens: tokens, clock: trial.clock, date: trial.clock.wallClock(), random: .seeded(1)))
      return (oauth --> mock).load(try request())
    }
  }

  @Test("A reset during a load, and a cancellation at each point around it, leave nothing")
  func reset() throws {
    // The timer of the reset is not in the tree.
    try CancelEverywhere.run(grace: .seconds(1)) { trial in
      let mock = mock(trial, .status(.serviceUnavailable), .json("[]"))
      let throttle = Throttle(1, clock: trial.clock)
      let api =
        ResetGuard() --> Autocancel(clock: trial.clock) --> Retry(clock: trial.clock, random: .constant(1)) --> throttle
        --> mock
      let load = api.load(try request())
      let reset = Locked<Future<Void>?>(nil)
      _ = trial.clock.schedule(after: .seconds(1)) { reset.value = api.reset() }
      trial.expect("the reset has completed, and no slot is taken") { _ in
        reset.value?.isCompleted == true && throttle.isIdle
      }
      return Future.allSettled([
        load, Future.after(.seconds(2), clock: trial.clock).flatMap { api.load(try request()) },
      ])
    }
  }

  private func request(_ path: String = "a") throws -> HTTPRequest { try HTTPRequest("https://example.com/\(path)") }

  /// Returns a mock that gives each answer after a second, and repeats the last.
  private func mock(_ trial: CancelTrial, _ answers: MockAnswer...) -> MockLoader {
    let mock = trial.track(MockLoader(clock: trial.clock))
    for answer in answers.dropLast() { mock.on(.any, answer.delayed(by: .seconds(1), clock: trial.clock)) }
    mock.on(.any, answers[answers.count - 1].delayed(by: .seconds(1), clock: trial.clock).forever())
    return mock
  }
}
