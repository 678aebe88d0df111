import FutureTreeTesting
import TestSupport
import Testing

@testable import FutureTree

@Suite("Scopes: a failure that cancels the other work")
struct ScopeFailureTests {
  private let log = Recorder()
  private let scope = CancelScope("window", whenWorkFails: .cancelsWork)

  @Test("By default, a scope continues when work fails")
  func supervisor() {
    let scope = CancelScope("window")
    let other = source(log)
    scope.run { other.future }
    scope.run { Future<Int>.failed(Oops()) }

    #expect(!scope.isEnded)
    expectEqual(log.entries, [])
  }

  @Test("The first failure cancels the other work, with the failure as the cause, and is that of the scope")
  func first() {
    let (failing, other) = (Promise<Int>(), source(log))
    scope.run { failing.future }
    scope.run { other.future }
    failing.fail(Oops("first"))

    #expect(scope.isEnded)
    expectEqual(scope.future.state, "pending")
    let reason = other.cancelRequest?.reason
    expectEqual(reason?.kind, .scopeEnded)
    expectEqual(reason?.cause as? Oops, Oops("first"))
    other.fail(Oops("second"))
    expectEqual(scope.future.state, "failure(first)")
    expectEqual(scope.run { Future.succeeded(1) }.reason?.cause as? Oops, Oops("first"))
  }

  @Test("Work that fails before another begins")
  func atOnce() {
    scope.run { Future<Int>.failed(Oops()) }

    expectEqual(scope.future.state, "failure(oops)")
    expectEqual(scope.run { Future.succeeded(1) }.state, "cancelled")
  }

  @Test("Work that is cancelled has not failed")
  func cancelled() {
    let promise = Promise<Int>()
    scope.run { promise.future }
    promise.completeCancelled("gone")

    #expect(!scope.isEnded)
  }

  @Test("A failure after a request is not that of the scope")
  func afterRequest() {
    let promise = Promise<Int>()
    scope.run { promise.future }
    scope.cancel(reason: "closed")
    promise.fail(Oops())

    expectEqual(scope.future.reason?.message, "closed")
  }

  @Test("A failure after a request to an ended scope is not that of the scope")
  func afterRequestToEndedScope() {
    let scope = CancelScope(whenWorkFails: .cancelsWork)
    let promise = Promise<Int>()
    scope.run { promise.future }
    scope.end()
    scope.cancel(reason: "the user closed the page")
    promise.fail(Oops())

    expectEqual(scope.future.outcomeIfCompleted?.reason?.message, "the user closed the page")
  }

  @Test("A failure of work in flight after the end counts")
  func afterEnd() {
    let (failing, other) = (Promise<Int>(), source(log, answering: .complete(.cancelled)))
    scope.run { failing.future }
    scope.run { other.future }
    scope.end()
    failing.fail(Oops())

    expectEqual(scope.future.state, "failure(oops)")
    expectEqual(log.entries, ["source: plain"])
  }

  @Test("A nested scope that fails is work that has failed")
  func nested() {
    let other = source(log, answering: .complete(.cancelled))
    scope.run { other.future }
    let inner = scope.nested("inner")
    inner.run { Future<Int>.failed(Oops()) }

    expectEqual(inner.future.state, "failure(oops)")
    expectEqual(scope.future.state, "failure(oops)")
    expectEqual(log.entries, ["source: plain"])
  }

  @Test("A nested scope can continue where the outer one does not")
  func nestedContinues() {
    let inner = scope.nested("inner", whenWorkFails: .continues)
    inner.run { Future<Int>.failed(Oops()) }

    #expect(!inner.isEnded && !scope.isEnded)
  }

  @Test("The undos run, and a commit fails")
  func undone() {
    scope.undo(of: scope.run { Future.succeeded(1) }) { [log] _ in log("undone", passing: Future.succeeded) }
    let failing = Promise<Int>()
    scope.run { failing.future }
    failing.fail(Oops())

    expectEqual(log.entries, ["undone"])
    expectEqual(scope.future.state, "failure(oops)")
    #expect(throws: (any Error).self) { try scope.commit() }
  }

  @Test("An undo that fails has the failure of the work as its cause")
  func undoFails() {
    scope.undo(of: scope.run { Future.succeeded(1) }) { _ in Future<Void>.failed(Oops("undo")) }
    scope.run { Future<Int>.failed(Oops("work")) }

    let error = scope.future.outcomeIfCompleted?.error as? UndoFailed
    expectEqual(error?.cause as? Oops, Oops("work"))
    expectEqual(error?.failures.count, 1)
  }

  @Test("A step with an undo that fails is work that fails")
  func step() {
    scope.undo(of: Future<Int>.failed(Oops())) { _ in Future.succeeded }

    expectEqual(scope.future.state, "failure(oops)")
  }

  @Test("`withCancelScope` throws the first failure, whatever the body throws or returns", arguments: [true, false])
  func body(awaits: Bool) async {
    let other = source(log, answering: .complete(.cancelled))
    await #expect(throws: Oops("first")) {
      try await withCancelScope(whenWorkFails: .cancelsWork) { scope in
        let waiting = scope.run { other.future }
        scope.run { Future<Int>.failed(Oops("first")) }
        if awaits { _ = try await waiting.value }
      }
    }
    expectEqual(log.entries, ["source: plain"])
  }

  @Test("Failures on two threads: one is that of the scope, and both works have ended")
  func threads() {
    race(rounds: 400) {
      Round()
    } _: {
      [0, 1].map { index in { (round: Round) in round.promises[index].fail(Oops("\(index)")) } }
    } check: { round, _ in
      #expect(["failure(0)", "failure(1)"].contains(round.scope.future.state))
    }
  }

  private struct Round: Sendable {
    let scope = CancelScope(whenWorkFails: .cancelsWork)
    let promises = [Promise<Int>(), Promise<Int>()]

    init() {
      for promise in promises { scope.run { promise.future } }
    }
  }
}
