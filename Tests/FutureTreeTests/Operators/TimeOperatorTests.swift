import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

@Suite("Operators: timeout")
struct TimeoutTests {
  private let clock = ManualClock()

  @Test(
    "what comes in time passes, and the timer is cancelled",
    arguments: [Outcome<Int>.success(1), .failure(Oops()), .cancelled("gone")])
  func inTime(outcome: Outcome<Int>) {
    let promise = Promise<Int>()
    let timed = promise.future.timeout(after: .seconds(5), clock: clock)

    clock.advance(by: .seconds(4))
    promise.complete(with: outcome)

    #expect(timed.outcomeIfCompleted == outcome)
    #expect(clock.timerCount == 0)
  }

  @Test("asked while it waits: forwards, and the time goes on running")
  func asked() {
    let log = Recorder()
    let promise = source(log)
    let timed = promise.future.timeout(after: .seconds(5), clock: clock)

    timed.cancel()
    let before = timed.state
    clock.advance(by: .seconds(5))

    #expect(log.entries == ["source: plain"])
    #expect(before == "pending")
    #expect(timed.outcomeIfCompleted?.error is TimeoutError)
    withExtendedLifetime(promise) {}
  }

  @Test("a future that ends early by law 4 takes its timer with it")
  func endsEarly() {
    let promise = Promise<Int>()
    let timed = promise.future.timeout(after: .seconds(5), clock: clock)

    timed.cancel(.doNotForwardRequest)

    #expect(timed.state == "cancelled")
    #expect(clock.timerCount == 0)
  }

  @Test("a future that has completed sets no timer")
  func completed() {
    let timed = Future.succeeded(1).timeout(after: .zero, clock: clock)

    #expect(timed.state == "success(1)")
    #expect(clock.timerCount == 0)
  }

  @Test("a negative duration is an error that says where, and lets go of upstream")
  func negative() {
    let log = Recorder()
    let promise = source(log)
    let timed = promise.future.timeout(after: .seconds(-1), clock: clock)

    let error = timed.outcomeIfCompleted?.error as? InvalidArgument
    #expect(error?.function == "timeout(after:)" && error?.fileID.hasSuffix("TimeOperatorTests.swift") == true)
    #expect(error?.problem.contains("-1.0 seconds") == true)
    #expect(log.entries == ["source: ifOthers"])
    #expect(clock.timerCount == 0)
  }
}

@Suite("Operators: delayed")
struct DelayedTests {
  private let clock = ManualClock()

  @Test("a success comes after the delay")
  func success() {
    let delayed = Future.succeeded(1).delayed(by: .seconds(2), clock: clock)

    clock.advance(by: .seconds(1))
    #expect(delayed.state == "pending")
    clock.advance(by: .seconds(1))

    #expect(delayed.state == "success(1)")
  }

  @Test("failures and cancellations pass at once", arguments: [Outcome<Int>.failure(Oops()), .cancelled("gone")])
  func passes(outcome: Outcome<Int>) {
    let promise = Promise<Int>()
    let delayed = promise.future.delayed(by: .seconds(2), clock: clock)

    promise.complete(with: outcome)

    #expect(delayed.outcomeIfCompleted == outcome)
    #expect(clock.timerCount == 0)
  }

  @Test("asked in the delay: cancelled at once, and the timer is cancelled")
  func askedInDelay() {
    let delayed = Future.succeeded(1).delayed(by: .seconds(2), clock: clock)

    let receipt = delayed.cancel(reason: "enough")

    #expect(delayed.state == "cancelled")
    #expect(delayed.reason?.message == "enough")
    #expect(receipt.effect == .delivered)
    #expect(clock.timerCount == 0)
  }

  @Test("asked before: forwards, and then there is no delay")
  func askedBefore() {
    let log = Recorder()
    let promise = source(log)
    let delayed = promise.future.delayed(by: .seconds(2), clock: clock)

    delayed.cancel()
    promise.succeed(1)

    #expect(log.entries == ["source: plain"])
    #expect(delayed.state == "cancelled")
    #expect(clock.timerCount == 0)
  }

  @Test("a negative duration is an error that says where")
  func negative() {
    let delayed = Future.succeeded(1).delayed(by: .milliseconds(-1), clock: clock)

    #expect((delayed.outcomeIfCompleted?.error as? InvalidArgument)?.function == "delayed(by:)")
  }
}

@Suite("Operators: after")
struct AfterTests {
  private let clock = ManualClock()

  @Test("it succeeds when the time has passed")
  func succeeds() {
    let tick = Future.after(.seconds(1), clock: clock)

    clock.advance(by: .milliseconds(999))
    #expect(!tick.isCompleted)
    clock.advance(by: .milliseconds(1))

    #expect(tick.outcomeIfCompleted?.ending == .succeeded)
  }

  @Test("asked: cancelled at once, with the reason, and without its timer")
  func asked() {
    let tick = Future.after(.seconds(1), clock: clock)

    tick.cancel(reason: "enough")

    #expect(tick.reason?.message == "enough")
    #expect(clock.timerCount == 0)
  }

  @Test("nothing is due before it returns, even after no time")
  func zero() {
    let tick = Future.after(.zero, clock: clock)
    let before = tick.isCompleted

    clock.advance(by: .zero)

    #expect(!before && tick.isCompleted)
  }

  @Test("a negative duration is an error that says where and what now")
  func negative() {
    let error = Future.after(.seconds(-3), clock: clock).outcomeIfCompleted?.error

    #expect("\(error!)".contains("`after(_:)` at FutureTreeTests/TimeOperatorTests.swift:"))
    #expect("\(error!)".contains("max(duration, .zero)"))
  }

  @Test("a clock that goes away breaks its promises instead of leaving them hanging")
  func droppedClock() {
    var clock: ManualClock? = ManualClock()
    let tick = Future.after(.seconds(1), clock: clock!)

    clock = nil

    #expect(tick.outcomeIfCompleted?.ending == .failed)
  }

  @Test("the clock of the machine and one of Swift call back, and what was cancelled is released")
  func systemClock() async throws {
    let census = Census()
    let timer = SystemClock().schedule(after: .seconds(3600)) { [probe = census.probe()] in probe.touch() }
    timer.cancel()

    let outcomes = await [
      Future.after(.milliseconds(1)).outcome.ending,
      Future.after(.milliseconds(1), clock: ClockAdapter(ContinuousClock())).outcome.ending,
    ]

    #expect(outcomes == [.succeeded, .succeeded])
    #expect(census.alive == 0)
  }

  @Test("more than a century is a century, for one of Swift's clocks as well")
  func endlessTime() async throws {
    let tick = Future.after(.seconds(Int64.max), clock: ClockAdapter(ContinuousClock()))

    // Its task computes when to wake.
    try await Task.sleep(for: .milliseconds(50))

    #expect(!tick.isCompleted)
    tick.cancel()
  }
}

@Suite("Operators: shielded")
struct ShieldedTests {
  @Test("outcomes pass", arguments: [Outcome<Int>.success(1), .failure(Oops()), .cancelled("gone")])
  func passes(outcome: Outcome<Int>) {
    let promise = Promise<Int>()
    let shielded = promise.future.shielded()

    promise.complete(with: outcome)

    #expect(shielded.outcomeIfCompleted == outcome)
  }

  @Test(
    "asked: law 4, whatever was given",
    arguments: [[], .doNotForwardIfOthersWaiting, .doNotForwardRequest, .forceImmediately] as [CancellationOptions])
  func asked(options: CancellationOptions) {
    let log = Recorder()
    let promise = source(log)
    let shielded = promise.future.shielded()
    let tail = shielded.map { $0 }

    let receipt = tail.cancel(options, reason: "enough")

    #expect(tail.reason?.message == "enough")
    #expect(log.entries == [])
    #expect(promise.future.state == "pending")
    #expect(receipt.handlers == 0)
  }

  @Test("the source goes on, and its value goes nowhere")
  func goesOn() {
    let log = Recorder()
    let promise = source(log)
    let shielded = promise.future.shielded()

    shielded.cancel()
    let isFirst = promise.succeed(1)

    #expect(isFirst)
    #expect([shielded.state, promise.future.state] == ["cancelled", "success(1)"])
  }

  @Test("a request under law 3 stops at a shield that others want")
  func othersWant() {
    let promise = Promise<Int>()
    let shielded = promise.future.shielded()
    let (mine, other) = (shielded.map { $0 }, shielded.map { $0 })

    mine.cancel(.doNotForwardIfOthersWaiting)
    promise.succeed(1)

    #expect([mine.state, other.state] == ["cancelled", "success(1)"])
  }
}

@Suite("Operators: mapError")
struct MapErrorTests {
  @Test("fails: the body's error; what it throws as well")
  func failure() {
    let failed = Future<Int>.failed(Oops())

    #expect(failed.mapError { Oops("\($0)!") }.state == "failure(oops!)")
    #expect(failed.mapError { _ in throw Oops("thrown") }.state == "failure(thrown)")
    #expect(failed.mapError { _ in throw CancellationError() }.state == "cancelled")
  }

  @Test("succeeds or is cancelled: passes", arguments: [Outcome<Int>.success(1), .cancelled("gone")])
  func passes(outcome: Outcome<Int>) {
    let promise = Promise<Int>()
    let mapped = promise.future.mapError { _ in Oops("not called") }

    promise.complete(with: outcome)

    #expect(mapped.outcomeIfCompleted == outcome)
  }

  @Test("asked while it waits: forwards; the body runs")
  func asked() {
    let log = Recorder()
    let promise = source(log)
    let mapped = promise.future.mapError { Oops("\($0)!") }

    mapped.cancel()
    promise.fail(Oops())

    #expect(log.entries == ["source: plain"])
    #expect(mapped.state == "failure(oops!)")
  }
}
