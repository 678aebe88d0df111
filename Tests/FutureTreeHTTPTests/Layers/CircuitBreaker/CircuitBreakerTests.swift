import FutureTree
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTP

@Suite("CircuitBreaker")
struct CircuitBreakerTests {
  private let clock = ManualClock()
  private let mock = MockLoader()
  private let changes = Recorder()
  private let request: HTTPRequest

  init() throws {
    request = try HTTPRequest("https://example.com/feed")
  }

  private func breaker(
    rate: Double = 0.5, of minimum: Int = 2, in duration: Duration = .seconds(10), limit: Int = 100, probes: Int = 1,
    origins: Int = 1000
  ) -> CircuitBreaker {
    CircuitBreaker(
      CircuitThreshold(rate: rate, of: minimum, in: duration, limit: limit), openDuration: .seconds(5), probes: probes,
      origins: origins, clock: clock, onChange: { [changes] origin, state in changes("\(origin) \(state)") })
  }

  private func url() throws -> HTTPURL { try #require(request.url) }

  /// Loads the request, and answers it.
  private func load(_ api: any HTTPLoader, _ status: HTTPStatus) {
    mock.answer(status: status)
    _ = api.load(request)
  }

  private func open(_ api: any HTTPLoader) {
    for _ in 0..<2 { load(api, .serviceUnavailable) }
  }

  private func code(of load: Future<HTTPResponse>) -> HTTPError.Code? {
    guard case .failure(let error as HTTPError)? = load.outcomeIfCompleted else { return nil }
    return error.code
  }

  @Test("The circuit opens at the threshold, and loads then fail without being sent")
  func opens() throws {
    let breaker = breaker()
    let api = breaker --> mock
    let url = try url()

    expectEqual(breaker.state(of: url), .closed)
    open(api)
    let refused = api.load(request)

    expectEqual(code(of: refused), .circuitOpen)
    expectEqual(mock.requests.count, 2)
    expectEqual(breaker.state(of: url), .open(remaining: .seconds(5)))
    guard case .failure(let error)? = refused.outcomeIfCompleted else { return }
    #expect(
      "\(error)"
        == "circuitOpen: GET https://example.com/feed was not sent. Too many requests to https://example.com failed, so "
        + "its circuit is open for 5 s. Load it again later.")
    #expect(changes.entries == ["https://example.com open(remaining: 5.0 seconds)"])
  }

  @Test("Each origin has its own circuit, and a request without a host passes")
  func origins() throws {
    let api = breaker() --> anyHost --> mock
    open(api)
    mock.answer()
    mock.answer()

    let other = api.load(try HTTPRequest("https://example.com:8443/feed"))
    let path = api.load(try HTTPRequest(.get, to: "feed"))

    #expect(other.isCompleted && code(of: other) == nil && code(of: path) == nil)
  }

  @Test("After the open duration one probe is sent, and its success closes the circuit")
  func closes() throws {
    let breaker = breaker()
    let api = breaker --> mock
    open(api)
    clock.advance(by: .seconds(5))
    let held = mock.hold()

    let probe = api.load(request)
    let other = api.load(request)
    #expect(!probe.isCompleted)
    expectEqual(code(of: other), .circuitOpen)
    try expectEqual(breaker.state(of: url()), .halfOpen)
    held.answer()
    mock.answer()
    let next = api.load(request)

    #expect(code(of: next) == nil)
    expectEqual(mock.requests.count, 4)
    #expect(changes.entries.dropFirst() == ["https://example.com halfOpen", "https://example.com closed"])
  }

  @Test("A circuit that has closed counts from the beginning")
  func closedAgain() throws {
    let breaker = breaker()
    let api = breaker --> mock
    open(api)
    clock.advance(by: .seconds(5))
    load(api, .ok)

    load(api, .serviceUnavailable)

    try expectEqual(breaker.state(of: url()), .closed)
  }

  @Test("A failing probe opens the circuit again for the whole duration")
  func reopens() throws {
    let breaker = breaker()
    let api = breaker --> mock
    open(api)
    clock.advance(by: .seconds(6))
    mock.fail(HTTPError(.cannotConnect, "nobody listens"))

    _ = api.load(request)

    try expectEqual(breaker.state(of: url()), .open(remaining: .seconds(5)))
    clock.advance(by: .seconds(4))
    expectEqual(code(of: api.load(request)), .circuitOpen)
  }

  @Test("A cancelled probe gives its turn back, with each option", arguments: CancelEverywhere.allOptions)
  func cancelledProbe(options: CancellationOptions) throws {
    let api = breaker() --> mock
    open(api)
    clock.advance(by: .seconds(5))
    let held = mock.hold()
    let probe = api.load(request)

    probe.cancel(options)
    let early = api.load(request)
    held.complete(.cancelled)
    mock.answer()
    let next = api.load(request)

    expectEqual(code(of: early), .circuitOpen, "the transport has not confirmed the cancellation")
    #expect(next.isCompleted && code(of: next) == nil)
  }

  @Test("Several probes must all succeed, and no more than that are sent at once")
  func probes() throws {
    let breaker = breaker(probes: 2)
    let api = breaker --> mock
    let url = try url()
    open(api)
    clock.advance(by: .seconds(5))
    let held = [mock.hold(), mock.hold(), mock.hold()]

    let loads = (0..<3).map { _ in api.load(request) }
    expectEqual(loads.map { code(of: $0) }, [nil, nil, .circuitOpen])
    held[0].answer()
    expectEqual(breaker.state(of: url), .halfOpen)
    expectEqual(code(of: api.load(request)), .circuitOpen)
    held[1].answer()

    expectEqual(breaker.state(of: url), .closed)
  }

  @Test("Results of requests that were sent in an earlier state are ignored")
  func lateResults() throws {
    let breaker = breaker()
    let api = breaker --> mock
    let held = mock.hold()
    let early = api.load(request)
    open(api)
    clock.advance(by: .seconds(5))
    let probe = mock.hold()
    _ = api.load(request)

    held.answer(status: .serviceUnavailable)
    probe.answer()

    let state = try breaker.state(of: url())
    #expect(early.isCompleted)
    expectEqual(state, .closed)
  }

  @Test("Results that are too old, or beyond the limit, do not count")
  func window() throws {
    let api = breaker(rate: 1, of: 2, in: .seconds(1), limit: 2) --> mock
    load(api, .serviceUnavailable)
    clock.advance(by: .seconds(2))
    load(api, .serviceUnavailable)
    expectEqual(changes.entries, [])

    load(api, .ok)
    for _ in 0..<2 {
      load(api, .serviceUnavailable)
    }
    expectEqual(changes.entries.count, 1)
  }

  @Test("Cancelled loads, client errors and errors without evidence do not open the circuit")
  func notCounted() throws {
    let api = breaker(rate: 0.01, of: 1) --> mock
    _ = mock.hold(whenCancelled: .complete)
    api.load(request).cancel()
    load(api, .notFound)
    mock.fail(HTTPError(.queueFull, "full"))
    _ = api.load(request)
    mock.fail(HTTPError(.deadlineExceeded, "late"))
    _ = api.load(request)

    expectEqual(changes.entries, [])
  }

  @Test("A stream is counted when its transfer has completed, and a reader that leaves is no failure")
  func streams() throws {
    let api = breaker(rate: 0.5, of: 1) --> mock
    let (left, cut) = (mock.stream(whenCancelled: .complete), mock.stream())
    var streamed = request
    streamed.delivery = .stream()

    let first = api.load(streamed)
    left.send("a")
    if case .success(let response)? = first.outcomeIfCompleted { response.transfer.cancel() }
    expectEqual(changes.entries, [])
    let second = api.load(streamed)
    cut.send("a")
    cut.fail(HTTPError(.connectionLost, "cut"))

    expectEqual(changes.entries.count, 1)
    _ = second
  }

  @Test("A stream that is cancelled after its head is not counted")
  func cancelledStream() throws {
    let breaker = breaker(rate: 0.6, of: 2)
    let api = breaker --> mock
    let left = mock.stream(whenCancelled: .complete)
    var streamed = request
    streamed.delivery = .stream()
    load(api, .serviceUnavailable)

    let stream = api.load(streamed)
    left.send("a")
    try #require(stream.outcomeIfCompleted).get().transfer.cancel()
    try expectEqual(breaker.state(of: url()), .closed)
    load(api, .serviceUnavailable)

    #expect(changes.entries == ["https://example.com open(remaining: 5.0 seconds)"])
  }

  @Test("A probe whose stream is cancelled after its head gives its turn back")
  func cancelledProbeStream() throws {
    let breaker = breaker()
    let api = breaker --> mock
    open(api)
    clock.advance(by: .seconds(5))
    let left = mock.stream(whenCancelled: .complete)
    var streamed = request
    streamed.delivery = .stream()

    let probe = api.load(streamed)
    left.send("a")
    expectEqual(code(of: api.load(request)), .circuitOpen)
    try #require(probe.outcomeIfCompleted).get().transfer.cancel()

    try expectEqual(breaker.state(of: url()), .halfOpen)
    load(api, .ok)
    try expectEqual(breaker.state(of: url()), .closed)
  }

  @Test("A reset closes the circuits, and loads from before it are not counted")
  func reset() throws {
    let breaker = breaker(of: 1)
    let api = breaker --> mock
    let held = mock.hold()
    let early = api.load(request)
    load(api, .serviceUnavailable)
    #expect(try breaker.state(of: url()) != .closed)

    expectEqual(api.reset().isCompleted, false)
    held.answer(status: .serviceUnavailable)

    let state = try breaker.state(of: url())
    #expect(early.isCompleted)
    expectEqual(state, .closed)
    expectEqual(breaker.count, 0)
  }

  @Test("The number of circuits is limited, and closed circuits are removed first")
  func bounded() throws {
    let breaker = breaker(of: 1, origins: 2)
    let api = breaker --> mock
    load(api, .serviceUnavailable)
    for number in 0..<5 {
      clock.advance(by: .milliseconds(1))
      mock.answer()
      _ = api.load(try HTTPRequest("https://host\(number).example.com/"))
    }

    expectEqual(breaker.count, 2)
    expectEqual(code(of: api.load(request)), .circuitOpen)
  }

  @Test("Of the closed circuits, the one that was unused for the longest time is removed first")
  func boundedClosed() throws {
    var states = CircuitStates(CircuitThreshold(of: 1), openDuration: .seconds(5), probes: 1, limit: 2)
    var tickets: [CircuitStates.Ticket] = []
    for (second, origin) in ["a", "b", "a", "c"].enumerated() {
      guard case (.admitted(let ticket), _) = states.admit(origin, at: .seconds(second)) else { continue }
      tickets.append(ticket)
    }

    let changes = tickets.map { states.ended($0, .failure, at: .seconds(4)) }

    let open = CircuitBreaker.State.open(remaining: .seconds(5))
    expectEqual(changes, [open, nil, nil, open])
    expectEqual(states.count, 2)
  }

  @Test("Retry returns the error at once")
  func retry() throws {
    let api = Retry(attempts: 5, clock: clock) --> breaker() --> mock
    open(breaker() --> mock)
    mock.answer(status: .serviceUnavailable)
    mock.answer(status: .serviceUnavailable)

    let load = api.load(request)
    clock.advanceToNextTimer()
    clock.advanceToNextTimer()

    expectEqual(code(of: load), .circuitOpen)
    expectEqual(clock.timerCount, 0)
  }

  @Test("Cancelled at each point, with each option, a probe leaves no turn taken")
  func everywhere() throws {
    try CancelEverywhere.run { trial in
      let mock = MockLoader(clock: trial.clock)
      mock.on("/feed", .status(.serviceUnavailable).delayed(by: .seconds(1), clock: trial.clock))
      mock.on("/feed", .status(.ok).delayed(by: .seconds(1), clock: trial.clock).forever())
      let breaker = trial.track(
        CircuitBreaker(CircuitThreshold(of: 1), openDuration: .seconds(1), clock: trial.clock))
      let api = breaker --> mock
      trial.expect("a probe can be sent") { [clock = trial.clock] _ in
        clock.advance(by: .seconds(2))
        let load = api.load(request)
        let isRefused = load.isCompleted
        clock.advance(by: .seconds(2))
        return !isRefused
      }
      return api.load(request).flatMap { _ in Future.after(.seconds(2), clock: trial.clock) }
        .flatMap { api.load(request) }.map { $0.status }
    }
  }
}
