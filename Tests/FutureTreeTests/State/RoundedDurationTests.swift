import FutureTree
import FutureTreeTesting
import Testing

@Suite("Durations in the texts of errors") struct RoundedDurationTests {
  @Test(
    "A duration has three digits after the point, or three significant digits",
    arguments: [
      (.zero, "0"), (.seconds(1), "1"), (.seconds(5), "5"), (.milliseconds(700), "0.7"), (.milliseconds(1_250), "1.25"),
      (.seconds(1) / 3, "0.333"), (.seconds(1) / 30, "0.0333"), (.seconds(100) / 3, "33.333"),
      (.seconds(86_400), "86400"),
      (.milliseconds(9), "0.009"), (.microseconds(250), "0.00025"), (.nanoseconds(1), "0.000000001"),
      (.nanoseconds(999_999_999), "1"), (.seconds(5) - .nanoseconds(12), "5"), (.milliseconds(-700), "-0.7"),
      (.seconds(Int64.max), "9223372036854775807"), (.seconds(Int64.min), "-9223372036854775808"),
    ] as [(Duration, String)])
  func rounded(duration: Duration, text: String) {
    #expect(duration.rounded == "\(text) \(text == "1" ? "second" : "seconds")")
  }

  @Test("The errors of a timeout and of a negative duration, and the reason of the request to cancel, are rounded")
  func errors() {
    let clock = ManualClock()
    let (promise, other) = (Promise<Int>(), Promise<Int>())
    let late = promise.future.timeout(after: .milliseconds(700), clock: clock)
    let negative = other.future.timeout(
      after: .milliseconds(-700), clock: clock, fileID: "App/Page.swift", line: 7)

    clock.advance(by: .seconds(1))

    #expect("\(TimeoutError(duration: .seconds(1) / 3))".hasPrefix("The future timed out after 0.333 seconds."))
    #expect("\(late.outcomeIfCompleted!)".contains("after 0.7 seconds."))
    #expect("\(negative.outcomeIfCompleted!)".contains("the duration is negative (-0.7 seconds)"))
    #expect(promise.cancelRequest?.reason.message == "timed out after 0.7 seconds")
    other.succeed(1)
  }
}
