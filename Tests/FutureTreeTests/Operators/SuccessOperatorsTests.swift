import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

/// The operators whose body runs on success.
enum SuccessOperator: String, CaseIterable, Sendable {
  case map, flatMap, onSuccess

  /// Attaches the operator with a body that returns an integer.
  func attach(
    to future: Future<Int>, on executor: FutureExecutor = .immediate, _ body: @escaping @Sendable (Int) throws -> Int
  ) -> Future<Int> {
    switch self {
    case .map: future.map(on: executor) { try body($0) }
    case .flatMap: future.flatMap(on: executor) { .succeeded(try body($0)) }
    case .onSuccess: future.onSuccess(on: executor) { .succeeded(try body($0)) }
    }
  }
}

@Suite("Operators: onSuccess, map, flatMap")
struct SuccessOperatorsTests {
  @Test("The body's value is the result of a success, at once or later", arguments: SuccessOperator.allCases)
  func succeeds(operation: SuccessOperator) {
    let promise = Promise<Int>()
    let later = operation.attach(to: promise.future) { $0 + 1 }
    let now = operation.attach(to: .succeeded(10)) { $0 + 1 }

    promise.succeed(1)

    expectEqual([later.state, now.state], ["success(2)", "success(11)"])
  }

  @Test("A body that throws fails its future with that error", arguments: SuccessOperator.allCases)
  func throwing(operation: SuccessOperator) {
    let derived = operation.attach(to: .succeeded(1)) { _ in throw Oops("thrown") }

    expectEqual(derived.state, "failure(thrown)")
  }

  @Test(
    "A body that throws CancellationError or FutureCancelled completes its future cancelled (law 15, a task as a source)",
    .tags(.law15),
    arguments: SuccessOperator.allCases)
  func throwingCancellation(operation: SuccessOperator) {
    let plain = operation.attach(to: .succeeded(1)) { _ in throw CancellationError() }
    let reasoned = operation.attach(to: .succeeded(1)) { _ in
      try Future<Int>.cancelled("inner").outcomeIfCompleted?.get() ?? 0
    }

    expectEqual([plain.state, reasoned.state], ["cancelled", "cancelled"])
    expectEqual(reasoned.reason?.message, "inner")
  }

  @Test("A failure passes through without running the body", arguments: SuccessOperator.allCases)
  func fails(operation: SuccessOperator) {
    let log = Recorder()
    let promise = Promise<Int>()
    let derived = operation.attach(to: promise.future) { log("body", passing: $0) }

    promise.fail(Oops())

    expectEqual(derived.state, "failure(oops)")
    expectEqual(log.entries, [])
  }

  @Test("A cancellation passes through without running the body", arguments: SuccessOperator.allCases)
  func cancelled(operation: SuccessOperator) {
    let log = Recorder()
    let promise = Promise<Int>()
    let derived = operation.attach(to: promise.future) { log("body", passing: $0) }

    promise.completeCancelled("gone")

    expectEqual(derived.reason?.message, "gone")
    expectEqual(log.entries, [])
  }

  @Test("A failure and a cancellation pass without the executor", arguments: SuccessOperator.allCases)
  func passesWithoutExecutor(operation: SuccessOperator) {
    // An outcome that passes does not wait for the executor, because there is no body to run on it.
    let executor = ManualExecutor()
    let failed = operation.attach(to: .failed(Oops()), on: executor.executor) { $0 }
    let cancelled = operation.attach(to: .cancelled("gone"), on: executor.executor) { $0 }

    expectEqual([failed.state, cancelled.state], ["failure(oops)", "cancelled"])
    expectEqual(executor.pendingCount, 0)
  }

  @Test(
    "A request is forwarded, and a later success completes the future cancelled without the body",
    arguments: SuccessOperator.allCases)
  func asked(operation: SuccessOperator) {
    let log = Recorder()
    let promise = source(log)
    let derived = operation.attach(to: promise.future) { log("body", passing: $0) }

    derived.cancel()
    promise.succeed(1)

    expectEqual(log.entries, ["source: plain"])
    expectEqual(derived.state, "cancelled")
  }

  @Test("A failure and a cancellation pass after a request", arguments: SuccessOperator.allCases)
  func askedThenOther(operation: SuccessOperator) {
    let failing = Promise<Int>()
    let cancelling = Promise<Int>()
    let failed = operation.attach(to: failing.future) { $0 }
    let cancelled = operation.attach(to: cancelling.future) { $0 }
    failed.cancel(reason: "asked")
    cancelled.cancel(reason: "asked")

    failing.fail(Oops())
    cancelling.completeCancelled("upstream's own")

    expectEqual(failed.state, "failure(oops)")
    expectEqual(cancelled.reason?.message, "upstream's own")
  }

  @Test("The body runs once on its executor", arguments: SuccessOperator.allCases)
  func onExecutor(operation: SuccessOperator) {
    let log = Recorder()
    let executor = ManualExecutor()
    let derived = operation.attach(to: .succeeded(1), on: executor.executor) { log("body", passing: $0 + 1) }
    expectEqual(log.entries, [])
    expectEqual(derived.state, "pending")

    executor.runAll()

    expectEqual(log.entries, ["body"])
    expectEqual(derived.state, "success(2)")
  }

  static let inner: [(Completion<Int>, String)] = [
    (.success(1), "success(1)"), (.failure(Oops()), "failure(oops)"), (.cancelled("inner"), "cancelled"),
  ]

  @Test("The outcome of the body's future is the result, at once or later", arguments: inner)
  func innerFuture(completion: Completion<Int>, state: String) {
    let promise = Promise<Int>()
    let mapped = Future.succeeded(0).flatMap { _ in promise.future }
    let succeeded = Future.succeeded(0).onSuccess { _ in promise.future }
    expectEqual([mapped.state, succeeded.state], ["pending", "pending"])

    promise.complete(completion)

    let late = Future.succeeded(0).flatMap { _ in promise.future }
    expectEqual([mapped.state, succeeded.state, late.state], [state, state, state])
  }

  @Test("A body that returns its own future fails it")
  func ownFuture() {
    let executor = ManualExecutor()
    let box = Locked<Future<Int>?>(nil)
    let derived = Future.succeeded(1).flatMap(on: executor.executor) { _ in box.value ?? .succeeded(0) }
    box.value = derived

    executor.runAll()

    #expect(derived.outcomeIfCompleted?.error != nil)
  }

  @Test("A chain can change its value type")
  func types() {
    let future = Future.succeeded(1).map { "\($0)" }.flatMap { Future.succeeded([$0]) }
      .onSuccess { .succeeded($0.count) }

    expectEqual(future.state, "success(1)")
  }
}
