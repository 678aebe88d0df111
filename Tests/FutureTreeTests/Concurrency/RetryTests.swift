import FutureTreeTesting
import TestSupport
import Testing

@testable import FutureTree

@Suite("Operators: retry")
struct RetryTests {
  private let clock = ManualClock()
  private let log = Recorder()

  /// Retries attempts that fail before the given one.
  private func retry(_ policy: BackOff, succeedingAt last: Int) -> Future<Int> {
    Future.retry(policy, clock: clock) { [log, clock] attempt in
      log("\(attempt) at \(clock.now)")
      return attempt == last ? .succeeded(attempt) : .failed(Oops("\(attempt)"))
    }
  }

  @Test("Each failure is followed by another attempt after the delay of the policy")
  func succeeds() {
    let future = retry(BackOff(attempts: 3) { attempt, _ in .seconds(attempt) }, succeedingAt: 3)

    expectEqual(log.entries, ["1 at 0.0 seconds"])
    clock.advance(by: .seconds(1))
    clock.advance(by: .seconds(2))

    expectEqual(log.entries, ["1 at 0.0 seconds", "2 at 1.0 seconds", "3 at 3.0 seconds"])
    expectEqual(future.state, "success(3)")
  }

  @Test("The last failure fails the future")
  func givesUp() {
    let future = retry(.constant(attempts: 2), succeedingAt: 9)

    clock.advance(by: .zero)

    expectEqual(future.state, "failure(2)")
    expectEqual(clock.timerCount, 0)
  }

  @Test("A policy can give up because of the error")
  func policyGivesUp() {
    let future = retry(
      BackOff(attempts: 9) { attempt, error in (error as? Oops) == Oops("1") ? .zero : nil }, succeedingAt: 9)

    clock.advance(by: .zero)

    expectEqual(future.state, "failure(2)")
  }

  @Test("A request during an attempt is forwarded, and the failure passes without another attempt")
  func askedInAttempt() {
    let promise = source(log)
    let future = Future.retry(.constant(attempts: 5), clock: clock) { _ in promise.future }

    future.cancel()
    promise.fail(Oops())

    expectEqual(log.entries, ["source: plain"])
    expectEqual(future.state, "failure(oops)")
    expectEqual(clock.timerCount, 0)
  }

  @Test("A request between two attempts completes the future cancelled at once, without another attempt")
  func askedInBetween() {
    let future = retry(.constant(attempts: 5, delay: .seconds(1)), succeedingAt: 9)

    future.cancel(reason: "enough")
    clock.advance(by: .seconds(9))

    expectEqual(future.reason?.message, "enough")
    expectEqual(log.count, 1)
  }

  @Test("A cancelled attempt passes and is not retried")
  func cancelledAttempt() {
    let future = Future<Int>.retry(.constant(attempts: 5), clock: clock) { _ in .cancelled("gone") }

    expectEqual(future.reason?.message, "gone")
    expectEqual(clock.timerCount, 0)
  }

  @Test("An error that a body throws fails its attempt")
  func throwing() {
    let future = Future<Int>.retry(.constant(attempts: 2), clock: clock) { attempt in throw Oops("\(attempt)") }

    clock.advance(by: .zero)

    expectEqual(future.state, "failure(2)")
  }

  @Test("An exponential policy accepts any number of attempts and any limit")
  func exponentialBounds() throws {
    let policy = BackOff.exponential(attempts: .max, first: .nanoseconds(1), limit: .seconds(Int64.max)) { 1 }
    let century = Duration.seconds(100 * 365 * 86_400)

    for attempt in [100, 10_000, .max - 1] {
      let delay = try #require(policy.delay(after: attempt, error: Oops()))
      #expect(delay <= century && delay > century - .seconds(1))
    }
  }

  @Test("An exponential delay doubles up to the limit and is multiplied by the random factor")
  func exponential() {
    let policy = BackOff.exponential(attempts: 6, first: .seconds(1), limit: .seconds(5)) { 0.5 }

    let delays = (1...5).map { policy.delay(after: $0, error: Oops()) }

    expectEqual(delays, [.seconds(0.5), .seconds(1), .seconds(2), .seconds(2.5), .seconds(2.5)])
    #expect(policy.delay(after: 6, error: Oops()) == nil)
  }

  @Test("Zero attempts and a negative delay fail with InvalidArgument")
  func invalid() {
    let none = retry(.constant(attempts: 0), succeedingAt: 1)
    let negative = retry(.constant(attempts: 3, delay: .seconds(-1)), succeedingAt: 9)

    expectEqual((none.outcomeIfCompleted?.error as? InvalidArgument)?.function, "retry(_:)")
    #expect(negative.outcomeIfCompleted?.error is InvalidArgument)
    expectEqual(log.count, 1)
  }

  @Test(
    "A request between two attempts leaves no timer, whatever its options", arguments: CancelEverywhere.allOptions)
  func askedInPause(options: CancellationOptions) {
    let future = retry(.constant(attempts: 3, delay: .seconds(9)), succeedingAt: 3)
    expectEqual(clock.timerCount, 1)
    let preview = future.previewCancel(options)

    let receipt = future.cancel(options)

    expectEqual(future.state, "cancelled")
    expectEqual(clock.timerCount, 0)
    expectEqual(receipt, preview)
    expectEqual(log.count, 1)
  }

  @Test("Many attempts use the memory of one")
  func many() {
    let count = LongTest.count(100_000, small: 10_000)
    let future = Future<Int>.retry(.constant(attempts: count), clock: clock) { attempt in
      attempt == count ? .succeeded(attempt) : .failed(Oops())
    }

    clock.advance(by: .zero)
    while clock.advanceToNextTimer() {}

    expectEqual(future.state, "success(\(count))")
    expectEqual(future.tree().entries.count, 1)
  }

  @Test(
    "An attempt queued on its executor does not begin after the future has completed",
    arguments: [.doNotForwardRequest, .forceImmediately] as [CancellationOptions], [1, 2])
  func queuedAttempt(options: CancellationOptions, attempt: Int) {
    struct Busy: Error {}
    let (executor, begun) = (ManualExecutor(), Locked(0))
    let future = Future<Int>.retry(.constant(attempts: 3), on: executor.executor) { _ in
      begun.withLock { $0 += 1 }
      return .failed(Busy())
    }
    if attempt == 2 { executor.runNext() }

    future.cancel(options)
    executor.runAll()

    expectEqual(begun.value, attempt - 1)
    expectEqual(future.outcomeIfCompleted?.ending, .cancelled)
  }
}
