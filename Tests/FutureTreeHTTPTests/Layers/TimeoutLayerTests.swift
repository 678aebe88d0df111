import FutureTree
import FutureTreeHTTP
import FutureTreeTesting
import Testing

@Suite("Layers: Timeout") struct TimeoutLayerTests {
  private let clock = ManualClock()
  private let mock = MockLoader()

  private func api(
    total: Duration? = nil, attempt: Duration? = nil, firstByte: Duration? = nil, idle: Duration? = nil
  ) -> any HTTPLoader {
    Timeout(total: total, attempt: attempt, firstByte: firstByte, idle: idle, clock: clock) --> mock
  }

  private func message(_ future: Future<HTTPResponse>) -> String? {
    guard case .failure(let error as HTTPError) = future.outcomeIfCompleted else { return nil }
    return error.message
  }

  private func request(deadline: Duration) -> HTTPRequest {
    var request = anyRequest()
    request[option: RequestDeadline.self] = HTTPDeadline(deadline, of: clock)
    return request
  }

  /// What a transport reports: the head, or one piece of a body.
  private func progress(sent: Int = 0, received: Int = 0) -> HTTPProgress {
    HTTPProgress(sent: .init(completed: sent), received: .init(completed: received))
  }

  @Test(
    "each time ends a load when it is over, says which it was and how long, and what lies behind is asked to cancel",
    arguments: [
      (
        0, "deadlineExceeded",
        "GET http://example.com/ was not answered by its deadline, which was 5.0 seconds after it came."
      ),
      (1, "timedOut", "GET http://example.com/ was not answered within 5.0 seconds."),
      (2, "timedOut", "The answer to GET http://example.com/ did not begin within 5.0 seconds."),
      (3, "timedOut", "Nothing was sent or received for GET http://example.com/ within 5.0 seconds."),
    ])
  func kinds(kind: Int, code: String, message: String) {
    let times = (0..<4).map { $0 == kind ? Duration.seconds(5) : nil }
    let api = api(total: times[0], attempt: times[1], firstByte: times[2], idle: times[3])
    let held = mock.hold()
    let load = api.load(anyRequest())

    clock.advance(by: .milliseconds(4999))
    #expect(load.text == "pending" && held.cancelRequest == nil)
    clock.advance(by: .milliseconds(1))

    #expect(load.text == code && self.message(load) == message)
    #expect(held.cancelRequest?.reason.message == "timed out: \(message)")
    held.complete(.cancelled)
    #expect(load.text == code && clock.timerCount == 0 && mock.pendingCount == 0)
  }

  @Test("an answer in time passes, and no timer is left", arguments: [true, false])
  func inTime(isSynchronous: Bool) {
    let api = api(total: .seconds(1), attempt: .seconds(1), firstByte: .seconds(1), idle: .seconds(1))
    if isSynchronous { mock.answer() }
    let held = isSynchronous ? nil : mock.hold()
    let load = api.load(anyRequest())
    #expect(clock.timerCount == (isSynchronous ? 0 : 4))

    held?.answer()

    #expect(load.text == "success" && clock.timerCount == 0)
  }

  @Test(
    "a failure and a cancellation from behind pass as well",
    arguments: [.failure(Oops()), .cancelled] as [Completion<HTTPResponse>])
  func otherEnds(completion: Completion<HTTPResponse>) {
    let held = mock.hold()
    let load = api(total: .seconds(1), idle: .seconds(1)).load(anyRequest())

    held.complete(completion)

    #expect(["oops", "cancelled"].contains(load.text) && clock.timerCount == 0)
  }

  @Test("what comes behind an expiry is dropped, an answer as well")
  func late() {
    let held = mock.hold()
    let load = api(attempt: .seconds(1)).load(anyRequest())

    clock.advance(by: .seconds(1))
    held.answer()

    #expect(load.text == "timedOut" && mock.pendingCount == 0 && clock.timerCount == 0)
  }

  @Test("it is the timeout that wins where what lies behind completes as soon as it is asked")
  func wins() {
    let held = mock.hold(whenCancelled: .complete)
    let load = api(attempt: .seconds(1)).load(anyRequest())

    clock.advance(by: .seconds(1))

    #expect(load.text == "timedOut" && held.isCompleted)
  }

  @Test("a time of zero or less fails at once, and nothing is loaded", arguments: [Duration.zero, .seconds(-1)])
  func noTime(duration: Duration) {
    let codes = [
      api(total: duration), api(attempt: duration), api(firstByte: duration), api(idle: duration),
    ].map { $0.load(anyRequest()).text }

    #expect(codes == ["deadlineExceeded", "timedOut", "timedOut", "timedOut"])
    #expect(mock.requests.isEmpty && clock.timerCount == 0)
  }

  @Test("a time without end is none that matters", arguments: [Duration.seconds(Int64.max), .seconds(1e18)])
  func huge(duration: Duration) {
    let held = mock.hold()
    let load = api(total: duration, attempt: duration, firstByte: duration, idle: duration).load(anyRequest())
    #expect(clock.timerCount == 4)

    clock.advance(by: .seconds(365 * 86_400))
    held.answer()

    #expect(load.text == "success" && clock.timerCount == 0)
  }
}

@Suite("Layers: Timeout, deadlines") struct TimeoutDeadlineTests {
  private let clock = ManualClock()
  private let mock = MockLoader()

  private func request(deadline: Int) -> HTTPRequest {
    var request = anyRequest()
    request[option: RequestDeadline.self] = HTTPDeadline(.seconds(deadline), of: clock)
    return request
  }

  @Test("any Timeout ends a request at its deadline, and refuses at once one that comes after it")
  func carried() {
    let api = Timeout(clock: clock) --> mock
    let held = mock.hold()
    let load = api.load(request(deadline: 5))

    clock.advance(by: .seconds(5))
    #expect(load.text == "deadlineExceeded" && held.cancelRequest != nil)
    #expect(api.load(request(deadline: 5)).text == "deadlineExceeded" && mock.requests.count == 1)
    #expect(clock.timerCount == 0)
  }

  @Test("of two deadlines the earlier travels on", arguments: [(3, 3), (9, 5), (nil, 5)] as [(Int?, Int)])
  func earlier(given: Int?, expected: Int) {
    let held = mock.hold()
    let api = Timeout(total: .seconds(5), clock: clock) --> mock

    let load = api.load(given.map(request) ?? anyRequest())

    #expect(held.request?[option: RequestDeadline.self]?.instant == .seconds(expected))
    clock.advance(by: .seconds(expected))
    #expect(load.text == "deadlineExceeded" && clock.timerCount == 0)
  }

  @Test(
    "a deadline at the end or before the beginning of time is one",
    arguments: [Duration(attoseconds: .max), .seconds(Int64.max), .seconds(Int64.min), Duration(attoseconds: .min)])
  func endOfTime(duration: Duration) {
    clock.advance(by: .seconds(1))
    mock.onOthers(.status(.ok))
    for deadline in [HTTPDeadline(duration, of: clock), .after(duration, clock: clock)] {
      var request = anyRequest()
      request[option: RequestDeadline.self] = deadline

      #expect(
        (Timeout(clock: clock) --> mock).load(request).text == (duration > .zero ? "success" : "deadlineExceeded"))
    }
  }

  @Test("a deadline is measured with its own clock")
  func otherClock() {
    let (other, held) = (ManualClock(), mock.hold())
    var request = anyRequest()
    request[option: RequestDeadline.self] = .after(.seconds(2), clock: other)
    let load = (Timeout(total: .seconds(5), clock: clock) --> mock).load(request)

    other.advance(by: .seconds(2))

    #expect(load.text == "deadlineExceeded" && clock.timerCount == 0 && other.timerCount == 0)
    withExtendedLifetime(held) {}
  }

  @Test("before a Retry, a total is for all attempts: a back-off that does not fit says so at once")
  func beforeRetry() {
    let retry = Retry(.constant(.seconds(3), attempts: 9), clock: clock)
    let api = Timeout(total: .seconds(5), clock: clock) --> retry --> mock
    mock.on(.any, .status(.serviceUnavailable).forEver())

    let load = api.load(anyRequest())
    clock.advance(by: .seconds(3))

    #expect(
      load.text == "deadlineExceeded" && mock.requests.count == 2 && clock.timerCount == 0 && clock.now == .seconds(3))
  }

  @Test("a total that is over in a back-off ends it")
  func inBackOff() {
    let retry = Retry(.constant(.seconds(3), attempts: 9), clock: clock)
    var request = anyRequest()
    request[option: RequestDeadline.self] = .after(.seconds(4), clock: clock)
    let outer = Timeout(attempt: .seconds(2), clock: clock) --> retry --> mock
    mock.on(.any, .status(.serviceUnavailable).forEver())

    let load = outer.load(request)
    clock.advance(by: .seconds(2))

    #expect(load.text == "timedOut" && clock.timerCount == 0 && retry.waitingCount == 0 && mock.requests.count == 1)
  }

  @Test("behind a Retry, each attempt has its time, and what timed out is tried again")
  func behindRetry() {
    let retry = Retry(.constant(.seconds(1)), clock: clock)
    let api = retry --> Timeout(attempt: .seconds(2), clock: clock) --> mock
    let held = mock.hold(whenCancelled: .complete)
    mock.answer()

    let load = api.load(anyRequest())
    clock.advance(by: .seconds(3))

    #expect(load.text == "success" && held.cancelRequest != nil && clock.timerCount == 0)
    #expect(mock.requests.map { $0[option: RequestAttempt.self] } == [1, 2])
  }

  @Test("the limits of the transport give way to an attempt and an idle time, but not those of the request")
  func transport() {
    let api =
      Timeout(total: .seconds(9), attempt: .seconds(5), firstByte: .seconds(1), idle: .seconds(2), clock: clock)
      --> mock
    mock.onOthers(.status(.ok))
    var own = anyRequest()
    own[option: RequestTimeout.self] = .seconds(77)
    own[option: RequestIdleTimeout.self] = .seconds(66)

    for request in [anyRequest(), own] { _ = api.load(request) }
    _ = (Timeout(total: .seconds(9), clock: clock) --> mock).load(anyRequest())

    #expect(mock.requests.map { $0[option: RequestTimeout.self] } == [.seconds(6), .seconds(77), nil])
    #expect(mock.requests.map { $0[option: RequestIdleTimeout.self] } == [.seconds(3), .seconds(66), nil])
  }
}

@Suite("Layers: Timeout, progress") struct TimeoutProgressTests {
  private let clock = ManualClock()
  private let mock = MockLoader()

  private func progress(sent: Int = 0, received: Int = 0, total: Int? = nil) -> HTTPProgress {
    HTTPProgress(sent: .init(completed: sent), received: .init(completed: received, total: total))
  }

  @Test("the first byte is the head of the answer: what is sent is not")
  func firstByte() {
    let api = Timeout(firstByte: .seconds(5), clock: clock) --> mock
    let held = [mock.hold("/a"), mock.hold("/b"), mock.hold("/c")]
    let loads = ["/a", "/b", "/c"].map { api.load(anyRequest($0)) }

    held[0].report(progress())  // The head of an answer, where nothing was to be sent.
    for sent in [10, 20] { held[1].report(progress(sent: sent)) }
    for sent in [10, 20, 20] { held[2].report(progress(sent: sent)) }
    #expect(clock.timerCount == 1)
    clock.advance(by: .seconds(5))

    #expect(loads.map(\.text) == ["pending", "timedOut", "pending"])
    for answer in held { answer.complete(.cancelled) }
    #expect(clock.timerCount == 0)
  }

  @Test("idle is the time without anything sent or received")
  func idle() {
    let held = mock.hold()
    let load = (Timeout(idle: .seconds(5), clock: clock) --> mock).load(anyRequest())

    for step in [progress(sent: 1), progress(sent: 2), progress(sent: 2), progress(sent: 2, received: 1)] {
      clock.advance(by: .seconds(4))
      held.report(step)
      #expect(load.text == "pending" && clock.timerCount == 1)
    }
    clock.advance(by: .milliseconds(4999))
    #expect(load.text == "pending")
    clock.advance(by: .milliseconds(1))

    #expect(load.text == "timedOut" && clock.timerCount == 0)
    withExtendedLifetime(held) {}
  }

  @Test("the handler that the request has is called as before, also after the time was over")
  func handler() {
    let (told, held) = (Locked(0), mock.hold())
    var request = anyRequest()
    request[option: ProgressHandler.self] = { _ in told.withLock { $0 += 1 } }
    let load = (Timeout(firstByte: .seconds(5), idle: .seconds(5), clock: clock) --> mock).load(request)

    held.report()
    held.report(progress(received: 10))
    clock.advance(by: .seconds(5))
    held.report(progress(received: 20))

    #expect(told.value == 3 && load.text == "timedOut" && clock.timerCount == 0)
  }

  @Test("without those two, nobody asks the transport to report")
  func none() {
    mock.answer()
    _ = (Timeout(total: .seconds(1), attempt: .seconds(1), clock: clock) --> mock).load(anyRequest())

    #expect(mock.requests.map { $0[option: ProgressHandler.self] == nil } == [true])
  }

  @Test("an answer that lives long keeps no timer and no load alive")
  func released() {
    weak var watched: HeldAnswer?
    let held = mock.hold()
    watched = held
    let load = (Timeout(idle: .seconds(5), clock: clock) --> mock).load(anyRequest())

    held.answer()

    #expect(load.text == "success" && clock.timerCount == 0 && watched != nil)
    #expect(!held.report())
  }
}

@Suite("Layers: Timeout, cancellation") struct TimeoutCancellationTests {
  private let clock = ManualClock()
  private let mock = MockLoader()
  private let api: any HTTPLoader

  init() {
    let timeout = Timeout(
      total: .seconds(9), attempt: .seconds(5), firstByte: .seconds(5), idle: .seconds(5), clock: clock)
    api = (timeout --> mock)
  }

  @Test("a request to cancel is forwarded, with options and reason, and what confirms it is the outcome")
  func forwards() {
    let held = mock.hold()
    let load = api.load(anyRequest())

    let receipt = load.cancel(reason: "the row is gone")

    #expect(receipt.effect == .delivered && load.text == "pending")
    #expect(held.cancelRequest?.reason.message == "the row is gone" && held.cancelRequest?.options == [])
    held.complete(.cancelled)
    #expect(load.text == "cancelled" && clock.timerCount == 0)
  }

  @Test("who cancelled first is not told that it took too long: the load is given up as cancelled")
  func cancelThenExpiry() {
    let held = mock.hold(whenCancelled: .ignore)
    let load = api.load(anyRequest())

    load.cancel(reason: "the row is gone")
    clock.advance(by: .seconds(5))

    guard case .cancelled(let reason) = load.outcomeIfCompleted else { return #expect(Bool(false), "\(load.text)") }
    #expect(reason.message == "the row is gone" && clock.timerCount == 0)
    withExtendedLifetime(held) {}
  }

  @Test("a request to cancel that comes after the expiry is too late")
  func expiryThenCancel() {
    let held = mock.hold()
    let load = api.load(anyRequest())

    clock.advance(by: .seconds(5))
    let receipt = load.cancel()

    #expect(receipt.effect != .delivered && load.text == "timedOut" && mock.cancelRequests.count == 1)
    withExtendedLifetime(held) {}
  }

  @Test("a success that raced a request to cancel stays one")
  func race() {
    let held = mock.hold()
    let load = api.load(anyRequest())

    load.cancel()
    held.answer()

    #expect(load.text == "success" && clock.timerCount == 0)
  }

  @Test("force ends the load at once, and the timers; the transport is asked behind it")
  func force() {
    let held = mock.hold()
    let load = api.load(anyRequest())

    load.cancel(.forceImmediately)

    #expect(load.text == "cancelled" && clock.timerCount == 0 && held.cancelRequest?.options == [])
  }

  @Test("doNotForwardRequest lets what lies behind go on, without these times")
  func letGo() {
    let held = mock.hold()
    let load = api.load(anyRequest())

    load.cancel(.doNotForwardRequest)

    #expect(load.text == "cancelled" && clock.timerCount == 0 && held.cancelRequest == nil)
    clock.advance(by: .seconds(60))
    #expect(held.cancelRequest == nil)
  }

  @Test("an expiry asks what lies behind also if the load is shared")
  func shared() {
    let held = mock.hold()
    let load = api.load(anyRequest()).shared()
    let tokens = [load.cancelToken(), load.cancelToken()]

    clock.advance(by: .seconds(5))

    #expect(load.text == "timedOut" && held.cancelRequest != nil)
    withExtendedLifetime(tokens) {}
  }

  @Test("a time that is over while `load` is on the stack ends the load, and what is returned then is asked")
  func onTheStack() {
    let (held, clock) = (mock.hold(), clock)
    let api =
      Timeout(attempt: .seconds(5), clock: clock)
      --> ModifyRequest { request in
        clock.advance(by: .seconds(5))
        return request
      } --> mock

    let load = api.load(anyRequest())

    #expect(load.text == "timedOut" && clock.timerCount == 0)
    #expect(held.cancelRequest?.reason.message.hasPrefix("timed out") == true)
  }

  @Test("a time that is over as `load` returns is what is told, though what lies behind ends when asked")
  func whenLoadReturns() {
    struct Round: Sendable {
      let clock = ManualClock()
      let inner = Promise<HTTPResponse>()
      let load = Locked<Future<HTTPResponse>?>(nil)
      let delay: Int
    }
    struct Given: HTTPLoader {
      let future: Future<HTTPResponse>

      func load(_ request: HTTPRequest) -> Future<HTTPResponse> { future }

      func reset() -> Future<Void> { .succeeded(()) }
    }
    let request = anyRequest()
    let texts = Locked<[String: Int]>([:])
    FutureTreeHTTPTests.race(
      rounds: 2_000,
      [
        { @Sendable (round: Round) in
          let timeout = Timeout(attempt: .seconds(5), clock: round.clock)
          round.load.value = timeout.load(request, next: Given(future: round.inner.future))
        },
        { @Sendable (round: Round) in
          while round.clock.timerCount == 0 {}
          for _ in 0..<round.delay { _ = round.clock.now }
          round.clock.advance(by: .seconds(5))
        },
      ],
      prepare: {
        let round = Round(delay: .random(in: 0..<60))
        round.inner.onRequestCancel { _ in .complete(.cancelled) }
        return round
      },
      check: { round in
        let text = round.load.value?.text ?? "none"
        texts.withLock { $0[text, default: 0] += 1 }
      })

    #expect(texts.value == ["timedOut": 2_000])
  }

  @Test("it keeps nothing that a reset would have to wait for: an Autocancel before it drains")
  func reset() {
    let api = Autocancel(clock: clock) --> api
    let held = mock.hold()
    let load = api.load(anyRequest())

    let reset = api.reset()
    held.complete(.cancelled)

    #expect(load.text == "cancelled" && reset.text == "success" && clock.timerCount == 0)
  }
}
