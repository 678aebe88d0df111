import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("Layers: Timeout, deadlines") struct TimeoutDeadlineTests {
  private let clock = ManualClock()
  private let mock = MockLoader()

  private func request(deadline: Int) -> HTTPRequest {
    var request = anyRequest()
    request.deadline = FutureDeadline(.seconds(deadline), of: clock)
    return request
  }

  @Test("Every Timeout ends a request at its deadline, and refuses a request after it")
  func carried() {
    let api = Timeout(clock: clock) --> mock
    let held = mock.hold()
    let load = api.load(request(deadline: 5))

    clock.advance(by: .seconds(5))
    expectEqual(load.text, "deadlineExceeded")
    #expect(held.cancelRequest != nil)
    expectEqual(api.load(request(deadline: 5)).text, "deadlineExceeded")
    expectEqual(mock.requests.count, 1)
    expectEqual(clock.timerCount, 0)
  }

  @Test(
    "The earlier of two deadlines is carried by the request", arguments: [(3, 3), (9, 5), (nil, 5)] as [(Int?, Int)])
  func earlier(given: Int?, expected: Int) {
    let held = mock.hold()
    let api = Timeout(total: .seconds(5), clock: clock) --> mock

    let load = api.load(given.map(request) ?? anyRequest())

    expectEqual(held.request?.deadline?.instant, .seconds(expected))
    clock.advance(by: .seconds(expected))
    expectEqual(load.text, "deadlineExceeded")
    expectEqual(clock.timerCount, 0)
  }

  @Test(
    "Deadlines at the limits of Duration work",
    arguments: [Duration(attoseconds: .max), .seconds(Int64.max), .seconds(Int64.min), Duration(attoseconds: .min)])
  func endOfTime(duration: Duration) {
    clock.advance(by: .seconds(1))
    mock.onOthers(.status(.ok))
    for deadline in [FutureDeadline(duration, of: clock), .after(duration, clock: clock)] {
      var request = anyRequest()
      request.deadline = deadline

      #expect(
        (Timeout(clock: clock) --> mock).load(request).text == (duration > .zero ? "success" : "deadlineExceeded"))
    }
  }

  @Test("A deadline is measured with its own clock")
  func otherClock() {
    let (other, held) = (ManualClock(), mock.hold())
    var request = anyRequest()
    request.deadline = .after(.seconds(2), clock: other)
    let load = (Timeout(total: .seconds(5), clock: clock) --> mock).load(request)

    other.advance(by: .seconds(2))

    expectEqual(load.text, "deadlineExceeded")
    expectEqual(clock.timerCount, 0)
    expectEqual(other.timerCount, 0)
    withExtendedLifetime(held) {}
  }

  @Test("A total in front of Retry covers all attempts: a back-off that does not fit fails at once")
  func beforeRetry() {
    let retry = Retry(.constant(.seconds(3), attempts: 9), clock: clock)
    let api = Timeout(total: .seconds(5), clock: clock) --> retry --> mock
    mock.on(.any, .status(.serviceUnavailable).forever())

    let load = api.load(anyRequest())
    clock.advance(by: .seconds(3))

    expectEqual(load.text, "deadlineExceeded")
    expectEqual(mock.requests.count, 2)
    expectEqual(clock.timerCount, 0)
    expectEqual(clock.now, .seconds(3))
  }

  @Test("A timeout during a back-off ends it")
  func inBackOff() {
    let retry = Retry(.constant(.seconds(3), attempts: 9), clock: clock)
    var request = anyRequest()
    request.deadline = .after(.seconds(4), clock: clock)
    let outer = Timeout(attempt: .seconds(2), clock: clock) --> retry --> mock
    mock.on(.any, .status(.serviceUnavailable).forever())

    let load = outer.load(request)
    clock.advance(by: .seconds(2))

    expectEqual(load.text, "timedOut")
    expectEqual(clock.timerCount, 0)
    expectEqual(retry.waitingCount, 0)
    expectEqual(mock.requests.count, 1)
  }

  @Test("Behind Retry, each attempt has its own time, and a timeout is retried")
  func behindRetry() {
    let retry = Retry(.constant(.seconds(1)), clock: clock)
    let api = retry --> Timeout(attempt: .seconds(2), clock: clock) --> mock
    let held = mock.hold(whenCancelled: .complete)
    mock.answer()

    let load = api.load(anyRequest())
    clock.advance(by: .seconds(3))

    expectEqual(load.text, "success")
    #expect(held.cancelRequest != nil)
    expectEqual(clock.timerCount, 0)
    expectEqual(mock.requests.map { $0.attempt }, [1, 2])
  }

  @Test("The limits of the transport exceed those of Timeout, unless the request sets them")
  func transport() {
    let api =
      Timeout(total: .seconds(9), attempt: .seconds(5), firstByte: .seconds(1), idle: .seconds(2), clock: clock)
      --> mock
    mock.onOthers(.status(.ok))
    var own = anyRequest()
    own.timeout = .seconds(77)
    own.idleTimeout = .seconds(66)

    for request in [anyRequest(), own] { _ = api.load(request) }
    _ = (Timeout(total: .seconds(9), clock: clock) --> mock).load(anyRequest())

    expectEqual(mock.requests.map { $0.timeout }, [.seconds(6), .seconds(77), nil])
    expectEqual(mock.requests.map { $0.idleTimeout }, [.seconds(3), .seconds(66), nil])
  }
}
