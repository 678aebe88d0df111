import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

@Suite("Law 5: forceImmediately")
struct Law05ForceTests {
  @Test("the future completes cancelled now, whatever its handlers say; they still run")
  func whateverHandlersSay() {
    let log = Recorder()
    let promise = Promise<Int>()
    promise.onRequestCancel { request in
      log("first: \(request.options.text)")
      return .continue
    }
    promise.onRequestCancel { request in
      log("second: \(request.options.text)")
      return .complete(.success(1))
    }

    promise.future.cancel(.forceImmediately, reason: "now")

    #expect(promise.future.state == "cancelled")
    #expect(promise.future.reason?.message == "now")
    #expect(log.entries == ["second: force", "first: force"])
    #expect(!promise.succeed(2))
  }

  @Test("upstream gets the same request without the force", arguments: Step.every)
  func upstream(step: Step) {
    let log = Recorder()
    let promise = source(log)
    let derived = step.apply(promise.future)

    derived.cancel(.forceImmediately, reason: "now")

    #expect(derived.state == "cancelled")
    #expect(promise.future.state == "pending")
    #expect(log.entries == ["source: plain"])
    #expect(promise.cancelRequest?.reason.message == "now")
  }

  @Test("only the target is forced: every future above waits for what comes back")
  func onlyTheTarget() {
    let promise = Promise<Int>()
    let middle = promise.future.ensure {}
    let derived = middle.map { $0 }

    derived.cancel(.forceImmediately)

    #expect([promise.future.state, middle.state, derived.state] == ["pending", "pending", "cancelled"])
    promise.succeed(1)
    #expect(middle.state == "success(1)")
    #expect(derived.state == "cancelled")
  }

  @Test("the rest of the options goes upstream: with doNotForwardIfOthersWaiting a shared source is spared")
  func politeForce() {
    let log = Recorder()
    let promise = source(log)
    let derived = promise.future.map { $0 }
    let other = promise.future.map { $0 }

    derived.cancel([.forceImmediately, .doNotForwardIfOthersWaiting])

    #expect(derived.state == "cancelled")
    #expect(other.state == "pending")
    #expect(log.entries == [])
  }

  @Test("a plain force asks a source that others want, and they stay pending")
  func siblings() {
    let log = Recorder()
    let promise = source(log)
    let derived = promise.future.map { $0 }
    let other = promise.future.map { $0 }

    derived.cancel(.forceImmediately)

    #expect(log.entries == ["source: plain"])
    #expect(other.state == "pending")
  }

  @Test("a future that a running body returns later is asked as well, without the force")
  func innerOfRunningBody() {
    let log = Recorder()
    let executor = ManualExecutor()
    let inner = source(log, "inner")
    let box = Locked<Future<Int>?>(nil)
    let derived = Future.succeeded(1).flatMap(on: executor.executor) { _ in
      box.value?.cancel(.forceImmediately, reason: "now")
      log("asked")
      return inner.future
    }
    box.value = derived

    executor.runAll()

    #expect(derived.state == "cancelled")
    #expect(log.entries == ["asked", "inner: plain"])
    #expect(inner.cancelRequest?.reason.message == "now")
    #expect(inner.future.state == "pending")
  }

  @Test("so is one that a running body returns as a completion")
  func completionOfRunningBody() {
    let log = Recorder()
    let executor = ManualExecutor()
    let inner = source(log, "inner")
    let box = Locked<Future<Int>?>(nil)
    let derived: Future<Int> = Future.succeeded(1).onSuccess(on: executor.executor) { _ in
      box.value?.cancel(.forceImmediately)
      return Completion.completeUsing(inner.future)
    }
    box.value = derived

    executor.runAll()

    #expect(derived.state == "cancelled")
    #expect(log.entries == ["inner: plain"])
  }

  @Test("a future forced after it was asked completes now")
  func afterARequest() {
    let log = Recorder()
    let promise = source(log)
    promise.future.cancel()

    promise.future.cancel(.forceImmediately)

    #expect(promise.future.state == "cancelled")
    #expect(log.entries == ["source: plain"])
  }

  @Test("a sealed future is forced; the one it was sealed onto is asked without the force")
  func sealed() {
    let log = Recorder()
    let inner = source(log, "inner")
    let outer = Promise<Int>()
    outer.complete(.completeUsing(inner.future))

    outer.future.cancel(.forceImmediately)

    #expect(outer.future.state == "cancelled")
    #expect(inner.future.state == "pending")
    #expect(log.entries == ["inner: plain"])
  }

  @Test("a forced join completes, and its inputs are asked without the force")
  func join() {
    let log = Recorder()
    let first = source(log, "first")
    let second = source(log, "second")
    let all = Future.all([first.future, second.future])

    all.cancel(.forceImmediately)

    #expect(all.state == "cancelled")
    #expect([first.future.state, second.future.state] == ["pending", "pending"])
    #expect(log.entries.sorted() == ["first: plain", "second: plain"])
  }

  @Test("force with doNotForwardRequest completes this future and asks nobody")
  func forceAlone() {
    let log = Recorder()
    let promise = source(log)
    let derived = promise.future.map { $0 }

    derived.cancel([.forceImmediately, .doNotForwardRequest])

    #expect(derived.state == "cancelled")
    #expect(log.entries == [])
    #expect(promise.future.cancelRequest == nil)
  }

  @Test("consumers of a forced future get cancelled")
  func consumers() {
    let promise = Promise<Int>()
    let consumer = promise.future.map { $0 }

    promise.future.cancel(.forceImmediately)

    #expect(consumer.state == "cancelled")
  }
}
