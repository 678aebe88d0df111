import FutureTreeTesting
import TestSupport
import Testing

@testable import FutureTree

/// One call asks, waits, and forces.
@Suite("Law 25: grace", .tags(.law25))
struct Law25GraceTests {
  private let clock = ManualClock()
  private let log = Recorder()

  private func report(of future: Future<GraceReport>) throws -> GraceReport {
    try #require(future.outcomeIfCompleted).get()
  }

  @Test("A future that completes in time is not forced")
  func inTime() throws {
    let promise = source(log)
    let report = promise.future.cancel(grace: .seconds(5), reason: "closed", clock: clock)

    clock.advance(by: .seconds(4))
    expectEqual(report.state, "pending")
    expectEqual(clock.timerCount, 1)
    promise.succeed(1)

    let result = try self.report(of: report)
    expectEqual(result.asked.effect, .delivered)
    #expect(result.forced == nil)
    expectEqual(result.ending, .succeeded)
    #expect(result.pending.isEmpty)
    expectEqual(clock.timerCount, 0)
    expectEqual(log.entries, ["source: plain"])
  }

  @Test("A future that answers at once needs no timer, and neither does a completed future")
  func atOnce() throws {
    let promise = source(log, answering: .complete(.cancelled))
    promise.future.cancel(grace: .seconds(5), clock: clock)
    let late = try report(of: Future.succeeded(1).cancel(grace: .seconds(5), clock: clock))

    expectEqual(promise.future.state, "cancelled")
    expectEqual(clock.timerCount, 0)
    expectEqual(late.asked.effect, .tooLate(.succeeded))
    #expect(late.forced == nil)
    expectEqual(late.ending, .succeeded)
  }

  @Test("A future that does not complete is forced, and the report names the sources that were pending")
  func forced() throws {
    let (stuck, done) = (source(log, "stuck"), source(log, "done"))
    stuck.future.named("stuck")
    let all = Future.all([stuck.future, done.future])
    let report = all.cancel(grace: .seconds(5), reason: "the app quits", clock: clock)
    done.succeed(1)

    clock.advance(by: .seconds(5))

    let result = try self.report(of: report)
    expectEqual(result.forced?.effect, .completed)
    expectEqual(result.ending, .cancelled)
    expectEqual(result.pending, ["stuck"])
    expectEqual(all.reason?.message, "the app quits; not completed within 5 s")
    expectEqual(all.reason?.fileID.hasSuffix("Law25GraceTests.swift"), true)
    expectEqual(stuck.future.state, "pending")
    expectEqual(log.entries.sorted(), ["done: plain", "stuck: plain"])
  }

  @Test("The forced request keeps the kind and the cause")
  func kind() {
    let promise = source(log)
    let reason = CancellationReason("bye", kind: .shutdown, cause: Oops())
    promise.future.cancel(grace: .zero, reason: reason, clock: clock)

    clock.advance(by: .zero)

    expectEqual(promise.future.reason?.kind, .shutdown)
    #expect(promise.future.reason?.cause is Oops)
  }

  @Test("Waiting is no interest")
  func noInterest() {
    let promise = source(log)
    let report = promise.future.cancel(.doNotForwardIfOthersWaiting, grace: .seconds(5), clock: clock)

    expectEqual(log.entries, ["source: ifOthers"])
    expectEqual(report.state, "pending")
    expectEqual(promise.future.tree().entries.map(\.consumers), [0])
  }

  @Test("A shared future with other consumers is not forced, and the report says so")
  func shared() throws {
    let promise = source(log)
    let shared = promise.future.shared()
    let other = shared.map { $0 }
    let report = shared.cancel(grace: .seconds(5), clock: clock)

    clock.advance(by: .seconds(5))

    let result = try self.report(of: report)
    expectEqual(result.forced?.effect, .withheld(by: 1))
    #expect(result.ending == nil)
    expectEqual(other.state, "pending")
  }

  @Test("Without a period, nothing is forced")
  func never() {
    let promise = source(log)
    let report = promise.future.cancel(grace: nil, clock: clock)

    expectEqual(clock.timerCount, 0)
    expectEqual(report.state, "pending")
    promise.succeed(1)
    #expect(report.isCompleted)
  }

  @Test("A negative period forces as soon as zero does")
  func negative() {
    let promise = source(log)
    promise.future.cancel(grace: .seconds(-1), clock: clock)

    clock.advance(by: .zero)

    expectEqual(promise.future.state, "cancelled")
  }

  @Test("A cancelled wait forces nothing, and leaves no timer and no observer")
  func cancelledWait() {
    let census = Census()
    let promise = source(log)
    func begin(_ probe: Probe) {
      promise.future.cancel(grace: .seconds(5), clock: clock).observe { _ in probe.touch() }.remove()
      promise.future.cancel(grace: .seconds(5), clock: clock).map { _ in probe.touch() }.cancel()
    }
    begin(census.probe())
    expectEqual(clock.timerCount, 1)
    clock.advance(by: .seconds(4))

    let report = promise.future.cancel(grace: .seconds(5), clock: clock)
    report.cancel()
    clock.advance(by: .milliseconds(999))

    expectEqual(report.state, "cancelled")
    expectEqual(promise.future.state, "pending")
    expectEqual(census.alive, 0)
  }

  @Test("A second call waits for itself, and does not delay the force of the first")
  func twice() throws {
    let promise = source(log)
    let first = promise.future.cancel(grace: .seconds(5), clock: clock)
    clock.advance(by: .seconds(1))
    let second = promise.future.cancel(grace: .seconds(50), clock: clock)

    clock.advance(by: .seconds(4))

    try expectEqual(report(of: first).forced?.effect, .completed)
    try expectEqual(report(of: second).asked.effect, .duplicate)
    #expect(try report(of: second).forced == nil && clock.timerCount == 0)
  }

  @Test("Texts", arguments: [true, false])
  func text(isForced: Bool) throws {
    let promise = source(log)
    promise.future.named("upload")
    let report = promise.future.cancel(grace: .seconds(5), clock: clock)
    if !isForced { promise.succeed(1) }
    clock.advance(by: .seconds(5))

    let asked = "delivered to 1 handler, reached 1 future, then "
    let rest = isForced ? "forced while 1 source was pending (upload)" : "completed within the grace period"
    expectEqual("\(try self.report(of: report))", asked + rest)
  }

  @Test("A completion and the end of the period on two threads: one report, and no request after it")
  func threads() {
    race(rounds: 400) {
      Round()
    } _: {
      [{ (round: Round) in round.promise.succeed(1) }, { (round: Round) in round.clock.advance(by: .seconds(5)) }]
    } check: { round, _ in
      let report = try? round.report.outcomeIfCompleted?.get()
      expectEqual(report?.ending, round.promise.future.state == "cancelled" ? .cancelled : .succeeded)
      expectEqual(round.clock.timerCount, 0)
    }
  }

  private struct Round: Sendable {
    let promise = Promise<Int>()
    let clock = ManualClock()
    let report: Future<GraceReport>

    init() {
      report = promise.future.cancel(grace: .seconds(5), clock: clock)
    }
  }

  // MARK: - Scopes

  @Test("A scope forces its work and that of nested scopes, but no undo")
  func scope() throws {
    let scope = CancelScope("window", clock: clock)
    let (stuck, inner, undo) = (source(log, "stuck"), source(log, "inner"), Promise<Void>())
    let step = scope.undo(of: scope.run { Future.succeeded(1) }, named: "step") { _ in undo.future }
    let work = scope.run { stuck.future.named("stuck").map { $0 } }
    scope.nested("inner").run { inner.future.named("deep") }
    let report = scope.cancel(grace: .seconds(5), reason: "closed", clock: clock)

    clock.advance(by: .seconds(5))

    expectEqual(work.state, "cancelled")
    expectEqual(inner.future.state, "cancelled")
    expectEqual(step.state, "success(1)")
    expectEqual(report.state, "pending")
    expectEqual(scope.future.state, "pending")
    undo.succeed(())
    let result = try self.report(of: report)
    expectEqual(result.forced?.effect, .completed)
    expectEqual(result.ending, .cancelled)
    expectEqual(Set(result.pending), ["stuck", "deep"])
    expectEqual(log.entries.sorted(), ["inner: plain", "stuck: plain"])
  }

  @Test("A scope whose undos run when the period has passed is not forced")
  func undoing() throws {
    let scope = CancelScope("window", clock: clock)
    let undo = Promise<Void>()
    scope.undo(of: Future.succeeded(1)) { _ in undo.future }
    let report = scope.cancel(grace: .seconds(5), clock: clock)

    clock.advance(by: .seconds(5))
    expectEqual(report.state, "pending")
    expectEqual(undo.future.state, "pending")
    #expect(undo.cancelRequest == nil)
    undo.succeed(())

    #expect(try self.report(of: report).forced == nil && scope.undoneCount == 1)
  }

  @Test("The undos of a nested scope are not forced, and the report waits for them")
  func nestedUndo() throws {
    let scope = CancelScope("window", clock: clock)
    let (nested, undo) = (scope.nested("inner"), Promise<Void>())
    nested.undo(of: Future.succeeded(1), named: "step") { _ in undo.future }
    let report = scope.cancel(grace: .seconds(5), clock: clock)

    clock.advance(by: .seconds(5))
    expectEqual(report.state, "pending")
    #expect(scope.future.tree().entries.contains { $0.name == "undo step" })
    undo.succeed(())

    #expect(try self.report(of: report).forced == nil && nested.undoneCount == 1)
  }

  @Test("Work that a running body adds after the end of the period is forced as well")
  func addedLate() {
    let (scope, late) = (CancelScope("window", clock: clock), source(log, "late"))
    let work = scope.run { [clock] in
      scope.cancel(grace: .seconds(5), clock: clock)
      clock.advance(by: .seconds(5))
      return late.future
    }

    expectEqual(work.state, "cancelled")
    expectEqual(scope.future.state, "cancelled")
  }

  @Test("A scope whose work ends in time is not forced")
  func scopeInTime() throws {
    let scope = CancelScope("window")
    let promise = source(log)
    scope.run { promise.future }
    let report = scope.cancel(grace: .seconds(5), clock: clock)

    promise.complete(.cancelled)

    #expect(try self.report(of: report).forced == nil && clock.timerCount == 0)
  }
}
