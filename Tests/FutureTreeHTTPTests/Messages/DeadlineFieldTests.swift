import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("The deadline in a header field") struct DeadlineFieldTests {
  private let clock = ManualClock()

  @Test(
    "Digits are a request-timeout in milliseconds",
    arguments: [
      ("0", .zero), ("1", .milliseconds(1)), ("00000250", .milliseconds(250)), ("99999999", .milliseconds(99_999_999)),
      ("", nil), ("100000000", nil), ("-1", nil), ("+1", nil), ("1m", nil), ("1.5", nil), (" 1", nil), ("1, 2", nil),
    ] as [(String, Duration?)])
  func requestTimeout(text: String, duration: Duration?) {
    expectEqual(FutureDeadline(requestTimeout: text, clock: clock)?.remaining, duration)
  }

  @Test(
    "The remaining time is written in whole milliseconds, rounded down",
    arguments: [
      (.milliseconds(250), "250"), (.microseconds(1999), "1"), (.nanoseconds(1), "1"), (.zero, "0"),
      (.seconds(-5), "0"),
      (.milliseconds(99_999_999), "99999999"), (.seconds(Int64.max), "99999999"),
    ] as [(Duration, String)])
  func written(remaining: Duration, text: String) {
    expectEqual(FutureDeadline.after(remaining, clock: clock).requestTimeout, text)
  }

  @Test("Each attempt sends the time that is left")
  func attempts() {
    let fixture = RetryFixture()
    fixture.mock.on(.any, .status(.serviceUnavailable), .status(.ok))
    var request = anyRequest()
    request.deadline = .after(.seconds(5), clock: fixture.clock)

    let load = (fixture.retry --> ModifyRequest.sendingDeadline() --> fixture.mock).load(request)
    fixture.clock.advance(by: .milliseconds(500))

    #expect(load.isCompleted)
    expectEqual(fixture.mock.requests.map { $0.headers["request-timeout"] }, ["5000", "4500"])
  }

  @Test("A request without a deadline is sent unchanged, and one whose deadline has passed is not sent")
  func exceptions() {
    let mock = MockLoader()
    mock.onOthers(.status(.ok))
    let api = ModifyRequest.sendingDeadline() --> mock
    var late = anyRequest()
    late.deadline = .after(.zero, clock: clock)

    let loads = [api.load(anyRequest()), api.load(late)]

    expectEqual(mock.requests.map { $0.headers["request-timeout"] }, [nil])
    expectEqual(loads[1].text, "deadlineExceeded")
  }
}
