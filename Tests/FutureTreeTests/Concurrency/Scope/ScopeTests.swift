import FutureTreeTesting
import TestSupport
import Testing

@testable import FutureTree

@Suite("Scopes: work")
struct ScopeTests {
  private let log = Recorder()

  @Test("The future of a scope succeeds when the scope has ended and its work has completed")
  func ends() {
    let scope = CancelScope("page")
    let promises = [source(log, "a"), source(log, "b")]
    let work = promises.map { promise in scope.run { promise.future } }

    expectEqual(scope.future.state, "pending")
    #expect(!scope.isEnded)
    promises[0].succeed(1)
    scope.end()
    expectEqual(scope.future.state, "pending")
    #expect(scope.isEnded)
    promises[1].fail(Oops())

    expectEqual(scope.future.state, "success(())")
    expectEqual(work.states(), ["success(1)", "failure(oops)"])
    expectEqual(log.entries, [])
  }

  @Test("A request reaches all work, also where others wait, and the scope waits for it")
  func cancelled() {
    let scope = CancelScope("page")
    let promises = [source(log, "a"), source(log, "b")]
    let work = promises.map { promise in scope.run { promise.future } }
    let outside = work[0].map { $0 }

    let preview = scope.future.previewCancel()
    let receipt = scope.cancel(reason: "closed")

    // The scope, its own source and two sources.
    expectEqual(receipt, preview)
    expectEqual(receipt.effect, .delivered)
    expectEqual(receipt.reached, 4)
    expectEqual(receipt.handlers, 3)
    expectEqual(log.entries.sorted(), ["a: plain", "b: plain"])
    #expect(scope.isEnded)
    expectEqual(scope.future.state, "pending")
    promises[0].complete(.cancelled)
    promises[1].succeed(1)
    expectEqual(scope.future.reason?.message, "closed")
    expectEqual(outside.state, "cancelled")
  }

  @Test("The scope is no consumer: it withholds no request to its work, and its polite request stops at consumers")
  func onlyOrders() {
    let scope = CancelScope("page")
    let promises = [source(log, "a"), source(log, "b")]
    let work = promises.map { promise in scope.run { promise.future } }
    let (outside, alone) = (work[0].map { $0 }, work[1].map { $0 })

    expectEqual(work[0].tree().entries[0].consumers, 1)
    expectEqual(alone.cancel(.doNotForwardIfOthersWaiting).effect, .delivered)
    log.clear()
    expectEqual(scope.cancel(.doNotForwardIfOthersWaiting).effect, .delivered)  // Its own source.
    expectEqual(log.entries, [])
    expectEqual(outside.state, "pending")
    #expect(scope.isEnded)
    expectEqual(scope.future.state, "pending")
    outside.cancel(.doNotForwardIfOthersWaiting)
    expectEqual(log.entries, ["a: ifOthers"])
    for promise in promises { promise.complete(.cancelled) }
    expectEqual(scope.future.state, "cancelled")
  }

  @Test("A scope waits for its other work and its undos when a request ends work early, because others wait upstream")
  func endedEarly() {
    let scope = CancelScope("page")
    let promises = [source(log, "shared"), source(log, "slow")]
    let outside = promises[0].future.map { $0 }
    scope.undo(of: scope.run { Future.succeeded(0) }) { [log] _ in log("undo", passing: Future.succeeded) }
    let work = scope.run { promises[0].future.map { $0 } }
    scope.run { promises[1].future }

    scope.cancel(.doNotForwardIfOthersWaiting, reason: "closed")

    expectEqual(work.state, "cancelled")
    expectEqual(outside.state, "pending")
    expectEqual(scope.future.state, "pending")
    expectEqual(log.entries, ["slow: ifOthers"])
    promises[1].complete(.cancelled)
    expectEqual(log.entries, ["slow: ifOthers", "undo"])
    expectEqual(scope.future.reason?.message, "closed")
  }

  @Test("An ended scope waits for its undos when a request ends its last work early")
  func lastEndedEarly() {
    let scope = CancelScope("page")
    let (shared, undone) = (Promise<Int>(), Promise<Void>())
    let outside = shared.future.map { $0 }
    scope.undo(of: scope.run { Future.succeeded(0) }) { _ in undone.future }
    let work = scope.run { shared.future.map { $0 } }
    scope.end()

    scope.cancel(.doNotForwardIfOthersWaiting, reason: "closed")

    expectEqual([work.state, outside.state, scope.future.state], ["cancelled", "pending", "pending"])
    undone.succeed(())
    expectEqual(scope.future.reason?.message, "closed")
    expectEqual(scope.undoneCount, 1)
  }

  @Test("An ended scope refuses work, and does not call the body")
  func refuses() {
    let ended = CancelScope("page")
    ended.end()
    let cancelled = CancelScope("page")
    cancelled.cancel(reason: "closed")
    let other = Promise<Int>()

    let refused = [ended, cancelled].map { scope in scope.run { log("body", passing: Future.succeeded(1)) } }

    #expect(log.entries == [] && refused[0].outcomeIfCompleted?.error as? ScopeEnded == ScopeEnded("page"))
    expectEqual(refused[1].reason?.message, "closed")
    #expect(!ended.add(other.future))
    expectEqual(other.future.state, "pending")
    #expect(other.future.cancelRequest == nil)
    expectEqual(ended.future.state, "success(())")
    expectEqual(cancelled.future.state, "cancelled")
    expectEqual(ended.end(), ended.future)  // Ending it again changes nothing.
  }

  @Test("A body that throws fails its work, and the scope continues")
  func throwing() {
    let scope = CancelScope()

    let work: Future<Int> = scope.run { throw Oops() }

    expectEqual(work.state, "failure(oops)")
    #expect(!scope.isEnded)
    expectEqual(scope.end().state, "success(())")
  }

  @Test("The policy of the end: the work is asked to cancel, and the scope succeeds when it has completed")
  func policy() {
    let scope = CancelScope("page", whenEnded: .cancelsWork)
    let promise = source(log)
    scope.run { promise.future }

    scope.end()

    expectEqual(log.entries, ["source: plain"])
    expectEqual(promise.cancelRequest?.reason.message, "the scope ended")
    promise.complete(.cancelled)
    expectEqual(scope.future.state, "success(())")
  }

  /// A point of the call of `run`, at which another part of the program ends the scope.
  enum MomentOfRun: CaseIterable, Sendable {
    case inBody, inWork, inRequest
  }

  @Test(
    "Work whose body runs while the scope is ended or cancelled is asked once", arguments: [true, false],
    MomentOfRun.allCases)
  func endsInRun(isEnded: Bool, moment: MomentOfRun) {
    let scope = CancelScope("page", whenEnded: .cancelsWork)
    let promise = source(log)
    let end = { if isEnded { _ = scope.end() } else { _ = scope.cancel(reason: "closed") } }
    if moment == .inRequest {
      // Other work ends the scope in its own body, before that of this one returns.
      scope.run {
        scope.run {
          end()
          return promise.future
        }
        return Future.succeeded(1)
      }
    } else {
      scope.run {
        if moment == .inBody { end() }
        return promise.future.onCancel { _ in }
      }
      if moment == .inWork { end() }
    }

    expectEqual(log.entries, ["source: plain"])
    expectEqual(promise.cancelRequest?.reason.message, isEnded ? "the scope ended" : "closed")
    expectEqual(scope.future.state, "pending")
    promise.complete(.cancelled)
    expectEqual(scope.future.state, (isEnded ? "success(())" : "cancelled"))
  }

  @Test("Nested scopes and steps that begin while the scope is ended are asked as well")
  func endsWhileOthersBegin() {
    let scope = CancelScope("page", whenEnded: .cancelsWork)
    let (work, step) = (source(log, "work"), source(log, "step"))
    let nested = Locked<CancelScope?>(nil)
    let blocker = source(log, "blocker")
    scope.run {
      nested.value = scope.nested("nested", whenEnded: .waitsForWork)
      nested.value?.run {
        scope.end()
        return work.future
      }
      return blocker.future
    }
    scope.undo(of: step.future) { _ in Future.succeeded }

    expectEqual(log.entries.sorted(), ["blocker: plain", "step: plain", "work: plain"])
    for promise in [work, step, blocker] { promise.complete(.cancelled) }
    expectEqual(scope.future.state, "success(())")
  }

  @Test("A scope that waits for its work asks nothing when it is ended in the body of `run`")
  func endsInRunAndWaits() {
    let scope = CancelScope("page")
    let promise = source(log)

    scope.run {
      scope.end()
      return promise.future
    }

    expectEqual(log.entries, [])
    expectEqual(scope.future.state, "pending")
    promise.succeed(1)
    expectEqual(scope.future.state, "success(())")
  }

  @Test("Force and detaching complete the future at once, and the scope ends behind it", arguments: [true, false])
  func early(isForced: Bool) {
    let scope = CancelScope("page")
    let promise = source(log)
    scope.run { promise.future }

    expectEqual(scope.cancel(isForced ? .forceImmediately : .doNotForwardRequest).effect, .completed)

    expectEqual(scope.future.state, "cancelled")
    #expect(scope.isEnded)
    expectEqual(log.entries, isForced ? ["source: plain"] : [])
    let settled = scope.tracked.settled
    expectEqual(settled.state, "pending")
    promise.succeed(1)
    expectEqual(settled.state, "success(())")
  }

  @Test("A request that arrives while the scope waits for its work cancels it")
  func cancelledLate() {
    let scope = CancelScope("page")
    let promise = source(log)
    scope.run { promise.future }
    scope.end()

    scope.cancel(reason: "too slow")
    promise.complete(.cancelled)

    expectEqual(log.entries, ["source: plain"])
    expectEqual(scope.future.reason?.message, "too slow")
  }

  @Test("Work that a handler begins while the scope is asked is refused")
  func reentrant() {
    let scope = CancelScope("page")
    let promise = Promise<Int>()
    let late = Locked<Future<Int>?>(nil)
    promise.onRequestCancel { _ in
      late.value = scope.run { .succeeded(1) }
      return .complete(.cancelled)
    }
    scope.run { promise.future }

    scope.cancel(reason: "closed")

    // Handlers run furthest upstream first: the order of the sources of a scope is not defined.
    expectEqual(late.value?.isCompleted, true)
    expectEqual(scope.future.state, "cancelled")
  }

  @Test("Work that is added after a request to the future of the scope receives it")
  func addedLater() {
    let scope = CancelScope("page")
    let blocker = source(log, "blocker")
    scope.run { blocker.future }
    scope.end()
    let (late, before) = (source(log, "late"), scope.future.cancel())

    expectEqual(before.effect, .delivered)
    scope.undo(of: late.future) { _ in Future.succeeded }  // A step is tracked until the scope is settled.
    expectEqual(log.entries, ["blocker: plain", "late: plain"])
    blocker.complete(.cancelled)
    late.complete(.cancelled)
    expectEqual(scope.future.state, "cancelled")
  }

  @Test("A polite request is withheld at a later step with other consumers, and the scope waits for it")
  func addedLaterWithConsumers() {
    let scope = CancelScope("page")
    let blocker = source(log, "blocker")
    scope.run { blocker.future }
    scope.cancel(.doNotForwardIfOthersWaiting)
    let late = source(log, "late")
    let outside = late.future.map { $0 }

    scope.undo(of: late.future) { _ in Future.succeeded }
    expectEqual(log.entries, ["blocker: ifOthers"])
    expectEqual(scope.future.state, "pending")
    blocker.complete(.cancelled)
    expectEqual(scope.future.state, "pending")
    late.succeed(1)

    expectEqual(outside.state, "success(1)")
    expectEqual(scope.undoneCount, 1)
    expectEqual(scope.future.state, "cancelled")
  }

  @Test("Work that waits for the scope is refused")
  func circular() {
    let scope = CancelScope("page")
    let waiting = scope.future.map { 1 }

    #expect(!scope.add(scope.future) && !scope.add(waiting))
    #expect(scope.run { waiting.map { $0 } }.outcomeIfCompleted?.error is CompletedWithItself)
    scope.undo(of: waiting) { [log] _ in log("undone", passing: Future.succeeded) }
    scope.end()

    expectEqual(waiting.state, "success(1)")
    expectEqual(log.entries, ["undone"])
  }

  @Test("Dropping a scope cancels it")
  func dropped() {
    let promise = source(log)
    var scope: CancelScope? = CancelScope("page")
    scope?.run { promise.future }
    let future = scope!.future

    scope = nil

    expectEqual(log.entries, ["source: plain"])
    expectEqual(future.state, "pending")
    promise.complete(.cancelled)
    expectEqual(future.reason?.message, "the scope was deallocated")
  }

  @Test("An ended scope that is dropped still settles, and nothing is retained")
  func memory() {
    weak var core: ScopeCore?
    let promise = source(log)
    let endings = Recorder()
    do {
      let scope = CancelScope("page")
      core = scope.core
      scope.future.observe { endings("\($0.ending)") }
      scope.run { promise.future }
      scope.end()
    }
    #expect(core != nil)
    expectEqual(log.entries, [])
    promise.succeed(1)
    #expect(core == nil)
    expectEqual(endings.entries, ["succeeded"])
  }

  @Test("A scope holds the work in flight, not the work that was. Law 21 (bounded memory)")
  func bounded() {
    let scope = CancelScope("page")
    let blocker = source(log)
    scope.run { blocker.future }
    for number in 0..<10_000 {
      let promise = Promise<Int>()
      scope.run { promise.future }
      promise.succeed(number)
    }

    expectEqual(scope.future.tree().entries.count, 3)
    #expect(scope.core.node.slotCount < 20)
    scope.end()
    blocker.succeed(1)
    expectEqual(scope.future.state, "success(())")
  }
}
