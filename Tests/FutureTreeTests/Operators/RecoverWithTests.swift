import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

@Suite("Operators: recoverWith")
struct RecoverWithTests {
  @Test("A success passes through without running the body and the executor")
  func succeeds() {
    let log = Recorder()
    let executor = ManualExecutor()
    let derived = Future.succeeded(1).recoverWith(on: executor.executor) { _ in log("body", passing: .succeeded(0)) }

    expectEqual(derived.state, "success(1)")
    expectEqual(executor.pendingCount, 0)
    expectEqual(log.entries, [])
  }

  @Test(
    "The outcome of the body's future replaces a failure, at once or later",
    arguments: [.success(1), .failure(Oops("second")), .cancelled("gone")] as [Outcome<Int>])
  func fails(outcome: Outcome<Int>) {
    let (promise, inner, ended) = (Promise<Int>(), Promise<Int>(), Promise<Int>())
    ended.complete(with: outcome)
    let later = promise.future.recoverWith { error in error is Oops ? inner.future : .succeeded(0) }
    let now = promise.future.recoverWith { _ in ended.future }

    promise.fail(Oops("first"))
    expectEqual([later, now].states(), ["pending", outcome.state])
    inner.complete(with: outcome)

    expectEqual(later.state, outcome.state)
    #expect([later, now].allSatisfy { $0.reason?.message == outcome.reason?.message })
  }

  @Test("The error of a body that throws replaces a failure")
  func throwing() {
    let derived = Future<Int>.failed(Oops("first")).recoverWith { _ in throw Oops("second") }

    expectEqual(derived.state, "failure(second)")
  }

  @Test(
    "A body that throws CancellationError or FutureCancelled completes its future cancelled (law 15, a task as a source)",
    .tags(.law15)
  )
  func throwingCancellation() {
    let plain = Future<Int>.failed(Oops()).recoverWith { _ in throw CancellationError() }
    let reasoned = Future<Int>.failed(Oops()).recoverWith { _ in throw FutureCancelled(reason: "mine") }

    expectEqual([plain, reasoned].states(), ["cancelled", "cancelled"])
    expectEqual(reasoned.reason?.message, "mine")
  }

  @Test("A cancellation passes through without running the body")
  func cancelled() {
    let log = Recorder()
    let derived = Future<Int>.cancelled("gone").recoverWith { _ in log("body", passing: .succeeded(0)) }

    expectEqual(derived.reason?.message, "gone")
    expectEqual(log.entries, [])
  }

  @Test("A request is forwarded, and a later failure passes through without running the body")
  func asked() {
    let log = Recorder()
    let promise = source(log)
    let derived = promise.future.recoverWith { _ in log("body", passing: .succeeded(0)) }

    derived.cancel()
    promise.fail(Oops())

    expectEqual(log.entries, ["source: plain"])
    expectEqual(derived.state, "failure(oops)")
  }

  @Test("A success and a cancellation pass after a request")
  func askedThenOther() {
    let (first, second) = (Promise<Int>(), Promise<Int>())
    let succeeded = first.future.recoverWith { _ in .succeeded(0) }
    let cancelled = second.future.recoverWith { _ in .succeeded(0) }
    succeeded.cancel()
    cancelled.cancel()

    first.succeed(1)
    second.completeCancelled()

    expectEqual([succeeded.state, cancelled.state], ["success(1)", "cancelled"])
  }

  @Test("A request is forwarded to the future that the body returned")
  func askedInner() {
    let log = Recorder()
    let inner = source(log, "inner")
    let derived = Future<Int>.failed(Oops()).recoverWith { _ in inner.future }

    derived.cancel()

    expectEqual(log.entries, ["inner: plain"])
    inner.succeed(1)
    expectEqual(derived.state, "success(1)")
  }

  @Test(
    "A request made while the body runs is delivered to the future that it returns (law 8, no request is lost)",
    .tags(.law08))
  func askedInBody() {
    let log = Recorder()
    let inner = source(log, "inner")
    let (promise, derived) = (Promise<Int>(), Locked<Future<Int>?>(nil))
    derived.value = promise.future.recoverWith { _ in
      derived.value?.cancel()
      return inner.future
    }

    promise.fail(Oops())

    expectEqual(log.entries, ["inner: plain"])
    inner.completeCancelled()
    expectEqual(derived.value?.state, "cancelled")
  }

  @Test("The body runs on its executor")
  func onExecutor() {
    let executor = ManualExecutor()
    let derived = Future<Int>.failed(Oops()).recoverWith(on: executor.executor) { _ in .succeeded(2) }
    expectEqual(derived.state, "pending")

    executor.runAll()

    expectEqual(derived.state, "success(2)")
  }

  @Test("The failure passes at once if a queued body is cancelled (law 11, bodies that have not begun)", .tags(.law11))
  func queued() {
    let (log, executor) = (Recorder(), ManualExecutor())
    let derived = Future<Int>.failed(Oops()).recoverWith(on: executor.executor) { _ in
      log("body", passing: .succeeded(2))
    }

    derived.cancel()

    expectEqual(derived.state, "failure(oops)")
    executor.runAll()
    expectEqual(log.entries, [])
  }
}
