import FutureTreeTesting
import TestSupport
import Testing

@testable import FutureTree

@Suite("LatestFuture: the newest work wins")
struct LatestFutureTests {
  private let log = Recorder()
  private let slot = LatestFuture<Int>()

  @Test("Newer work cancels the work before, whose future completes before the work confirms")
  func supersedes() {
    let (old, new) = (source(log, "old"), source(log, "new"))
    let first = slot.run { old.future }
    let line = #line + 1
    let second = slot.run { new.future }

    expectEqual(first.reason?.kind, .superseded)
    expectEqual(first.reason?.line, UInt(line))
    expectEqual(old.cancelRequest?.reason.kind, .superseded)
    expectEqual(old.future.state, "pending")
    expectEqual(log.entries, ["old: ifOthers"])
    expectEqual(slot.current, second)
    #expect(slot.isRunning)
    old.succeed(1)
    new.succeed(2)
    expectEqual(second.state, "success(2)")
    #expect(!slot.isRunning)
  }

  @Test("Work with other consumers continues for them")
  func shared() {
    let old = source(log, "old")
    let other = old.future.map { $0 }
    slot.run { old.future }
    slot.run { .succeeded(2) }

    expectEqual(log.entries, [])
    expectEqual(other.state, "pending")
  }

  @Test("The closure receives each outcome of the newest work, and none of superseded work")
  func outcomes() {
    let (old, new) = (Promise<Int>(), Promise<Int>())
    slot.onOutcome { [log] outcome in log(outcome.state) }
    slot.run { old.future }
    slot.run { new.future }

    expectEqual(log.entries, [])
    old.succeed(1)
    new.succeed(2)
    slot.run { .failed(Oops()) }
    slot.run { .cancelled() }
    expectEqual(log.entries, ["success(2)", "failure(oops)", "cancelled"])
  }

  @Test("An outcome that waits on the executor is not received if newer work began meanwhile")
  func queued() {
    let executor = ManualExecutor()
    slot.onOutcome(on: executor.executor) { [log] outcome in log(outcome.state) }
    slot.run { .succeeded(1) }
    slot.run { .succeeded(2) }

    executor.runAll()

    expectEqual(log.entries, ["success(2)"])
  }

  @Test("A closure that is set later receives the outcome of running work, and replaces the closure before")
  func replaced() {
    let promise = Promise<Int>()
    let census = Census()
    func set(_ probe: Probe) {
      slot.onOutcome { [log] _ in
        probe.touch()
        log("first")
      }
    }
    set(census.probe())
    slot.run { promise.future }
    slot.onOutcome { [log] outcome in log("second \(outcome.state)") }

    expectEqual(census.alive, 0)
    promise.succeed(1)
    slot.onOutcome { [log] _ in log("third") }  // Completed work is not reported again.
    expectEqual(log.entries, ["second success(1)"])
  }

  @Test("A body that throws is the newest work")
  func throwing() {
    let old = source(log, "old")
    let first = slot.run { old.future }
    let second = slot.run { throw Oops() }

    expectEqual(first.state, "cancelled")
    expectEqual(second.state, "failure(oops)")
    #expect(!slot.isRunning)
  }

  @Test("Work that a body begins in the same slot is superseded by the work of the body")
  func nested() {
    let (inner, outer) = (Promise<Int>(), Promise<Int>())
    let first = slot.run { [slot] in
      slot.run { inner.future }
      return outer.future
    }

    // The body began before the inner work, so the inner work is newer.
    expectEqual(first.reason?.kind, .superseded)
    #expect(slot.isRunning)
    inner.succeed(1)
    expectEqual(slot.current?.state, "success(1)")
  }

  @Test("A request to the slot is one to the newest work")
  func cancel() {
    let promise = source(log)
    #expect(slot.cancel() == nil)
    slot.run { promise.future }

    expectEqual(slot.cancel(reason: "closed")?.effect, .delivered)
    expectEqual(promise.cancelRequest?.reason.message, "closed")
    #expect(slot.isRunning)
  }

  @Test(
    "A slot that is deallocated asks its newest work to cancel, unless others wait for it", arguments: [true, false])
  func deallocated(hasOthers: Bool) {
    let promise = source(log)
    var other: Future<Int>?
    func begin() {
      let slot = LatestFuture<Int>()
      let future = slot.run { promise.future }
      if hasOthers { other = future.map { $0 } }
    }
    begin()

    expectEqual(log.entries, hasOthers ? [] : ["source: ifOthers"])
    expectEqual(promise.cancelRequest?.reason.kind, hasOthers ? nil : .abandoned)
    withExtendedLifetime(other) {}
  }

  @Test("Completed work is the current work, and its value is released with the next")
  func bounded() {
    let census = Census()
    let slot = LatestFuture<Probe>()
    slot.run { .succeeded(census.probe()) }
    expectEqual(census.alive, 1)
    expectEqual(slot.current?.isCompleted, true)
    slot.run { .succeeded(census.probe()) }

    expectEqual(census.alive, 1)
  }

  @Test("Two threads begin work: one of the two futures is superseded, and the other is current")
  func threads() {
    race(rounds: 400) {
      Round()
    } _: {
      [0, 1].map { index in
        { (round: Round) in
          let future = round.slot.run { round.promises[index].future }
          round.begun.withLock { $0.append(future) }
        }
      }
    } check: { round, _ in
      let begun = round.begun.value
      expectEqual(begun.count { $0.reason?.kind == .superseded }, 1)
      #expect(round.slot.isRunning && begun.contains { $0 == round.slot.current })
    }
  }

  private struct Round: Sendable {
    let slot = LatestFuture<Int>()
    let promises = [Promise<Int>(), Promise<Int>()]
    let begun = Locked<[Future<Int>]>([])
  }

  @Test("With `.main`, the closure runs on the main actor, and the spinner stops once")
  @MainActor func main() async throws {
    final class Spinner: Sendable {
      let stops = Locked(0)
      @MainActor func stop() { stops.withLock { $0 += 1 } }
    }
    let (spinner, done) = (Spinner(), Promise<Void>())
    slot.onOutcome(on: .main) { _ in
      spinner.stop()
      done.succeed(())
    }
    let (early, late) = (Promise<Int>(), Promise<Int>())
    slot.run { early.future }
    slot.run { late.future }
    early.succeed(1)
    onAnotherThread { late.succeed(2) }

    try await done.future.value
    expectEqual(spinner.stops.value, 1)
  }
}
