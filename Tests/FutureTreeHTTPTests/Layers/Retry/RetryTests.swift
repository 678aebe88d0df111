import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

/// A `Retry` over a mock, with a manual clock and the longest jitter.
struct RetryFixture {
  let clock = ManualClock()
  let mock = MockLoader()
  let retry: Retry
  let api: any HTTPLoader

  /// Half a second, one, two, …
  static let doubling = RetryStrategy.exponential(first: .milliseconds(500))

  init(
    _ strategy: RetryStrategy = RetryFixture.doubling, budget: RetryBudget? = RetryBudget(),
    longestRetryAfter: Duration = .seconds(120)
  ) {
    retry = Retry(
      strategy, budget: budget, longestRetryAfter: longestRetryAfter, clock: clock,
      date: clock.wallClock(origin: Date(timeIntervalSince1970: 784_111_777)), random: .constant(1))
    api = (retry --> mock)
  }

  func unavailable(retryAfter: String) throws -> MockAnswer {
    .respond(status: .serviceUnavailable, headers: try HTTPHeaders([("Retry-After", retryAfter)]))
  }

  /// The numbers of the attempts that the mock received.
  var attempts: [Int] { mock.requests.map { $0.attempt } }

  /// Expects that no load waits and that a reset leaves no budget in use.
  func expectNothingLeft() {
    expectEqual(clock.timerCount, 0)
    expectEqual(retry.waitingCount, 0)
    expectEqual(mock.pendingCount, 0)
    let reset = (retry --> mock).reset()
    #expect(reset.isCompleted)
    #expect(retry.isIdle)
  }
}

@Suite("Layers: Retry") struct RetryTests {
  private let fixture = RetryFixture()
  private var clock: ManualClock { fixture.clock }
  private var mock: MockLoader { fixture.mock }

  @Test("A transient failure is followed by another attempt after a back-off, with its own number")
  func again() {
    mock.on(.any, .status(.serviceUnavailable), .fail(HTTPError(.connectionLost, "")), .text("at last"))

    let load = fixture.api.load(anyRequest())

    #expect(load.text == "pending" && fixture.attempts == [1] && fixture.retry.waitingCount == 1)
    clock.advance(by: .milliseconds(499))
    expectEqual(fixture.attempts, [1])
    clock.advance(by: .milliseconds(1))
    expectEqual(fixture.attempts, [1, 2])
    clock.advance(by: .seconds(1))
    #expect(load.status == "200" && fixture.attempts == [1, 2, 3])
    fixture.expectNothingLeft()
  }

  @Test("The response or the error of the last attempt is the outcome")
  func last() {
    mock.on("/a", .status(.serviceUnavailable).times(2), .status(HTTPStatus(502)))
    mock.on("/b", .status(.serviceUnavailable).times(2), .fail(HTTPError(.cannotConnect, "")))

    let loads = ["/a", "/b"].map { fixture.api.load(anyRequest($0)) }
    clock.advance(by: .seconds(10))

    expectEqual(loads.map(\.status), ["502", "cannotConnect"])
    expectEqual(mock.requests.count, 6)
    fixture.expectNothingLeft()
  }

  @Test("A response with a permanent status passes at once", arguments: [200, 304, 400, 401, 404, 409, 501, 505])
  func passes(code: Int) {
    mock.on(.any, .status(HTTPStatus(code)))

    let load = fixture.api.load(anyRequest())

    expectEqual(load.status, "\(code)")
    expectEqual(mock.requests.count, 1)
    fixture.expectNothingLeft()
  }

  @Test(
    "Errors that another attempt cannot fix pass at once",
    arguments: [.resetInProgress, .deadlineExceeded, .insecureConnection, .invalidURL, .bodyNotReplayable]
      as [HTTPError.Code])
  func errors(code: HTTPError.Code) {
    let fixture = RetryFixture(
      .immediately { context in context.code != .insecureConnection && context.code != .invalidURL })
    fixture.mock.on(.any, .fail(HTTPError(code, "")))

    let load = fixture.api.load(anyRequest())

    expectEqual(load.text, code.description)
    expectEqual(fixture.mock.requests.count, 1)
    fixture.expectNothingLeft()
  }

  @Test("A request that is not idempotent is sent once, unless it has an idempotency key")
  func methods() throws {
    mock.on(.any, .status(.serviceUnavailable).forever())
    var request = anyRequest()
    request.method = .post

    expectEqual(fixture.api.load(request).status, "503")
    expectEqual(mock.requests.count, 1)
    try request.setHeader("Idempotency-Key", "1")
    let load = fixture.api.load(request)
    clock.advance(by: .seconds(10))

    expectEqual(load.status, "503")
    expectEqual(mock.requests.count, 4)
    fixture.expectNothingLeft()
  }

  @Test("A request is retried only if its body can be sent again", arguments: [true, false])
  func bodies(isReplayable: Bool) {
    let fixture = RetryFixture(.immediately())
    fixture.mock.on(.any, .text("busy", status: .serviceUnavailable), .text("fine"))
    var request = anyRequest()
    request.method = .put
    request.body = .stream(length: 1, isReplayable: isReplayable) { HTTPBodyReader { _ in Data([1]) } }

    let load = fixture.api.load(request)

    expectEqual(load.status, isReplayable ? "200" : "503")
    expectEqual(fixture.mock.requests.count, isReplayable ? 2 : 1)
    fixture.expectNothingLeft()
  }

  @Test("A request chooses another strategy, or none")
  func option() {
    mock.on(.any, .status(.serviceUnavailable).forever())
    var request = anyRequest()

    request.retry = .never
    expectEqual(fixture.api.load(request).status, "503")
    expectEqual(mock.requests.count, 1)
    request.retry = .immediately(attempts: 5)
    expectEqual(fixture.api.load(request).status, "503")
    expectEqual(mock.requests.count, 6)
    fixture.expectNothingLeft()
  }

  @Test("A custom strategy gets number, outcome, request and time of the attempts")
  func ownStrategy() {
    let log = Recorder()
    let strategy = RetryStrategy { context in
      log(
        "\(context.attempt) \(context.request.path) \(context.status?.code ?? 0) \(context.code?.description ?? "-") \(context.elapsed)"
      )
      return context.attempt < 3 ? .seconds(-context.attempt) : nil
    }
    let fixture = RetryFixture(strategy)
    fixture.mock.on(.any, .status(.notFound), .fail(HTTPError(.encodedBody, "")), .status(.ok))

    let load = fixture.api.load(anyRequest("/x"))

    expectEqual(log.entries, ["1 /x 404 - 0.0 seconds", "2 /x 0 encodedBody 0.0 seconds", "3 /x 200 - 0.0 seconds"])
    expectEqual(load.status, "200")
    fixture.expectNothingLeft()
  }

  @Test("Retry works without arguments")
  func plain() {
    mock.answer()
    expectEqual((Retry() --> mock).load(anyRequest()).status, "200")
  }

  @Test("10,000 attempts without a back-off need neither stack nor time")
  func manyAttempts() {
    let fixture = RetryFixture(.immediately(attempts: 10_000), budget: nil)
    fixture.mock.on(.any, .status(.serviceUnavailable).times(9_999), .status(.ok))

    let load = fixture.api.load(anyRequest())

    expectEqual(load.status, "200")
    expectEqual(fixture.mock.requests.count, 10_000)
    fixture.expectNothingLeft()
  }

  @Test("Completed attempts leave no future behind (law 21, bounded memory)", .tags(.law21))
  func attemptsLeaveNothing() {
    let fixture = RetryFixture(.constant(.seconds(1), attempts: 200), budget: nil)
    fixture.mock.on(.any, .status(.serviceUnavailable).times(150), .status(.ok))
    let load = fixture.api.load(anyRequest())
    fixture.clock.advance(by: .seconds(5))
    let count = load.tree().entries.count

    fixture.clock.advance(by: .seconds(100))

    expectEqual(load.tree().entries.count, count, "\(load.tree())")
    fixture.clock.advance(by: .seconds(100))
    expectEqual(load.status, "200")
    fixture.expectNothingLeft()
  }

  @Test("A request that is loaded twice has separate attempts (H7, one load, one execution)")
  func twice() {
    mock.on(.any, .status(.serviceUnavailable).times(2), .status(.ok).times(2))
    let request = anyRequest()

    let loads = [fixture.api.load(request), fixture.api.load(request)]
    clock.advance(by: .milliseconds(500))

    #expect(loads.map(\.status) == ["200", "200"] && fixture.attempts == [1, 1, 2, 2])
    fixture.expectNothingLeft()
  }
}

@Suite("Layers: Retry, times and budgets") struct RetryLimitTests {
  private let fixture = RetryFixture()
  private var clock: ManualClock { fixture.clock }
  private var mock: MockLoader { fixture.mock }

  @Test(
    "The `Retry-After` field is a lower limit of the back-off",
    arguments: [
      ("3", 3000), ("0", 500), ("0.2", 500), ("-3", 500), ("soon", 500),
      ("Sun, 06 Nov 1994 08:49:40 GMT", 3000), ("Sun, 06 Nov 1994 08:49:00 GMT", 500),
      ("Sun, 06 Nov 99999 08:49:40 GMT", 500), ("120", 120_000),
    ])
  func retryAfter(value: String, milliseconds: Int) throws {
    mock.on(.any, try fixture.unavailable(retryAfter: value), .text("fine"))

    let load = fixture.api.load(anyRequest())

    expectEqual(clock.nextDeadline, .milliseconds(milliseconds))
    clock.advanceToNextTimer()
    expectEqual(load.status, "200")
    fixture.expectNothingLeft()
  }

  @Test(
    "A response passes at once if its `Retry-After` is longer than the limit",
    arguments: ["121", "99999999999999999999", "Sun, 06 Nov 1994 09:49:37 GMT", "Fri, 31 Dec 9999 23:59:59 GMT"])
  func tooLong(value: String) throws {
    mock.on(.any, try fixture.unavailable(retryAfter: value))

    let load = fixture.api.load(anyRequest())

    expectEqual(load.status, "503")
    expectEqual(mock.requests.count, 1)
    fixture.expectNothingLeft()
  }

  @Test("A load fails at once if the back-off exceeds its deadline, with the result of the last attempt")
  func deadline() throws {
    mock.on("/answer", .status(.serviceUnavailable))
    mock.on("/error", .fail(HTTPError(.connectionLost, "")))
    let loads = ["/answer", "/error"].map { path in
      var request = anyRequest(path)
      request.deadline = .after(.milliseconds(500), clock: clock)
      return fixture.api.load(request)
    }

    let errors = loads.compactMap { $0.outcomeIfCompleted?.error as? HTTPError }
    expectEqual(errors.map(\.code), [.deadlineExceeded, .deadlineExceeded])
    expectEqual(errors.first?.response?.status, .serviceUnavailable)
    expectEqual((errors.last?.underlying as? HTTPError)?.code, .connectionLost)
    expectEqual(mock.requests.count, 2)
    fixture.expectNothingLeft()
  }

  @Test("A load is retried if the back-off fits its deadline")
  func deadlineInTime() {
    mock.on(.any, .status(.serviceUnavailable), .status(.ok))
    var request = anyRequest()
    request.deadline = .after(.milliseconds(501), clock: clock)

    let load = fixture.api.load(request)
    clock.advance(by: .milliseconds(500))

    expectEqual(load.status, "200")
    fixture.expectNothingLeft()
  }

  @Test("Responses pass when the budget of their server is spent, and other servers have their own budget")
  func budget() throws {
    let fixture = RetryFixture(.immediately(), budget: RetryBudget(reserve: 3))
    fixture.mock.onOthers(.status(.serviceUnavailable))
    let other = try HTTPRequest("http://example.com:81/")

    func attempts(_ request: HTTPRequest) -> Int {
      let before = fixture.mock.requests.count
      _ = fixture.api.load(request)
      return fixture.mock.requests.count - before
    }

    expectEqual((0..<3).map { _ in attempts(anyRequest()) }, [3, 2, 1])
    #expect(attempts(try HTTPRequest("http://example.com:80/x")) == 1 && attempts(other) == 3)
    fixture.mock.onOthers(.status(.notFound))
    for _ in 0..<5 { _ = attempts(anyRequest()) }
    fixture.mock.onOthers(.status(.serviceUnavailable))
    expectEqual((0..<2).map { _ in attempts(anyRequest()) }, [2, 1])
    fixture.expectNothingLeft()
  }

  @Test("A layer in two chains has one budget for each server")
  func twoChains() {
    let fixture = RetryFixture(.immediately(), budget: RetryBudget(reserve: 2))
    let other = MockLoader()
    for mock in [fixture.mock, other] { mock.onOthers(.status(.serviceUnavailable)) }

    _ = fixture.api.load(anyRequest())
    _ = (fixture.retry --> other).load(anyRequest())

    expectEqual(fixture.mock.requests.count, 3)
    expectEqual(other.requests.count, 1)
    fixture.expectNothingLeft()
  }
}

extension Outcome {
  fileprivate var error: (any Error)? {
    if case .failure(let error) = self { error } else { nil }
  }
}
