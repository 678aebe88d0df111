import Foundation
import FutureTree
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTP

@Suite("Layers: Throttle, limits of servers")
struct ServerLimitTests {
  private let clock = ManualClock()
  private let mock = MockLoader()
  private let throttle: Throttle
  private let stub: MockStub

  init() {
    throttle = Throttle(10, followsServerLimits: true, clock: clock, date: clock.wallClock())
    stub = mock.on(.any, .hold().forever())
  }

  private var api: any HTTPLoader { throttle --> mock }

  private var paths: [String] { mock.requests.map(\.path) }

  private func load(_ path: String, host: String = "a.example") throws -> Future<HTTPResponse> {
    api.load(try HTTPRequest("http://\(host)\(path)"))
  }

  private func answer(
    _ number: Int, _ status: HTTPStatus = .ok, _ fields: NameValuePairs<String> = [:]
  ) throws {
    let held = stub.held
    try #require(held.indices.contains(number), "load \(number) has not begun")
    held[number].answer(status: status, headers: try HTTPHeaders(fields))
  }

  /// Answers a load with a limit.
  private func answer(_ number: Int, remaining: Int, for seconds: Int) throws {
    try answer(number, .ok, ["RateLimit": "\"a\";r=\(remaining);t=\(seconds)"])
  }

  private func expectNothingLeft() {
    #expect(throttle.isIdle)
    expectEqual(clock.timerCount, 0)
    expectEqual(mock.pendingCount, 0)
  }

  @Test("When a server accepts no more requests, those to its host wait until the reset, and others go on")
  func waits() throws {
    let first = try load("/1")
    try answer(0, remaining: 0, for: 30)
    let waiting = try load("/2")
    let other = try load("/3", host: "b.example")

    expectEqual(first.text, "success")
    expectEqual(paths, ["/1", "/3"])
    expectEqual(throttle.waitingCount, 1)
    clock.advance(by: .seconds(29))
    expectEqual(paths, ["/1", "/3"])
    clock.advance(by: .seconds(1))
    expectEqual(paths, ["/1", "/3", "/2"])
    try answer(1)
    try answer(2)

    expectEqual([waiting.text, other.text], ["success", "success"])
    expectNothingLeft()
  }

  @Test("As many requests begin as the server still accepts, those in flight included")
  func remaining() throws {
    let loads = try (1...3).map { try load("/\($0)") }
    try answer(0, .ok, ["X-RateLimit-Remaining": "3", "X-RateLimit-Reset": "10"])  // Two are in flight: one more.
    let more = try (4...5).map { try load("/\($0)") }
    expectEqual(paths.count, 4)
    try answer(1, .ok, ["X-RateLimit-Remaining": "3", "X-RateLimit-Reset": "10"])  // Two are in flight: one more.
    expectEqual(paths.count, 5)
    for number in 2...4 { try answer(number) }

    #expect((loads + more).allSatisfy { $0.text == "success" })
    clock.advance(by: .seconds(10))
    _ = try load("/6")
    try answer(5)
    expectNothingLeft()
  }

  @Test("`Retry-After` of a refusal holds the host", arguments: [429, 503])
  func refused(status: Int) throws {
    let first = try load("/1")
    try answer(0, HTTPStatus(status), ["Retry-After": "5", "RateLimit": "\"default\";r=9;t=30"])
    let second = try load("/2")

    expectEqual(first.text, "success")
    expectEqual(paths, ["/1"])
    clock.advance(by: .seconds(5))
    expectEqual(paths, ["/1", "/2"])
    try answer(1)
    expectEqual(second.text, "success")
    expectNothingLeft()
  }

  @Test("A sooner reset of another host is not missed")
  func two() throws {
    _ = try (load("/1"), load("/2", host: "b.example"))
    try answer(0, remaining: 0, for: 60)
    let late = try load("/3")
    try answer(1, remaining: 0, for: 5)
    let soon = try load("/4", host: "b.example")

    expectEqual(clock.timerCount, 1)
    clock.advance(by: .seconds(5))
    expectEqual(paths, ["/1", "/2", "/4"])
    clock.advance(by: .seconds(55))
    expectEqual(paths, ["/1", "/2", "/4", "/3"])
    try answer(2)
    try answer(3)
    expectEqual([late.text, soon.text], ["success", "success"])
    expectNothingLeft()
  }

  @Test("A rate and a server limit: the later of both counts, whichever was first")
  func rate() throws {
    let throttle = Throttle(
      10, rate: .init(1, per: .seconds(1)), followsServerLimits: true, clock: clock, date: clock.wallClock())
    let api = throttle --> mock
    _ = api.load(try HTTPRequest("http://a.example/1"))
    try answer(0, remaining: 0, for: 60)
    _ = api.load(try HTTPRequest("http://a.example/2"))
    _ = api.load(try HTTPRequest("http://b.example/3"))

    clock.advance(by: .seconds(1))
    expectEqual(paths, ["/1", "/3"])
    clock.advance(by: .seconds(59))
    expectEqual(paths, ["/1", "/3", "/2"])
    try answer(1)
    try answer(2)
    #expect(throttle.isIdle)
  }

  @Test("A request whose deadline is before the reset fails at once, and one that is cancelled leaves")
  func leaves() throws {
    _ = try load("/1")
    try answer(0, remaining: 0, for: 30)
    var request = try HTTPRequest("http://a.example/2")
    request.deadline = .after(.seconds(10), clock: clock)
    let late = api.load(request)
    let cancelled = try load("/3")
    cancelled.cancel()

    expectEqual([late.text, cancelled.text], ["deadlineExceeded", "cancelled"])
    expectEqual(clock.timerCount, 0)
    clock.advance(by: .seconds(30))
    let next = try load("/4")
    try answer(1)
    expectEqual(next.text, "success")
    expectNothingLeft()
  }

  @Test("A reset of the chain forgets the limits")
  func reset() throws {
    _ = try load("/1")
    try answer(0, remaining: 0, for: 30)
    let waiting = try load("/2")
    expectEqual(api.reset().text, "success")
    let next = try load("/3")

    expectEqual(waiting.text, "cancelled")
    expectEqual(paths, ["/1", "/3"])
    try answer(1)
    expectEqual(next.text, "success")
    expectNothingLeft()
  }

  @Test("A request that bypasses the throttle counts, and does not wait")
  func bypasses() throws {
    _ = try load("/1")
    try answer(0, remaining: 1, for: 30)
    var request = try HTTPRequest("http://a.example/2")
    request.bypassesThrottle = true
    let bypassing = (api.load(request), api.load(request))
    let waiting = try load("/3")

    expectEqual(paths, ["/1", "/2", "/2"])
    clock.advance(by: .seconds(30))
    expectEqual(paths.count, 4)
    for number in 1...3 { try answer(number) }
    expectEqual([bypassing.0.text, bypassing.1.text, waiting.text], ["success", "success", "success"])
    expectNothingLeft()
  }

  @Test("After a redirect, the limit is that of the host that answered")
  func redirected() throws {
    let api = throttle --> Redirect() --> mock
    let first = api.load(try HTTPRequest("http://a.example/1"))
    try answer(0, HTTPStatus(302), ["Location": "http://b.example/2"])
    try answer(1, remaining: 0, for: 30)
    let others = try (api.load(HTTPRequest("http://b.example/3")), api.load(HTTPRequest("http://a.example/4")))

    expectEqual(paths, ["/1", "/2", "/4"])
    try answer(2)
    clock.advance(by: .seconds(30))
    try answer(3)
    expectEqual([first.text, others.0.text, others.1.text], ["success", "success", "success"])
    expectNothingLeft()
  }

  @Test("A response from a cache announces nothing")
  func cached() throws {
    let mock = MockLoader()
    let headers = try HTTPHeaders(["RateLimit": "\"a\";r=0;t=30"])
    for marks in [HTTPResponse.Marks.isCached, []] {
      mock.answer { HTTPResponse(to: $0, status: .ok, headers: headers, content: .data(Data()), marks: marks) }
    }
    let loads = try (1...3).map { (throttle --> mock).load(try HTTPRequest("http://a.example/\($0)")) }

    expectEqual(loads.map(\.text), ["success", "success", "pending"])
    loads[2].cancel()
  }

  @Test("By default, the limits of servers are not followed")
  func unused() throws {
    let throttle = Throttle(10, clock: clock)
    let api = throttle --> mock
    _ = api.load(try HTTPRequest("http://a.example/1"))
    try answer(0, .tooManyRequests, ["RateLimit": "\"a\";r=0;t=30", "Retry-After": "30"])
    let second = api.load(try HTTPRequest("http://a.example/2"))
    try answer(1)

    expectEqual(second.text, "success")
    #expect(throttle.isIdle)
  }

  @Test("The limits of at most 1,000 hosts are kept, those that end last")
  func bounded() throws {
    throttle.limit = .max
    for number in 0..<1_001 { _ = try load("/", host: "\(number).example") }
    for number in 0..<1_001 { try answer(number, remaining: 0, for: number + 1) }
    let (forgotten, kept) = try (load("/forgotten", host: "0.example"), load("/kept", host: "1.example"))

    expectEqual(paths.last, "/forgotten")
    try answer(1_001)
    expectEqual([forgotten.text, kept.text], ["success", "pending"])
    kept.cancel()
    clock.advance(by: .seconds(2_000))
    _ = try load("/")
    try answer(1_002)
    expectNothingLeft()
  }
}
