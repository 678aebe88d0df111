import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

@Suite("Operators: recover")
struct RecoverTests {
  @Test("A success passes through without running the body and the executor")
  func succeeds() {
    let log = Recorder()
    let executor = ManualExecutor()
    let derived = Future.succeeded(1).recover(on: executor.executor) { _ in log("body", passing: 0) }

    expectEqual(derived.state, "success(1)")
    expectEqual(executor.pendingCount, 0)
    expectEqual(log.entries, [])
  }

  @Test("The body's value replaces a failure")
  func fails() {
    let promise = Promise<Int>()
    let derived = promise.future.recover { error in error is Oops ? 1 : 0 }

    promise.fail(Oops())

    expectEqual(derived.state, "success(1)")
  }

  @Test("The error of a body that throws replaces a failure")
  func throwing() {
    let derived = Future<Int>.failed(Oops("first")).recover { _ in throw Oops("second") }

    expectEqual(derived.state, "failure(second)")
  }

  @Test(
    "A body that throws CancellationError or FutureCancelled completes its future cancelled (law 15, a task as a source)",
    .tags(.law15)
  )
  func throwingCancellation() {
    let plain = Future<Int>.failed(Oops()).recover { _ in throw CancellationError() }
    let reasoned = Future<Int>.failed(Oops()).recover { _ in throw FutureCancelled(reason: "given up") }

    expectEqual([plain, reasoned].states(), ["cancelled", "cancelled"])
    expectEqual(reasoned.reason?.message, "given up")
  }

  @Test("A cancellation passes through without running the body")
  func cancelled() {
    let log = Recorder()
    let derived = Future<Int>.cancelled("gone").recover { _ in log("body", passing: 0) }

    expectEqual(derived.reason?.message, "gone")
    expectEqual(log.entries, [])
  }

  @Test("A request is forwarded, and a later failure passes through without running the body")
  func asked() {
    let log = Recorder()
    let promise = source(log)
    let derived = promise.future.recover { _ in log("body", passing: 0) }

    derived.cancel()
    promise.fail(Oops())

    expectEqual(log.entries, ["source: plain"])
    expectEqual(derived.state, "failure(oops)")
  }

  @Test("A success and a cancellation pass after a request")
  func askedThenOther() {
    let first = Promise<Int>()
    let second = Promise<Int>()
    let succeeded = first.future.recover { _ in 0 }
    let cancelled = second.future.recover { _ in 0 }
    succeeded.cancel()
    cancelled.cancel()

    first.succeed(1)
    second.completeCancelled()

    expectEqual([succeeded.state, cancelled.state], ["success(1)", "cancelled"])
  }

  @Test("The body runs on its executor")
  func onExecutor() {
    let executor = ManualExecutor()
    let derived = Future<Int>.failed(Oops()).recover(on: executor.executor) { _ in 2 }
    expectEqual(derived.state, "pending")

    executor.runAll()

    expectEqual(derived.state, "success(2)")
  }
}
