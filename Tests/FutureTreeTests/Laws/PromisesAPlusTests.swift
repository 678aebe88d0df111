import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

// The rules of Promises/A+ (https://promisesaplus.com) that a typed future could break, in the words and names of this
// project: fulfilled is success, rejected is failure or cancelled, and `then` is each operator that takes a body. Swift
// cannot express the cases of values that are neither functions nor promises (2.2.1, 2.2.5, 2.3.3.1 and .2).

@Suite("Promises/A+ 2.1: states")
struct PromisesAPlusStateTests {
  @Test("2.1.1.1 a pending future may move to each of the other states", arguments: Settlement.all)
  func pending(_ settlement: Settlement) {
    let (future, settle) = settlement.make()
    if settlement.moment != .already { expectEqual(future.state, "pending") }

    settle()

    expectEqual(future.state, settlement.state)
  }

  @Test("2.1.2, 2.1.3 a settled future moves to no other state, and keeps its outcome", arguments: Settlement.all)
  func final(_ settlement: Settlement) {
    let log = Recorder()
    for later in Settlement.all where later.moment != .already {
      let promise = Promise<Int>()
      let settle: @Sendable (Outcome<Int>) -> Bool = { promise.complete(with: $0) }
      if settlement.moment == .already { #expect(settle(settlement.outcome)) }
      promise.future.observe { log($0.state) }
      if settlement.moment == .immediately { #expect(settle(settlement.outcome)) }
      if settlement.moment == .eventually { onAnotherThread { _ = settle(settlement.outcome) } }

      if later.moment == .immediately { #expect(!settle(later.outcome)) }
      if later.moment == .eventually { onAnotherThread { #expect(!settle(later.outcome)) } }

      expectEqual(promise.future.state, settlement.state)
    }
    expectEqual(log.entries, Array(repeating: settlement.state, count: 6))
  }

  @Test("2.1.2, 2.1.3 a completion in a body of a settled future changes nothing", arguments: Settlement.all)
  func finalInBody(_ settlement: Settlement) {
    let promise = Promise<Int>()
    promise.future.observe { _ in
      #expect(!promise.succeed(9))
      #expect(!promise.fail(Oops("late")))
      #expect(!promise.completeCancelled())
    }

    promise.complete(with: settlement.outcome)

    expectEqual(promise.future.state, settlement.state)
  }
}

@Suite("Promises/A+ 2.2.2, 2.2.3: bodies")
struct PromisesAPlusBodyTests {
  private let log = Recorder()

  /// Attaches a body for each of the three outcomes.
  private func attach(to future: Future<Int>) {
    future.map { [log] value in log("success \(value)") }
    future.onFailure { [log] error in log("failure \(error)") }
    future.onCancel { [log] reason in log("cancelled \(reason.message)") }
  }

  private func expected(for settlement: Settlement) -> String {
    switch settlement.outcome {
    case .success(let value): "success \(value)"
    case .failure(let error): "failure \(error)"
    case .cancelled(let reason): "cancelled \(reason.message)"
    }
  }

  @Test(
    "2.2.2.1, 2.2.3.1 the body for the outcome is called with it, and the other bodies are not called",
    arguments: Settlement.all)
  func called(_ settlement: Settlement) {
    let (future, settle) = settlement.make()

    attach(to: future)
    settle()

    expectEqual(log.entries, [expected(for: settlement)])
  }

  @Test("2.2.2.2, 2.2.3.2 no body is called before the future is settled", arguments: Settlement.all)
  func notBefore(_ settlement: Settlement) {
    let (future, settle) = settlement.make()
    attach(to: future)
    if settlement.moment != .already { expectEqual(log.entries, []) }

    settle()

    expectEqual(log.count, 1)
  }

  @Test("2.2.2.2, 2.2.3.2 a future that is never settled calls no body")
  func never() {
    let promise = Promise<Int>()

    attach(to: promise.future)

    expectEqual(log.entries, [])
    withExtendedLifetime(promise) {}
  }

  @Test("2.2.2.3, 2.2.3.3 a body is called once, whatever number of completions follow", arguments: Settlement.all)
  func once(_ settlement: Settlement) {
    let promise = Promise<Int>()
    if settlement.moment == .already { promise.complete(with: settlement.outcome) }
    attach(to: promise.future)

    for _ in 0..<2 { promise.complete(with: settlement.outcome) }
    onAnotherThread { promise.complete(with: settlement.outcome) }

    expectEqual(log.entries, [expected(for: settlement)])
  }

  @Test("2.2.2.3, 2.2.3.3 bodies attached before and after settling are called once each", arguments: Settlement.all)
  func onceEach(_ settlement: Settlement) {
    let (future, settle) = settlement.make()

    attach(to: future)
    attach(to: future)
    settle()
    attach(to: future)

    expectEqual(log.entries, Array(repeating: expected(for: settlement), count: 3))
  }
}

@Suite("Promises/A+ 2.2.4: the time at which bodies run")
struct PromisesAPlusTimingTests {
  private let log = Recorder()

  @Test(
    "2.2.4 a body on an executor runs after the code that attached it and the code that settled its future",
    arguments: Settlement.all)
  func onExecutor(_ settlement: Settlement) {
    let executor = ManualExecutor()
    let (future, settle) = settlement.make()

    future.onComplete(on: executor.executor) { [log] outcome in .success(log("body \(outcome.state)")) }
    log("attached")
    settle()
    log("settled")
    executor.runAll()

    expectEqual(log.entries, ["attached", "settled", "body \(settlement.state)"])
  }

  @Test(
    "2.2.4 a body on `.immediate` is an exception: it runs before the call that settles, or attaches, returns",
    arguments: Settlement.all)
  func immediate(_ settlement: Settlement) {
    let (future, settle) = settlement.make()

    future.onComplete { [log] outcome in .success(log("body \(outcome.state)")) }
    log("attached")
    settle()
    log("settled")

    let body = "body \(settlement.state)"
    let isSettled = settlement.moment == .already
    expectEqual(log.entries, isSettled ? [body, "attached", "settled"] : ["attached", body, "settled"])
  }

  @Test(
    "2.2.4 a body on `.immediate` within a callback follows the rule: it runs after the callback",
    arguments: Settlement.all)
  func inCallback(_ settlement: Settlement) {
    Future.succeeded.observe { [log] _ in
      let (future, settle) = settlement.make()
      future.onComplete { outcome in .success(log("body \(outcome.state)")) }
      // A completion on another thread is delivered on that thread.
      if settlement.moment == .eventually { log("attached") }
      settle()
      if settlement.moment != .eventually { log("done") }
    }

    let body = "body \(settlement.state)"
    expectEqual(log.entries, settlement.moment == .eventually ? ["attached", body] : ["done", body])
  }

  @Test("2.2.4 a body that attaches another body ends before the other runs", arguments: Settlement.all)
  func nested(_ settlement: Settlement) {
    let (future, settle) = settlement.make()
    future.onComplete { [log] _ -> Completion<Void> in
      future.onComplete { _ in .success(log("inner")) }
      log("outer")
      return .success
    }

    settle()

    expectEqual(log.entries, ["outer", "inner"])
  }
}

@Suite("Promises/A+ 2.2.6: several bodies of one future")
struct PromisesAPlusOrderTests {
  private let log = Recorder()

  @Test("2.2.6 bodies run in the order in which they were attached", arguments: Settlement.all)
  func order(_ settlement: Settlement) {
    let (future, settle) = settlement.make()

    for number in 1...3 { future.onComplete { [log] outcome in .success(log("\(number) \(outcome.state)")) } }
    settle()

    expectEqual(log.entries, (1...3).map { "\($0) \(settlement.state)" })
  }

  @Test("2.2.6 a body that throws does not prevent the other bodies", arguments: Settlement.all)
  func throwing(_ settlement: Settlement) {
    let (future, settle) = settlement.make()

    let first = future.onComplete { [log] _ in .success(log("1", passing: 1)) }
    let second = future.onComplete { _ -> Completion<Int> in throw Oops("second") }
    let third = future.onComplete { [log] _ in .success(log("3", passing: 3)) }
    settle()

    expectEqual(log.entries, ["1", "3"])
    expectEqual([first, second, third].states(), ["success(1)", "failure(second)", "success(3)"])
  }

  @Test("2.2.6 branches of one future are independent", arguments: Settlement.all)
  func branches(_ settlement: Settlement) {
    let (future, settle) = settlement.make()

    let branches = [10, 20, 30].map { value in future.onComplete { _ in .success(value) }.map { $0 + 1 } }
    settle()

    expectEqual(branches.states(), ["success(11)", "success(21)", "success(31)"])
    expectEqual(future.state, settlement.state)
  }

  @Test("2.2.6 a body attached by a body runs after the bodies attached before", arguments: Settlement.all)
  func attachedInBody(_ settlement: Settlement) {
    let (future, settle) = settlement.make()
    let executor = ManualExecutor()

    future.onComplete(on: executor.executor) { [log] _ -> Completion<Void> in
      log("1")
      future.onComplete(on: executor.executor) { _ in .success(log("3")) }
      return .success
    }
    future.onComplete(on: executor.executor) { [log] _ in .success(log("2")) }
    settle()
    executor.runAll()

    expectEqual(log.entries, ["1", "2", "3"])
  }
}
