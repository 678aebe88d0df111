import FutureTreeTesting
import TestSupport
import Testing

@testable import FutureTree

@Suite("Scopes: undos")
struct ScopeUndoTests {
  private let log = Recorder()
  private let clock = ManualClock()

  /// Registers an undo that logs its name and succeeds.
  private func step(_ scope: CancelScope, _ name: String, _ step: Future<Int>) {
    scope.undo(of: step, named: name) { [log] value in
      log("undo \(name) \(value)", passing: Future.succeeded)
    }
  }

  @Test("Undos run last in, first out, in the order of success, when the work has completed")
  func order() {
    let scope = CancelScope("checkout")
    let promises = ["a", "b", "c"].map { (name: $0, promise: Promise<Int>()) }
    for (name, promise) in promises { step(scope, name, scope.run { promise.future }) }
    for index in [1, 2] { promises[index].promise.succeed(index) }

    scope.end()
    expectEqual(log.entries, [])
    promises[0].promise.succeed(0)

    expectEqual(log.entries, ["undo a 0", "undo c 2", "undo b 1"])
    expectEqual(scope.undoneCount, 3)
    expectEqual(scope.future.state, "success(())")
  }

  @Test("A committed scope undoes nothing, also if it is cancelled later")
  func committed() throws {
    let scope = CancelScope("checkout")
    let promise = source(log)
    step(scope, "a", .succeeded(1))
    scope.run { promise.future }

    try scope.commit()
    scope.cancel()
    promise.complete(.cancelled)

    expectEqual(log.entries, ["source: plain"])
    expectEqual(scope.future.state, "cancelled")
    expectEqual(scope.undoneCount, 0)
  }

  @Test("After a request, a scope does not commit, and its undos run", arguments: [true, false])
  func cancelled(endsFirst: Bool) {
    let scope = CancelScope("checkout")
    let promise = source(log)
    step(scope, "a", .succeeded(1))
    scope.run { promise.future }
    if endsFirst { scope.end() }
    scope.cancel(reason: "closed")

    #expect(throws: FutureCancelled.self) { try scope.commit() }
    expectEqual(log.entries, ["source: plain"])
    promise.complete(.cancelled)
    expectEqual(log.entries, ["source: plain", "undo a 1"])
    expectEqual(scope.future.state, "cancelled")
  }

  @Test("Once an undo has begun, a scope does not commit")
  func tooLate() {
    let (scope, undo) = (CancelScope("checkout"), Promise<Void>())
    scope.undo(of: .succeeded(1)) { _ in undo.future }
    scope.end()

    #expect(throws: ScopeEnded.self) { try scope.commit() }
    undo.succeed(())
    #expect(throws: ScopeEnded.self) { try scope.commit() }
    expectEqual(scope.undoneCount, 1)
  }

  @Test(
    "A step that succeeds after it was asked to cancel is undone. Law 1 (requests, not commands)",
    arguments: [[], .forceImmediately] as [CancellationOptions])
  func succeedsLate(options: CancellationOptions) {
    let scope = CancelScope("checkout")
    let promise = source(log)
    step(scope, "a", scope.run { promise.future })

    scope.cancel(options)
    promise.succeed(7)

    expectEqual(log.entries, ["source: plain", "undo a 7"])
    expectEqual(scope.future.state, "cancelled")
  }

  @Test("Steps that fail or are cancelled are not undone")
  func failed() {
    let scope = CancelScope("checkout")
    step(scope, "a", .failed(Oops()))
    step(scope, "b", .cancelled("gone"))

    expectEqual(scope.end().state, "success(())")
    expectEqual(log.entries, [])
  }

  @Test("Undos run one at a time, and no request reaches them", arguments: CancelEverywhere.allOptions)
  func shielded(options: CancellationOptions) {
    let scope = CancelScope("checkout")
    let undo = Promise<Void>()
    undo.onRequestCancel { [log] _ in
      log("undo asked")
      return .continue
    }
    step(scope, "first", .succeeded(1))
    scope.undo(of: Future.succeeded(2), named: "second") { _ in undo.future }

    scope.end()
    let names = { scope.future.tree().entries.map(\.name) }
    #expect(names().contains("undo second"))
    expectEqual(scope.future.state, "pending")
    expectEqual(log.entries, [])
    scope.cancel(options)
    expectEqual(log.entries, [])
    expectEqual(names().contains("undo second"), !scope.future.isCompleted)
    undo.succeed(())

    expectEqual(log.entries, ["undo first 1"])
    expectEqual(scope.undoneCount, 2)
    #expect(scope.future.isCompleted)
    expectEqual(scope.tracked.settled.state, "success(())")
  }

  @Test("An undo that takes too long is asked to cancel and counts as failed. The others run")
  func deadline() throws {
    let scope = CancelScope("checkout", undoTimeout: .seconds(3), clock: clock)
    let undo = source(log, "slow undo")
    step(scope, "first", .succeeded(1))
    scope.undo(of: Future.succeeded(2), named: "second") { _ in undo.future }
    scope.end()

    clock.advance(by: .seconds(3))

    expectEqual(log.entries, ["slow undo: ifOthers", "undo first 1"])
    let failed = try #require(scope.future.outcomeIfCompleted?.error as? UndoFailed)
    expectEqual(failed.undone, 1)
    expectEqual(failed.failures.map(\.name), ["second"])
    #expect(failed.failures[0].error is TimeoutError && clock.timerCount == 0)
    expectEqual("\(failed)", "Undos failed (1 of 2): second. See `failures`, and undo these steps by hand.")
  }

  @Test("Undos that fail, throw or are cancelled are reported, and the others run")
  func failures() throws {
    let scope = CancelScope("checkout")
    scope.undo(of: Future.succeeded(1), named: "fails") { _ in Future<Int>.failed(Oops("fails")) }
    step(scope, "works", .succeeded(2))
    scope.undo(of: Future.succeeded(3), named: "throws") { _ -> Future<Int> in throw Oops("throws") }
    scope.undo(of: Future.succeeded(4), named: "cancelled") { _ in Future<Int>.cancelled("gone") }
    scope.cancel(reason: "closed")

    let failed = try #require(scope.future.outcomeIfCompleted?.error as? UndoFailed)
    expectEqual(failed.undone, 1)
    expectEqual(failed.failures.map(\.name), ["cancelled", "throws", "fails"])
    expectEqual(failed.failures.map { "\($0.error)" }.suffix(2), ["throws", "fails"])
    #expect(throws: FutureCancelled.self) { try scope.commit() }
  }

  @Test("10,000 undos that complete at once use no stack. Law 20 (any depth)")
  func depth() {
    let scope = CancelScope("checkout")
    let count = Locked(0)
    for number in 0..<10_000 {
      scope.undo(of: Future.succeeded(number)) { _ in
        count.withLock { $0 += 1 }
        return .succeeded
      }
    }
    scope.end()

    expectEqual(count.value, 10_000)
    expectEqual(scope.undoneCount, 10_000)
  }

  @Test("The undos of a nested scope that committed become those of the outer scope")
  func nested() throws {
    let outer = CancelScope("outer")
    step(outer, "outer", .succeeded(1))
    let inner = outer.nested("inner")
    step(inner, "first", .succeeded(2))
    step(inner, "second", .succeeded(3))
    try inner.commit()
    inner.end()
    expectEqual(inner.future.state, "success(())")
    expectEqual(log.entries, [])

    outer.end()

    expectEqual(log.entries, ["undo second 3", "undo first 2", "undo outer 1"])
  }

  @Test("The undos of an outer and a nested scope run in the reverse order of success")
  func nestedOrder() throws {
    let outer = CancelScope("outer")
    let inner = outer.nested("inner")
    step(inner, "first", .succeeded(1))
    step(outer, "second", .succeeded(2))
    step(inner, "third", .succeeded(3))
    step(outer, "fourth", .succeeded(4))
    try inner.commit()
    inner.end()

    outer.end()

    expectEqual(log.entries, ["undo fourth 4", "undo third 3", "undo second 2", "undo first 1"])
  }

  @Test("A nested scope without a commit undoes its own steps, and the outer scope waits for them")
  func nestedUndoes() throws {
    let outer = CancelScope("outer")
    let undo = Promise<Void>()
    let inner = outer.nested("inner")
    inner.undo(of: Future.succeeded(1)) { _ in undo.future }
    step(outer, "outer", .succeeded(2))

    inner.end()
    outer.cancel(.forceImmediately)
    expectEqual(outer.future.state, "cancelled")
    expectEqual(log.entries, [])
    undo.succeed(())

    expectEqual(log.entries, ["undo outer 2"])
    expectEqual(inner.undoneCount, 1)
  }

  @Test("An undo may use the scope: it has ended, and refuses")
  func reentrant() {
    let scope = CancelScope("checkout")
    scope.undo(of: Future.succeeded(1)) { [log] _ in
      log("\(scope.run { Future.succeeded(1) }.state) \(scope.end().isCompleted)")
      #expect(throws: ScopeEnded.self) { try scope.commit() }
      return Future.succeeded
    }

    scope.end()

    #expect(log.entries.count == 1 && log.entries[0].hasSuffix("false") && scope.future.state == "success(())")
  }

  @Test("A step that is registered after the scope was settled is undone when it succeeds, unless the scope committed")
  func settled() throws {
    let scopes = [CancelScope("undone"), CancelScope("kept")]
    try scopes[1].commit()
    for scope in scopes { scope.end() }
    let promise = Promise<Int>()
    for scope in scopes { step(scope, "late", promise.future) }

    promise.succeed(5)

    expectEqual(log.entries, ["undo late 5"])
  }

  @Test("Cancelled everywhere: each step that succeeded is undone or committed")
  func everywhere() throws {
    try CancelEverywhere.run(grace: .seconds(60)) { trial in
      let placed = Locked<Set<Int>>([])
      let committed = Locked(false)
      let scope = trial.track(CancelScope("checkout", undoTimeout: .seconds(5), clock: trial.clock))
      let place = { @Sendable (order: Int) in
        // The step is the future that has the effect: a further `map` could be cancelled after it.
        Future<Void>.after(.seconds(1), clock: trial.clock).map(on: trial.executor) {
          placed.withLock { _ = $0.insert(order) }
          return order
        }
      }
      let undone = { @Sendable (order: Int) in
        Future<Void>.after(.seconds(1), clock: trial.clock).map { placed.withLock { _ = $0.remove(order) } }
      }
      let steps = [1, 2].map { order in scope.undo(of: scope.run { place(order) }) { undone($0) } }
      let all = Future.all(steps)
      all.observe { outcome in
        if case .success = outcome, (try? scope.commit()) != nil { committed.value = true }
        scope.end()
      }
      trial.expect("both orders are kept, or none") { _ in placed.value == (committed.value ? [1, 2] : []) }
      return scope.future
    }
  }
}
