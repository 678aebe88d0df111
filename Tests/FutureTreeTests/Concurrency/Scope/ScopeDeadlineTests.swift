import FutureTreeTesting
import TestSupport
import Testing

@testable import FutureTree

@Suite("Scopes: deadlines")
struct ScopeDeadlineTests {
  private let clock = ManualClock()
  private let log = Recorder()

  private func scope(
    _ seconds: Int, whenDeadlinePasses policy: CancelScope.DeadlinePolicy = .fails
  ) -> CancelScope {
    CancelScope("page", deadline: .after(.seconds(seconds), clock: clock), whenDeadlinePasses: policy)
  }

  @Test("When the deadline passes, the work is cancelled, and the scope fails with TimeoutError")
  func passes() {
    let scope = scope(5)
    let promise = source(log)
    scope.run { promise.future }

    clock.advance(by: .seconds(4))
    expectEqual(scope.deadline?.remaining, .seconds(1))
    expectEqual(log.entries, [])
    clock.advance(by: .seconds(1))

    expectEqual(log.entries, ["source: plain"])
    #expect(scope.isEnded)
    expectEqual(scope.future.state, "pending")
    expectEqual(promise.cancelRequest?.reason.kind, .deadline)
    #expect(promise.cancelRequest?.reason.cause is TimeoutError)
    promise.complete(.cancelled)
    let error = scope.future.outcomeIfCompleted?.error as? TimeoutError
    expectEqual(error, TimeoutError(duration: .seconds(5)))
    expectEqual(error?.name, "page")
    expectEqual(scope.run { Future.succeeded(1) }.reason?.kind, .deadline)
  }

  @Test("With `succeeds`, the scope goes on, but does not commit")
  func succeeds() {
    let scope = scope(5, whenDeadlinePasses: .succeeds)
    let promise = source(log, answering: .complete(.cancelled))
    scope.run { promise.future }
    clock.advance(by: .seconds(5))

    expectEqual(scope.future.state, "success(())")
    expectEqual(log.entries, ["source: plain"])
    #expect(throws: (any Error).self) { try scope.commit() }
  }

  @Test("Work that succeeds although it was asked keeps its value, and the scope has missed its deadline")
  func late() {
    let scope = scope(5)
    let promise = Promise<Int>()
    let work = scope.run { promise.future }
    clock.advance(by: .seconds(5))
    promise.succeed(1)

    expectEqual(work.state, "success(1)")
    #expect(scope.future.outcomeIfCompleted?.error is TimeoutError)
  }

  @Test("A scope that is settled in time cancels its timer")
  func inTime() {
    let scope = scope(5)
    let promise = Promise<Int>()
    scope.run { promise.future }
    scope.end()
    expectEqual(clock.timerCount, 1)
    promise.succeed(1)

    expectEqual(scope.future.state, "success(())")
    expectEqual(clock.timerCount, 0)
    #expect(scope.deadline == nil)
    scope.deadline = .after(.seconds(1), clock: clock)
    expectEqual(clock.timerCount, 0)
  }

  @Test("The deadline of an ended scope applies to its work in flight")
  func ended() {
    let scope = scope(5)
    let promise = source(log, answering: .complete(.cancelled))
    scope.run { promise.future }
    scope.end()
    clock.advance(by: .seconds(5))

    #expect(scope.future.outcomeIfCompleted?.error is TimeoutError)
    expectEqual(log.entries, ["source: plain"])
  }

  @Test("A deadline that passes after a request to an ended scope decides nothing", arguments: [true, false])
  func afterRequest(fails: Bool) {
    let scope = scope(5, whenDeadlinePasses: fails ? .fails : .succeeds)
    let promise = Promise<Int>()
    scope.run { promise.future }
    scope.end()
    scope.cancel(reason: "the user closed the page")
    clock.advance(by: .seconds(5))
    promise.succeed(1)

    expectEqual(scope.future.outcomeIfCompleted?.reason?.message, "the user closed the page")
  }

  @Test("A deadline can be moved, removed and set later", arguments: [true, false])
  func moved(isRemoved: Bool) {
    let scope = scope(5)
    clock.advance(by: .seconds(4))
    scope.deadline = isRemoved ? nil : .after(.seconds(5), clock: clock)
    expectEqual(clock.timerCount, isRemoved ? 0 : 1)
    clock.advance(by: .seconds(4))
    #expect(!scope.isEnded)
    scope.deadline = .after(.seconds(1), clock: clock)
    clock.advance(by: .seconds(1))

    let error = scope.future.outcomeIfCompleted?.error as? TimeoutError
    expectEqual(error, TimeoutError(duration: .seconds(9)))
  }

  @Test("A deadline in the past passes at once")
  func past() {
    let scope = CancelScope(deadline: FutureDeadline(.seconds(-1), of: clock))
    clock.advance(by: .zero)

    #expect(scope.future.outcomeIfCompleted?.error is TimeoutError)
  }

  @Test("A nested scope has the nearer deadline, and the outer one cancels it", arguments: [1, 9])
  func nested(seconds: Int) {
    let outer = scope(5)
    let inner = outer.nested("inner", deadline: .after(.seconds(seconds), clock: clock))
    let promise = source(log, answering: .complete(.cancelled))
    inner.run { promise.future }

    expectEqual(inner.deadline?.remaining, .seconds(min(seconds, 5)))
    expectEqual(outer.deadline?.remaining, .seconds(5))
    clock.advance(by: .seconds(5))

    // The inner scope failed at its own deadline, or was cancelled at that of the outer scope.
    #expect(inner.future.state.hasPrefix(seconds == 1 ? "failure" : "cancelled"))
    expectEqual(promise.cancelRequest?.reason.kind, .deadline)
    #expect(outer.future.outcomeIfCompleted?.error is TimeoutError)
  }

  @Test("Undos have no deadline but their own, and a deadline that passes while they run changes nothing")
  func undos() {
    let scope = scope(5)
    let undo = Promise<Void>()
    scope.undo(of: Future.succeeded(1)) { _ in
      #expect(CancelScope.currentDeadline == nil)
      return undo.future
    }
    scope.cancel(reason: "closed")
    clock.advance(by: .seconds(6))
    #expect(undo.cancelRequest == nil)
    undo.succeed(())

    expectEqual(scope.future.reason?.message, "closed")
    expectEqual(scope.undoneCount, 1)
  }

  @Test("A failed undo has the missed deadline as its cause")
  func undoFails() {
    let scope = scope(5)
    scope.undo(of: Future.succeeded(1)) { _ in Future<Void>.failed(Oops()) }
    clock.advance(by: .seconds(5))

    #expect((scope.future.outcomeIfCompleted?.error as? UndoFailed)?.cause is TimeoutError)
  }

  @Test("Bodies of work know the nearest deadline, and code outside does not")
  func ambient() {
    let (scope, free) = (scope(5), CancelScope())
    scope.run {
      expectEqual(CancelScope.currentDeadline?.remaining, .seconds(5))
      free.run {
        expectEqual(CancelScope.currentDeadline?.remaining, .seconds(5))
        return Future.succeeded(1)
      }
      return Future.succeeded(1)
    }
    #expect(CancelScope.currentDeadline == nil)
    free.run {
      #expect(CancelScope.currentDeadline == nil)
      return Future.succeeded(1)
    }
  }

  @Test("`withCancelScope` throws TimeoutError, and its body and tasks know the deadline")
  func body() async throws {
    let error = await #expect(throws: TimeoutError.self) { try await self.awaitsTooLong() }
    expectEqual(error?.duration, .seconds(5))
    expectEqual(error?.name, "page")
    expectEqual(clock.timerCount, 0)
  }

  private func awaitsTooLong() async throws {
    try await withCancelScope("page", deadline: .after(.seconds(5), clock: clock)) { [clock, log] scope in
      let inTask = await Task { CancelScope.currentDeadline?.remaining }.value
      expectEqual(inTask, .seconds(5))
      expectEqual(CancelScope.currentDeadline?.remaining, .seconds(5))
      let promise = source(log, answering: .complete(.cancelled))
      let work = scope.run { promise.future }
      onAnotherThread { clock.advance(by: .seconds(5)) }
      _ = try await work.value
    }
  }

  @Test("Inside another scope, the nearer deadline counts", arguments: [nil, 1, 9])
  func bodyInBody(seconds: Int?) async throws {
    try await withCancelScope(deadline: .after(.seconds(5), clock: clock)) { [clock] _ in
      let deadline = seconds.map { FutureDeadline.after(.seconds($0), clock: clock) }
      try await withCancelScope(deadline: deadline) { scope in
        expectEqual(scope.deadline?.remaining, .seconds(min(seconds ?? 5, 5)))
        expectEqual(CancelScope.currentDeadline?.remaining, scope.deadline?.remaining)
      }
    }
  }

  @Test("With `succeeds`, a body that returns is not interrupted, and its result is returned")
  func bodyGoesOn() async throws {
    let value = try await withCancelScope(
      deadline: .after(.seconds(5), clock: clock), whenDeadlinePasses: .succeeds
    ) { [clock] scope in
      onAnotherThread { clock.advance(by: .seconds(5)) }
      return try await scope.future.map { 7 }.value
    }
    expectEqual(value, 7)
  }

  @Test("A dropped scope cancels its timer")
  func dropped() {
    do { withExtendedLifetime(scope(5)) {} }

    expectEqual(clock.timerCount, 0)
  }

  @Test("The end of a scope and its deadline on two threads: one outcome, and no timer is left")
  func threads() {
    race(rounds: 400) {
      Round(clock: ManualClock())
    } _: {
      [{ (round: Round) in round.scope.end() }, { (round: Round) in round.clock.advance(by: .seconds(5)) }]
    } check: { round, _ in
      #expect(round.scope.future.isCompleted)
      expectEqual(round.clock.timerCount, 0)
    }
  }

  private struct Round: Sendable {
    let clock: ManualClock
    let scope: CancelScope

    init(clock: ManualClock) {
      self.clock = clock
      scope = CancelScope(deadline: .after(.seconds(5), clock: clock))
    }
  }
}

@Suite("Scopes: every point of deadlines, grace and failures")
struct ScopeEverywhereTests {
  /// Work of two seconds that confirms a cancellation after one more.
  private func slow(_ trial: CancelTrial) -> Future<Void> {
    let promise = Promise<Void>()
    promise.onRequestCancel { _ in
      let confirmed = Future.after(.seconds(1), clock: trial.clock)
      confirmed.observe { _ in promise.complete(.cancelled) }
      return .continue
    }
    Future.after(.seconds(2), clock: trial.clock).observe { _ in promise.succeed(()) }
    return promise.future
  }

  @Test("A scope with a deadline, in which a step is undone", arguments: [1, 3])
  func deadline(seconds: Int) throws {
    try CancelEverywhere.run(grace: .seconds(3)) { trial in
      let undone = Recorder()
      let scope = trial.track(
        CancelScope("page", deadline: .after(.seconds(seconds), clock: trial.clock), clock: trial.clock))
      scope.undo(of: scope.run { slow(trial) }) { undone("undone", passing: Future.succeeded) }
      scope.run { Future.after(.milliseconds(500), clock: trial.clock) }.observe { _ in scope.end() }
      trial.expect("the step that succeeded is undone once") { _ in undone.count <= 1 }
      return scope.future
    }
  }

  @Test("The end of a grace period", arguments: [0, 2, 5])
  func grace(seconds: Int) throws {
    try CancelEverywhere.run(grace: .seconds(3)) { trial in
      let work = slow(trial)
      return work.map {}.cancel(grace: .milliseconds(seconds * 500), clock: trial.clock)
    }
  }

  @Test("A scope that fails with its first failure")
  func failure() throws {
    try CancelEverywhere.run(grace: .seconds(3)) { trial in
      let scope = trial.track(CancelScope("page", whenWorkFails: .cancelsWork, clock: trial.clock))
      scope.run { slow(trial) }
      scope.run { Future.after(.seconds(1), clock: trial.clock).map { throw Oops() } as Future<Void> }
      return scope.future
    }
  }
}
