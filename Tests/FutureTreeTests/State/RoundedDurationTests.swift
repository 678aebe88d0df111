import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

@Suite("Durations in the texts of errors") struct RoundedDurationTests {
  @Test(
    "A duration has a unit, and at most two digits after the decimal point",
    arguments: [
      (.zero, "0 s"), (.seconds(5), "5 s"), (.milliseconds(700), "700 ms"), (.milliseconds(1_250), "1.25 s"),
      (.milliseconds(1_500), "1.5 s"), (.milliseconds(1_050), "1.05 s"), (.seconds(1) / 3, "333.33 ms"),
      (.seconds(1) / 30, "33.33 ms"), (.seconds(100) / 3, "33.33 s"), (.seconds(86_400), "86400 s"),
      (.milliseconds(9), "9 ms"), (.microseconds(250), "250 µs"), (.nanoseconds(1), "1 ns"),
      (.nanoseconds(999_999_999), "1 s"), (.nanoseconds(999_999), "1 ms"), (.seconds(5) - .nanoseconds(12), "5 s"),
      (.milliseconds(-700), "-700 ms"), (Duration(secondsComponent: 0, attosecondsComponent: 1), "0 s"),
      (.seconds(Int64.max), "9223372036854775807 s"), (.seconds(Int64.min), "-9223372036854775808 s"),
    ] as [(Duration, String)])
  func rounded(duration: Duration, text: String) {
    expectEqual(duration.rounded, text)
  }

  @Test("The errors of a timeout and of a negative duration, and the reason of the request to cancel, are rounded")
  func errors() {
    let clock = ManualClock()
    let (promise, other) = (Promise<Int>(), Promise<Int>())
    let late = promise.future.timeout(after: .milliseconds(700), clock: clock)
    let negative = other.future.timeout(
      after: .milliseconds(-700), clock: clock, fileID: "App/Page.swift", line: 7)

    clock.advance(by: .seconds(1))

    #expect("\(TimeoutError(duration: .seconds(1) / 3))".hasPrefix("The future timed out after 333.33 ms."))
    #expect("\(late.outcomeIfCompleted!)".contains("after 700 ms ("))
    #expect("\(negative.outcomeIfCompleted!)".contains("the duration is negative (-700 ms)."))
    expectEqual(promise.cancelRequest?.reason.message, "timed out after 700 ms")
    other.succeed(1)
  }
}
