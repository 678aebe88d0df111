import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

@Suite("Laws in combination: handlers and executors")
struct HandlerCombinationTests {
  // Laws 8 (no request is lost), 19 (no user code under a lock)
  @Test("A handler installed by a handler receives the request too, once")
  func handlerInstallsHandler() {
    let log = Recorder()
    let promise = Promise<Int>()
    promise.onRequestCancel { [weak promise] _ in
      promise?.recordRequest(log, "inner")
      log("outer")
      return .continue
    }

    promise.future.cancel()

    expectEqual(log.entries.sorted(), ["inner", "outer"])
  }

  // Law 9 (handlers run)
  @Test("A handler on an executor runs after its promise was completed, and its answer is too late")
  func completedMeanwhile() {
    let log = Recorder()
    let executor = ManualExecutor()
    let promise = Promise<Int>()
    promise.onRequestCancel(on: executor.executor) { _ in
      log("called")
      return .complete(.success(2))
    }
    promise.future.cancel()

    promise.succeed(1)
    executor.runAll()

    expectEqual(log.entries, ["called"])
    expectEqual(promise.future.state, "success(1)")
  }

  // Laws 9 (handlers run), 12 (diamonds)
  @Test("The handlers of both sources of a join run before any completion is delivered")
  func joinOfTwo() {
    let log = Recorder()
    let first = source(log, "first", answering: .complete(.failure(Oops())))
    let second = source(log, "second", answering: .complete(.success(2)))
    let all = Future.all([first.future, second.future])
    all.observe { log($0.state) }

    all.cancel()

    expectEqual(log.entries.count, 3)
    expectEqual(log.entries.last, "failure(oops)")
  }

  // Law 9 (handlers run)
  @Test("A weaker request after a stronger stored request is a duplicate")
  func weakerStored() {
    let promise = Promise<Int>()
    promise.future.cancel()

    expectEqual(promise.future.cancel(.doNotForwardRequest).effect, .duplicate)
    expectEqual(promise.future.cancel(.doNotForwardIfOthersWaiting).effect, .duplicate)
  }

  // Law 9 (handlers run)
  @Test("A request from another branch that is not stronger is a duplicate at the source")
  func otherBranch() {
    let log = Recorder()
    let promise = source(log)
    let first = promise.future.map { $0 }
    let second = promise.future.map { $0 }
    first.cancel(reason: "first")

    second.cancel(reason: "second")

    expectEqual(log.entries, ["source: plain"])
    expectEqual(promise.cancelRequest?.reason.message, "first")
    expectEqual(second.cancelRequest?.reason.message, "second")
  }

  // Law 1 (requests, not commands)
  @Test("An executor that runs a job twice runs the body once")
  func twice() {
    let log = Recorder()
    let executor = FutureExecutor.custom { job in
      job()
      job()
    }

    let mapped = Future.succeeded(1).map(on: executor) { log("map", passing: $0) }
    let ensured = Future.succeeded(2).ensure(on: executor) { log("ensure") }
    let completed = Future.succeeded(3).onComplete(on: executor) { outcome in
      .success(log("onComplete \(outcome.state)", passing: 4))
    }

    expectEqual(log.entries, ["map", "ensure", "onComplete success(3)"])
    expectEqual([mapped, ensured, completed].states(), ["success(1)", "success(2)", "success(4)"])
  }

  // Law 16 (a dropped promise), for executors
  @Test("A future whose executor drops its job completes", arguments: 0..<4)
  func dropped(index: Int) {
    // The law names promises only. A body whose executor is deallocated has the same effect for an awaiting caller.
    let census = Census()
    let log = Recorder()
    func make(_ probe: Probe) -> Future<Int> {
      let executor = FutureExecutor.custom { _ in }
      switch index {
      case 0: return Future.succeeded(1).map(on: executor) { log("body \(probe)", passing: $0) }
      case 1: return Future.succeeded(1).ensure(on: executor) { log("body \(probe)") }
      case 2: return Future<Int>.failed(Oops()).recover(on: executor) { _ in log("body \(probe)", passing: 0) }
      default: return Future(on: executor) { log("body \(probe)", passing: 0) }
      }
    }

    let future = make(census.probe())

    #expect(future.isCompleted)
    expectEqual(log.entries, [])
    expectEqual(census.alive, 0)
  }

  // Laws 5 (force), 11 (bodies that have not begun)
  @Test("A body that always runs does so once, whether it is forced before or after it is queued")
  func forcedOnce() {
    let log = Recorder()
    let executor = ManualExecutor()
    let promise = Promise<Int>()
    let before = promise.future.ensure(on: executor.executor) { log("before") }
    let after = promise.future.ensure(on: executor.executor) { log("after") }

    before.cancel(.forceImmediately)
    promise.succeed(1)
    after.cancel(.forceImmediately)
    executor.runAll()

    expectEqual(log.entries.sorted(), ["after", "before"])
    expectEqual([before.state, after.state], ["cancelled", "cancelled"])
  }

  // Law 20 (any depth)
  @Test(
    "A deep chain of each operator completes, is cancelled, is forced and is dropped on a small stack",
    arguments: Step.every)
  func deep(step: Step) {
    let log = Recorder()
    // Deeper than a recursion could go on 512 KiB, for each operator.
    let depth = LongTest.count(5_000, small: 2_000)
    onSmallStack {
      func chain(_ promise: Promise<Int>) -> Future<Int> {
        (0..<depth).reduce(promise.future) { future, _ in step.apply(future) }
      }
      let completed = Promise<Int>()
      let completedTail = chain(completed)
      completed.succeed(1)
      let asked = Promise<Int>()
      let askedTail = chain(asked)
      askedTail.cancel()
      asked.completeCancelled()
      let conditional = Promise<Int>()
      let conditionalTail = chain(conditional)
      let other = conditional.future.map { $0 }
      conditionalTail.cancel(.doNotForwardIfOthersWaiting)
      let forced = Promise<Int>()
      let forcedTail = chain(forced)
      forcedTail.cancel(.forceImmediately)
      let droppedTail = chain(Promise<Int>())

      for future in [completedTail, askedTail, conditionalTail, other, forcedTail] { log(future.state) }
      log("\(droppedTail.outcomeIfCompleted?.error is BrokenPromise)")
    }
    expectEqual(log.entries, ["success(1)", "cancelled", "cancelled", "pending", "cancelled", "true"])
  }
}

extension Promise where Value == Int {
  /// Installs a handler that logs `name` and answers `.continue`.
  @discardableResult
  fileprivate func recordRequest(_ log: Recorder, _ name: String) -> CancelHandler {
    onRequestCancel { _ in
      log(name)
      return .continue
    }
  }
}
