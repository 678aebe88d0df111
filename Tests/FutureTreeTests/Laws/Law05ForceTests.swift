import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

@Suite("Law 5: force", .tags(.law05))
struct Law05ForceTests {
  @Test("The future completes cancelled at once, whatever its handlers answer, and they still run")
  func whateverHandlersAnswer() {
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

    expectEqual(promise.future.state, "cancelled")
    expectEqual(promise.future.reason?.message, "now")
    expectEqual(log.entries, ["second: force", "first: force"])
    #expect(!promise.succeed(2))
  }

  @Test("Upstream receives the same request without the force", arguments: Step.every)
  func upstream(step: Step) {
    let log = Recorder()
    let promise = source(log)
    let derived = step.apply(promise.future)

    derived.cancel(.forceImmediately, reason: "now")

    expectEqual(derived.state, "cancelled")
    expectEqual(promise.future.state, "pending")
    expectEqual(log.entries, ["source: plain"])
    expectEqual(promise.cancelRequest?.reason.message, "now")
  }

  @Test("Only the target is forced: every future upstream waits for its outcome")
  func onlyTheTarget() {
    let promise = Promise<Int>()
    let middle = promise.future.ensure {}
    let derived = middle.map { $0 }

    derived.cancel(.forceImmediately)

    expectEqual([promise.future.state, middle.state, derived.state], ["pending", "pending", "cancelled"])
    promise.succeed(1)
    expectEqual(middle.state, "success(1)")
    expectEqual(derived.state, "cancelled")
  }

  @Test("The other options go upstream: with doNotForwardIfOthersWaiting a source with another consumer is not asked")
  func forceWithOption() {
    let log = Recorder()
    let promise = source(log)
    let derived = promise.future.map { $0 }
    let other = promise.future.map { $0 }

    derived.cancel([.forceImmediately, .doNotForwardIfOthersWaiting])

    expectEqual(derived.state, "cancelled")
    expectEqual(other.state, "pending")
    expectEqual(log.entries, [])
  }

  @Test("Force without other options asks a source with other consumers, which stay pending")
  func siblings() {
    let log = Recorder()
    let promise = source(log)
    let derived = promise.future.map { $0 }
    let other = promise.future.map { $0 }

    derived.cancel(.forceImmediately)

    expectEqual(log.entries, ["source: plain"])
    expectEqual(other.state, "pending")
  }

  @Test("A future that a running body returns later is also asked to cancel, without force")
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

    expectEqual(derived.state, "cancelled")
    expectEqual(log.entries, ["asked", "inner: plain"])
    expectEqual(inner.cancelRequest?.reason.message, "now")
    expectEqual(inner.future.state, "pending")
  }

  @Test("A future that a running body returns in a completion is also asked to cancel, without force")
  func completionOfRunningBody() {
    let log = Recorder()
    let executor = ManualExecutor()
    let inner = source(log, "inner")
    let box = Locked<Future<Int>?>(nil)
    let derived: Future<Int> = Future.succeeded(1).onSuccess(on: executor.executor) { _ in
      box.value?.cancel(.forceImmediately)
      return inner.future
    }
    box.value = derived

    executor.runAll()

    expectEqual(derived.state, "cancelled")
    expectEqual(log.entries, ["inner: plain"])
  }

  @Test("A future that is forced after a request completes at once")
  func afterARequest() {
    let log = Recorder()
    let promise = source(log)
    promise.future.cancel()

    promise.future.cancel(.forceImmediately)

    expectEqual(promise.future.state, "cancelled")
    expectEqual(log.entries, ["source: plain"])
  }

  @Test("A sealed future is forced, and the future it was sealed onto is asked without the force")
  func sealed() {
    let log = Recorder()
    let inner = source(log, "inner")
    let outer = Promise<Int>()
    outer.complete(.completeUsing(inner.future))

    outer.future.cancel(.forceImmediately)

    expectEqual(outer.future.state, "cancelled")
    expectEqual(inner.future.state, "pending")
    expectEqual(log.entries, ["inner: plain"])
  }

  @Test("A forced join completes, and its inputs are asked without the force")
  func join() {
    let log = Recorder()
    let first = source(log, "first")
    let second = source(log, "second")
    let all = Future.all([first.future, second.future])

    all.cancel(.forceImmediately)

    expectEqual(all.state, "cancelled")
    expectEqual([first.future.state, second.future.state], ["pending", "pending"])
    expectEqual(log.entries.sorted(), ["first: plain", "second: plain"])
  }

  @Test("Force with doNotForwardRequest completes this future, and no other future is asked")
  func forceAlone() {
    let log = Recorder()
    let promise = source(log)
    let derived = promise.future.map { $0 }

    derived.cancel([.forceImmediately, .doNotForwardRequest])

    expectEqual(derived.state, "cancelled")
    expectEqual(log.entries, [])
    #expect(promise.future.cancelRequest == nil)
  }

  @Test("Consumers of a forced future complete cancelled")
  func consumers() {
    let promise = Promise<Int>()
    let consumer = promise.future.map { $0 }

    promise.future.cancel(.forceImmediately)

    expectEqual(consumer.state, "cancelled")
  }
}
