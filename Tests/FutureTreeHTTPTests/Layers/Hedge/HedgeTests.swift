import Foundation
import FutureTree
import FutureTreeHTTPTesting
import FutureTreeTesting
import TestSupport
import Testing

@testable import FutureTreeHTTP

@Suite("Hedge")
struct HedgeTests {
  private let clock = ManualClock()
  private let mock = MockLoader()
  private let request: HTTPRequest

  init() throws {
    request = try HTTPRequest("https://example.com/feed")
  }

  private var api: any HTTPLoader { Hedge(after: .constant(.seconds(1)), clock: clock) --> mock }

  private func held(_ count: Int) -> [HeldAnswer] { (0..<count).map { _ in mock.hold() } }

  private func body(of load: Future<HTTPResponse>) -> String? {
    guard case .success(let response)? = load.outcomeIfCompleted else { return nil }
    return (try? response.body).map { String(decoding: $0, as: UTF8.self) }
  }

  @Test("The second request is sent when the first is late, and the first response wins")
  func secondWins() {
    let held = held(2)
    let load = api.load(request)
    expectEqual(mock.requests.count, 1)

    clock.advance(by: .seconds(1))
    expectEqual(mock.requests.count, 2)
    held[1].answer(body: "second")

    expectEqual(body(of: load), "second")
    #expect(held[0].cancelRequest?.options == .doNotForwardIfOthersWaiting && held[1].cancelRequest == nil)
    held[0].complete(.cancelled)
  }

  @Test("If the first request wins, the second is cancelled")
  func firstWins() {
    let held = held(2)
    let load = api.load(request)
    clock.advance(by: .seconds(1))

    held[0].answer(body: "first")

    #expect(body(of: load) == "first" && held[1].cancelRequest != nil)
    held[1].answer(body: "late")
    expectEqual(body(of: load), "first")
  }

  @Test("A response in time, and a failure in time, leave no timer and no second request")
  func inTime() {
    let held = held(3)
    let loads = (0..<3).map { _ in api.load(request) }

    held[0].answer(body: "first")
    held[1].complete(.failure(HTTPError(.connectionLost, "lost")))
    held[2].answer(status: .serviceUnavailable)

    #expect(body(of: loads[0]) == "first" && clock.timerCount == 0)
    guard case .failure(let error as HTTPError)? = loads[1].outcomeIfCompleted else {
      Issue.record("\(loads[1])")
      return
    }
    expectEqual(error.code, .connectionLost)
    guard case .success(let response)? = loads[2].outcomeIfCompleted else { return }
    expectEqual(response.status, .serviceUnavailable)
    expectEqual(mock.requests.count, 3)
  }

  @Test("A bad response waits for the other request, and if both fail, the first outcome counts")
  func bad() {
    let held = held(4)
    let loads = (0..<2).map { _ in api.load(request) }
    clock.advance(by: .seconds(1))
    // The order of the requests: first of load 0, first of load 1, second of load 0, second of load 1.

    held[2].answer(status: .serviceUnavailable)
    #expect(!loads[0].isCompleted)
    held[0].answer(body: "first")
    held[3].complete(.failure(HTTPError(.connectionLost, "lost")))
    held[1].answer(status: .internalServerError)

    expectEqual(body(of: loads[0]), "first")
    guard case .success(let response)? = loads[1].outcomeIfCompleted else {
      Issue.record("\(loads[1])")
      return
    }
    expectEqual(response.status, .internalServerError)
  }

  @Test("The delay is a percentile of the measured times of the origin, after enough samples")
  func percentile() throws {
    let hedge = Hedge(after: .percentile(0.5, samples: 3), clock: clock)
    let api = hedge --> mock
    for seconds in [1, 2, 3] {
      let held = mock.hold()
      let load = api.load(request)
      expectEqual(clock.timerCount, 0)
      clock.advance(by: .seconds(seconds))
      held.answer()
      #expect(load.isCompleted)
    }

    let held = held(3)
    let load = api.load(request)
    let other = api.load(try HTTPRequest("https://other.example.com/"))
    expectEqual(clock.nextDeadline, clock.now + .seconds(2))
    expectEqual(clock.timerCount, 1)
    expectEqual(hedge.count, 1)
    clock.advance(by: .seconds(2))

    expectEqual(mock.requests.count, 6)
    #expect(!load.isCompleted)
    #expect(!other.isCompleted)
    for answer in held { answer.answer() }
  }

  @Test("A slow request that loses is measured as well")
  func censored() {
    let api = Hedge(after: .percentile(1, samples: 1), clock: clock) --> mock
    mock.answer(body: "at once")
    _ = api.load(request)
    let held = held(2)
    let load = api.load(request)
    clock.advance(by: .seconds(4))  // Later than the minimum of 10 ms.
    held[1].answer()
    held[0].complete(.cancelled)

    let next = mock.hold()
    _ = api.load(request)
    #expect(load.isCompleted)
    expectEqual(clock.nextDeadline, .seconds(8))
    next.answer()
  }

  @Test("The number of measured origins is limited, and the one that was unused for the longest time is removed first")
  func boundedOrigins() {
    var state = HedgeState(.percentile(0.5, samples: 1), nil)
    for (second, number) in ([Int](0..<1000) + [0, 1000]).enumerated() {
      state.measured(.seconds(1), "\(number)", 0, isGood: true, at: .seconds(second))
    }

    let isMeasured = [0, 1, 2, 1000].map { state.delay(for: "\($0)") != nil }

    expectEqual(isMeasured, [true, false, true, true])
    expectEqual(state.count, 1000)
  }

  @Test("The budget limits second requests, and good responses refill it")
  func budget() {
    let api =
      Hedge(after: .constant(.seconds(1)), budget: RetryBudget(reserve: 1, perSuccess: 0.5), clock: clock) --> mock
    let held = held(4)
    let loads = (0..<2).map { _ in api.load(request) }

    clock.advance(by: .seconds(1))
    expectEqual(mock.requests.count, 3)
    held[1].answer(body: "without a second request")
    held[0].answer()
    #expect(loads.allSatisfy { $0.isCompleted } && body(of: loads[1]) == "without a second request")
    held[2].complete(.cancelled)
    _ = api.load(request)
    clock.advance(by: .seconds(1))

    expectEqual(mock.requests.count, 5)
    for answer in held + self.held(1) { answer.answer() }
  }

  @Test("Requests that cannot be repeated, are excluded, or go to a file are sent once")
  func excluded() throws {
    let post = try HTTPRequest(.post, "https://example.com/orders")
    var (off, file, keyed) = (request, request, post)
    off.isHedged = false
    file.delivery = .file(URL(fileURLWithPath: "/nowhere"))
    var once = try HTTPRequest(.put, "https://example.com/orders")
    once.body = .stream(isReplayable: false) { HTTPBodyReader { _ in Data() } }
    try keyed.setHeader("Idempotency-Key", "1")
    let held = held(6)

    for request in [post, off, file, once] { _ = api.load(request) }
    expectEqual(clock.timerCount, 0)
    _ = api.load(keyed)

    expectEqual(clock.timerCount, 1)
    for answer in held { answer.answer() }
  }

  @Test("A request whose deadline comes before the delay is not hedged")
  func deadline() {
    var request = request
    request.deadline = .after(.milliseconds(500), clock: clock)
    let held = mock.hold()

    let load = api.load(request)

    expectEqual(clock.timerCount, 0)
    held.answer()
    #expect(load.isCompleted)
  }

  @Test("Cancelled before the second request, none is sent", arguments: CancelEverywhere.allOptions)
  func cancelledBefore(options: CancellationOptions) {
    let held = mock.hold(whenCancelled: .complete)
    let load = api.load(request)

    load.cancel(options)
    clock.advance(by: .seconds(2))

    expectEqual(load.outcomeIfCompleted?.ending, .cancelled)
    expectEqual(mock.requests.count, 1)
    expectEqual(clock.timerCount, 0)
    expectEqual(options.contains(.doNotForwardRequest), (held.cancelRequest == nil))
    held.answer()
  }

  @Test("A cancellation reaches both requests, and waits for both")
  func cancelledBoth() {
    let held = held(2)
    let load = api.load(request)
    clock.advance(by: .seconds(1))

    load.cancel(reason: "the tab was closed")

    #expect(held.allSatisfy { $0.cancelRequest?.reason.message == "the tab was closed" })
    held[0].complete(.cancelled)
    #expect(!load.isCompleted)
    held[1].complete(.cancelled)
    expectEqual(load.outcomeIfCompleted?.ending, .cancelled)
  }

  @Test("After a reset, an earlier load sends no second request, and nothing is measured")
  func reset() {
    let hedge = Hedge(after: .percentile(1, samples: 1), clock: clock)
    let api = hedge --> mock
    mock.answer()
    _ = api.load(request)
    let held = mock.hold()
    let load = api.load(request)
    expectEqual(clock.timerCount, 1)

    api.reset()
    clock.advance(by: .seconds(1))
    held.answer()

    #expect(load.isCompleted)
    expectEqual(mock.requests.count, 2)
    expectEqual(hedge.count, 0)
  }

  @Test("The stream of a request that loses is closed, although its response arrived after the decision")
  func streams() throws {
    var streamed = request
    streamed.delivery = .stream(idleReadTimeout: nil)
    let held = held(2)
    let load = api.load(streamed)
    clock.advance(by: .seconds(1))
    let stopped = Recorder()
    let writers = [0, 1].map { number in
      let (stream, writer) = HTTPBodyStream.makeStream(for: streamed, clock: clock)
      writer.onStop { stopped("\(number)") }
      let response = HTTPResponse(to: streamed, status: .ok, content: .stream(stream))
      held[1 - number].complete(.success(response))
      return writer
    }

    #expect(load.isCompleted)
    expectEqual(stopped.entries, ["1"])
    for writer in writers { writer.finish() }
    withExtendedLifetime(load) {}
  }

  @Test("Only the first request reports progress")
  func progress() {
    var request = request
    let reports = Recorder()
    request.progress = { _ in reports("progress") }
    let held = held(2)
    let load = api.load(request)
    clock.advance(by: .seconds(1))

    #expect(held[0].report() && !held[1].report() && reports.count == 1)
    held[1].answer()
    held[0].complete(.cancelled)
    #expect(load.isCompleted)
  }

  @Test("The tree shows both requests")
  func tree() {
    let held = held(2)
    let load = api.load(request)
    clock.advance(by: .seconds(1))

    let text = "\(load.tree())"

    for name in ["Hedge", "first request", "second request"] { #expect(text.contains(name)) }
    for answer in held { answer.answer() }
  }

  @Test("Cancelled at each point, with each option, a load leaves nothing")
  func everywhere() throws {
    try CancelEverywhere.run { [request] trial in
      let mock = MockLoader(clock: trial.clock)
      mock.on("/feed", .status(.ok).delayed(by: .seconds(5), clock: trial.clock))
      mock.on("/feed", .status(.ok).delayed(by: .seconds(2), clock: trial.clock))
      let hedge = trial.track(Hedge(after: .constant(.seconds(1)), clock: trial.clock))
      let sent = mock
      trial.expect("at most two requests are sent") { _ in sent.requests.count <= 2 }
      return (hedge --> mock).load(request)
    }
  }
}
