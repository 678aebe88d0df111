import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

@Suite("Operators: recover")
struct RecoverTests {
  @Test("upstream succeeds: passes, without the body and the executor")
  func succeeds() {
    let log = Recorder()
    let executor = ManualExecutor()
    let derived = Future.succeeded(1).recover(on: executor.executor) { _ in log("body", passing: 0) }

    #expect(derived.state == "success(1)")
    #expect(executor.pendingCount == 0)
    #expect(log.entries == [])
  }

  @Test("upstream fails: the body's value, future or completion")
  func fails() {
    let promise = Promise<Int>()
    let inner = Promise<Int>()
    let value = promise.future.recover { error in error is Oops ? 1 : 0 }
    let future = promise.future.recover { _ in inner.future }
    let completion = promise.future.recover { _ in Completion.cancelled("given up") }

    promise.fail(Oops())
    #expect([value.state, future.state, completion.state] == ["success(1)", "pending", "cancelled"])
    inner.succeed(2)

    #expect(future.state == "success(2)")
    #expect(completion.reason?.message == "given up")
  }

  @Test("upstream fails: a body that throws fails with its error")
  func throwing() {
    let derived = Future<Int>.failed(Oops("first")).recover { _ in throw Oops("second") }

    #expect(derived.state == "failure(second)")
  }

  @Test("law 15: a body that throws CancellationError cancels")
  func throwingCancellation() {
    let derived = Future<Int>.failed(Oops()).recover { _ in throw CancellationError() }

    #expect(derived.state == "cancelled")
  }

  @Test("upstream is cancelled: passes, without the body")
  func cancelled() {
    let log = Recorder()
    let derived = Future<Int>.cancelled("gone").recover { _ in log("body", passing: 0) }

    #expect(derived.reason?.message == "gone")
    #expect(log.entries == [])
  }

  @Test("asked while it waits: forwards; then failure passes, body not run")
  func asked() {
    let log = Recorder()
    let promise = source(log)
    let derived = promise.future.recover { _ in log("body", passing: 0) }

    derived.cancel()
    promise.fail(Oops())

    #expect(log.entries == ["source: plain"])
    #expect(derived.state == "failure(oops)")
  }

  @Test("asked while it waits: success and cancellation pass")
  func askedThenOther() {
    let first = Promise<Int>()
    let second = Promise<Int>()
    let succeeded = first.future.recover { _ in 0 }
    let cancelled = second.future.recover { _ in 0 }
    succeeded.cancel()
    cancelled.cancel()

    first.succeed(1)
    second.completeCancelled()

    #expect([succeeded.state, cancelled.state] == ["success(1)", "cancelled"])
  }

  @Test("asked while it waits on the future its body returned: forwards there")
  func askedInner() {
    let log = Recorder()
    let inner = source(log, "inner")
    let derived = Future<Int>.failed(Oops()).recover { _ in inner.future }

    derived.cancel()

    #expect(log.entries == ["inner: plain"])
    inner.succeed(1)
    #expect(derived.state == "success(1)")
  }

  @Test("the body runs on its executor")
  func onExecutor() {
    let executor = ManualExecutor()
    let derived = Future<Int>.failed(Oops()).recover(on: executor.executor) { _ in 2 }
    #expect(derived.state == "pending")

    executor.runAll()

    #expect(derived.state == "success(2)")
  }
}
