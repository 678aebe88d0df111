import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

@Suite("Operators: timeout")
struct TimeoutTests {
  private let clock = ManualClock()

  @Test(
    "An outcome before the timeout passes and cancels the timer",
    arguments: [Outcome<Int>.success(1), .failure(Oops()), .cancelled("gone")])
  func inTime(outcome: Outcome<Int>) {
    let promise = Promise<Int>()
    let timed = promise.future.timeout(after: .seconds(5), clock: clock)

    clock.advance(by: .seconds(4))
    promise.complete(with: outcome)

    expectEqual(timed.outcomeIfCompleted, outcome)
    expectEqual(clock.timerCount, 0)
  }

  @Test("A request is forwarded, and the timer continues to run")
  func asked() {
    let log = Recorder()
    let promise = source(log)
    let timed = promise.future.timeout(after: .seconds(5), clock: clock)

    timed.cancel()
    let before = timed.state
    clock.advance(by: .seconds(5))

    expectEqual(log.entries, ["source: plain"])
    expectEqual(before, "pending")
    #expect(timed.outcomeIfCompleted?.error is TimeoutError)
    withExtendedLifetime(promise) {}
  }

  @Test("A future that ends early cancels its timer (law 4, this future only)", .tags(.law04))
  func endsEarly() {
    let promise = Promise<Int>()
    let timed = promise.future.timeout(after: .seconds(5), clock: clock)

    timed.cancel(.doNotForwardRequest)

    expectEqual(timed.state, "cancelled")
    expectEqual(clock.timerCount, 0)
  }

  @Test("A completed upstream sets no timer")
  func completed() {
    let timed = Future.succeeded(1).timeout(after: .zero, clock: clock)

    expectEqual(timed.state, "success(1)")
    expectEqual(clock.timerCount, 0)
  }

  @Test("A negative duration fails with InvalidArgument and detaches from the upstream")
  func negative() {
    let log = Recorder()
    let promise = source(log)
    let timed = promise.future.timeout(after: .seconds(-1), clock: clock)

    let error = timed.outcomeIfCompleted?.error as? InvalidArgument
    expectEqual(error?.function, "timeout(after:)")
    expectEqual(error?.fileID.hasSuffix("TimeOperatorTests.swift"), true)
    expectEqual(error?.problem.contains("-1 s"), true)
    expectEqual(log.entries, ["source: ifOthers"])
    expectEqual(clock.timerCount, 0)
  }

  @Test("A negative duration fails for a completed upstream too")
  func negativeForCompleted() {
    let timed = Future.succeeded(1).timeout(after: .seconds(-1), clock: clock)

    #expect(timed.outcomeIfCompleted?.error is InvalidArgument)
  }
}

@Suite("Operators: delayed")
struct DelayedTests {
  private let clock = ManualClock()

  @Test("A success passes after the delay")
  func success() {
    let delayed = Future.succeeded(1).delayed(by: .seconds(2), clock: clock)

    clock.advance(by: .seconds(1))
    expectEqual(delayed.state, "pending")
    clock.advance(by: .seconds(1))

    expectEqual(delayed.state, "success(1)")
  }

  @Test("Failures and cancellations pass at once", arguments: [Outcome<Int>.failure(Oops()), .cancelled("gone")])
  func passes(outcome: Outcome<Int>) {
    let promise = Promise<Int>()
    let delayed = promise.future.delayed(by: .seconds(2), clock: clock)

    promise.complete(with: outcome)

    expectEqual(delayed.outcomeIfCompleted, outcome)
    expectEqual(clock.timerCount, 0)
  }

  @Test("A request during the delay completes the future cancelled at once and cancels the timer")
  func askedInDelay() {
    let delayed = Future.succeeded(1).delayed(by: .seconds(2), clock: clock)

    let receipt = delayed.cancel(reason: "enough")

    expectEqual(delayed.state, "cancelled")
    expectEqual(delayed.reason?.message, "enough")
    expectEqual(receipt.effect, .delivered)
    expectEqual(clock.timerCount, 0)
  }

  @Test(
    "A request during the delay leaves no timer and no value, whatever its options",
    arguments: CancelEverywhere.allOptions)
  func askedInDelay(options: CancellationOptions) {
    let census = Census()
    func delay(_ probe: Probe) -> Future<Probe> { Future.succeeded(probe).delayed(by: .seconds(2), clock: clock) }
    let delayed = delay(census.probe())
    let preview = delayed.previewCancel(options)

    let receipt = delayed.cancel(options)

    withExtendedLifetime(delayed) {
      expectEqual(delayed.outcomeIfCompleted?.ending, .cancelled)
      expectEqual(receipt, preview)
      expectEqual(clock.timerCount, 0)
      expectEqual(census.alive, 0)
    }
  }

  @Test("A delay that another future waits for runs to its end if only that future is cancelled")
  func derivedDetaches() {
    let outer = Future.succeeded(1).flatMap { [clock] in Future.succeeded($0).delayed(by: .seconds(2), clock: clock) }
    let delayed = Future.succeeded(2).delayed(by: .seconds(2), clock: clock)
    let derived = delayed.map { $0 }

    for future in [outer, derived] { future.cancel(.doNotForwardRequest) }

    expectEqual(clock.timerCount, 2)
    clock.advance(by: .seconds(2))
    expectEqual([outer.state, derived.state, delayed.state], ["cancelled", "cancelled", "success(2)"])
  }

  @Test("A request that arrives while the clock sets the timer leaves no timer", arguments: CancelEverywhere.allOptions)
  func askedInSchedule(options: CancellationOptions) {
    struct AskingClock: FutureClock {
      let clock: ManualClock
      let ask: @Sendable () -> Void
      var now: Duration { clock.now }

      func schedule(after duration: Duration, _ body: @escaping @Sendable () -> Void) -> FutureTimer {
        defer { ask() }
        return clock.schedule(after: duration, body)
      }
    }
    let (promise, box) = (Promise<Int>(), Locked<Future<Int>?>(nil))
    box.value = promise.future.delayed(
      by: .seconds(2), clock: AskingClock(clock: clock) { box.value?.cancel(options) })

    promise.succeed(1)

    expectEqual(box.value?.state, "cancelled")
    expectEqual(clock.timerCount, 0)
    box.value = nil
  }

  @Test("A log does not change that the timer ends with its operator")
  func logged() {
    let log = FutureLog(clock: clock)
    let delayed = Future.succeeded(1).delayed(by: .seconds(2), clock: clock).logged(in: log)

    delayed.cancel(.doNotForwardRequest)

    expectEqual(clock.timerCount, 0)
    expectEqual(log.events.count { "\($0.fact)".hasPrefix("cancelled") }, 2)  // The operator and its timer.
  }

  @Test("A request before the delay is forwarded, and a later success is not delayed")
  func askedBefore() {
    let log = Recorder()
    let promise = source(log)
    let delayed = promise.future.delayed(by: .seconds(2), clock: clock)

    delayed.cancel()
    promise.succeed(1)

    expectEqual(log.entries, ["source: plain"])
    expectEqual(delayed.state, "cancelled")
    expectEqual(clock.timerCount, 0)
  }

  @Test("A negative duration fails with InvalidArgument, which names the function")
  func negative() {
    let delayed = Future.succeeded(1).delayed(by: .milliseconds(-1), clock: clock)

    expectEqual((delayed.outcomeIfCompleted?.error as? InvalidArgument)?.function, "delayed(by:)")
  }

  @Test(
    "A negative duration fails at once and detaches from a pending upstream (law 23, deciding detaches)", .tags(.law23))
  func negativeWhilePending() {
    let log = Recorder()
    let promise = source(log)

    let delayed = promise.future.delayed(by: .seconds(-1), clock: clock)

    #expect(delayed.outcomeIfCompleted?.error is InvalidArgument)
    expectEqual(log.entries, ["source: ifOthers"])
    expectEqual(clock.timerCount, 0)
    expectEqual(promise.future.tree().entries.count, 1)
  }
}

@Suite("Operators: after")
struct AfterTests {
  private let clock = ManualClock()

  @Test("after(_:) succeeds when the duration has elapsed")
  func succeeds() {
    let tick = Future.after(.seconds(1), clock: clock)

    clock.advance(by: .milliseconds(999))
    #expect(!tick.isCompleted)
    clock.advance(by: .milliseconds(1))

    expectEqual(tick.outcomeIfCompleted?.ending, .succeeded)
  }

  @Test("A request completes the future cancelled at once with its reason and cancels the timer")
  func asked() {
    let tick = Future.after(.seconds(1), clock: clock)

    tick.cancel(reason: "enough")

    expectEqual(tick.reason?.message, "enough")
    expectEqual(clock.timerCount, 0)
  }

  @Test("A duration of zero does not complete the future before after(_:) returns")
  func zero() {
    let tick = Future.after(.zero, clock: clock)
    let before = tick.isCompleted

    clock.advance(by: .zero)

    #expect(!before && tick.isCompleted)
  }

  @Test("A negative duration fails with an error that states place and remedy")
  func negative() {
    let error = Future.after(.seconds(-3), clock: clock).outcomeIfCompleted?.error

    #expect("\(error!)".contains("`after(_:)` at FutureTreeTests/TimeOperatorTests.swift:"))
    #expect("\(error!)".contains("Pass zero or a positive duration."))
  }

  @Test("A deallocated clock fails its futures")
  func droppedClock() {
    var clock: ManualClock? = ManualClock()
    let tick = Future.after(.seconds(1), clock: clock!)

    clock = nil

    expectEqual(tick.outcomeIfCompleted?.ending, .failed)
  }

  @Test("SystemClock and ClockAdapter call their timers, and a cancelled timer is released")
  func systemClock() async throws {
    let census = Census()
    let timer = SystemClock().schedule(after: .seconds(3600)) { [probe = census.probe()] in probe.touch() }
    timer.cancel()

    let outcomes = await [
      Future.after(.milliseconds(1)).outcome.ending,
      Future.after(.milliseconds(1), clock: ClockAdapter(ContinuousClock())).outcome.ending,
    ]

    expectEqual(outcomes, [.succeeded, .succeeded])
    expectEqual(census.alive, 0)
  }

  @Test("A maximal duration does not overflow a ClockAdapter")
  func endlessTime() async throws {
    let tick = Future.after(.seconds(Int64.max), clock: ClockAdapter(ContinuousClock()))

    // The clock's task computes its deadline.
    try await Task.sleep(for: .milliseconds(50))

    #expect(!tick.isCompleted)
    tick.cancel()
  }
}

@Suite("Operators: shielded")
struct ShieldedTests {
  @Test("Every outcome passes", arguments: [Outcome<Int>.success(1), .failure(Oops()), .cancelled("gone")])
  func passes(outcome: Outcome<Int>) {
    let promise = Promise<Int>()
    let shielded = promise.future.shielded()

    promise.complete(with: outcome)

    expectEqual(shielded.outcomeIfCompleted, outcome)
  }

  @Test(
    "A request with any options stops at the shield (law 4, this future only)", .tags(.law04),
    arguments: [[], .doNotForwardIfOthersWaiting, .doNotForwardRequest, .forceImmediately] as [CancellationOptions])
  func asked(options: CancellationOptions) {
    let log = Recorder()
    let promise = source(log)
    let shielded = promise.future.shielded()
    let tail = shielded.map { $0 }

    let receipt = tail.cancel(options, reason: "enough")

    expectEqual(tail.reason?.message, "enough")
    expectEqual(log.entries, [])
    expectEqual(promise.future.state, "pending")
    expectEqual(receipt.handlers, 0)
  }

  @Test("The source continues after a request, and its value is not delivered")
  func goesOn() {
    let log = Recorder()
    let promise = source(log)
    let shielded = promise.future.shielded()

    shielded.cancel()
    let isFirst = promise.succeed(1)

    #expect(isFirst)
    expectEqual([shielded.state, promise.future.state], ["cancelled", "success(1)"])
  }

  @Test("A request stops at a shield with other consumers (law 3, stopping where others wait)", .tags(.law03))
  func otherConsumers() {
    let promise = Promise<Int>()
    let shielded = promise.future.shielded()
    let (mine, other) = (shielded.map { $0 }, shielded.map { $0 })

    mine.cancel(.doNotForwardIfOthersWaiting)
    promise.succeed(1)

    expectEqual([mine.state, other.state], ["cancelled", "success(1)"])
  }
}

@Suite("Operators: mapError")
struct MapErrorTests {
  @Test("The error that the body returns or throws replaces a failure")
  func failure() {
    let failed = Future<Int>.failed(Oops())

    expectEqual(failed.mapError { Oops("\($0)!") }.state, "failure(oops!)")
    expectEqual(failed.mapError { _ in throw Oops("thrown") }.state, "failure(thrown)")
    expectEqual(failed.mapError { _ in throw CancellationError() }.state, "cancelled")
  }

  @Test("A success and a cancellation pass without the body", arguments: [Outcome<Int>.success(1), .cancelled("gone")])
  func passes(outcome: Outcome<Int>) {
    let promise = Promise<Int>()
    let mapped = promise.future.mapError { _ in Oops("not called") }

    promise.complete(with: outcome)

    expectEqual(mapped.outcomeIfCompleted, outcome)
  }

  @Test("A request is forwarded, and the body runs for a later failure")
  func asked() {
    let log = Recorder()
    let promise = source(log)
    let mapped = promise.future.mapError { Oops("\($0)!") }

    mapped.cancel()
    promise.fail(Oops())

    expectEqual(log.entries, ["source: plain"])
    expectEqual(mapped.state, "failure(oops!)")
  }
}
