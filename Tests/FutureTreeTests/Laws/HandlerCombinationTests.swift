import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

@Suite("Laws in combination: handlers and executors")
struct HandlerCombinationTests {
  @Test("laws 8, 19: a handler that is installed by a handler gets the request too, once")
  func handlerInstallsHandler() {
    let log = Recorder()
    let promise = Promise<Int>()
    promise.onRequestCancel { [weak promise] _ in
      promise?.recordRequest(log, "inner")
      log("outer")
      return .continue
    }

    promise.future.cancel()

    #expect(log.entries.sorted() == ["inner", "outer"])
  }

  @Test("law 9: a handler on an executor runs also if the promise was completed meanwhile; its answer is too late")
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

    #expect(log.entries == ["called"])
    #expect(promise.future.state == "success(1)")
  }

  @Test("laws 9, 12: handlers of two sources of one join all run before anybody hears of a completion")
  func joinOfTwo() {
    let log = Recorder()
    let first = source(log, "first", answering: .complete(.failure(Oops())))
    let second = source(log, "second", answering: .complete(.success(2)))
    let all = Future.all([first.future, second.future])
    all.observe { log($0.state) }

    all.cancel()

    #expect(log.entries.count == 3)
    #expect(log.entries.last == "failure(oops)")
  }

  @Test("law 9: a weaker request after a stronger one that is only stored is a duplicate")
  func weakerStored() {
    let promise = Promise<Int>()
    promise.future.cancel()

    #expect(promise.future.cancel(.doNotForwardRequest).effect == .duplicate)
    #expect(promise.future.cancel(.doNotForwardIfOthersWaiting).effect == .duplicate)
  }

  @Test("law 9: a request from another branch that is not stronger is a duplicate at the source")
  func otherBranch() {
    let log = Recorder()
    let promise = source(log)
    let first = promise.future.map { $0 }
    let second = promise.future.map { $0 }
    first.cancel(reason: "first")

    second.cancel(reason: "second")

    #expect(log.entries == ["source: plain"])
    #expect(promise.cancelRequest?.reason.message == "first")
    #expect(second.cancelRequest?.reason.message == "second")
  }

  @Test("law 1: an executor that runs a job twice runs the body once")
  func twice() {
    let log = Recorder()
    let executor = FutureExecutor.custom { job in
      job()
      job()
    }

    let mapped = Future.succeeded(1).map(on: executor) { log("map", passing: $0) }
    let ensured = Future.succeeded(2).ensure(on: executor) { log("ensure") }
    let completed = Future.succeeded(3).onComplete(on: executor) { outcome in
      .succeeded(log("onComplete \(outcome.state)", passing: 4))
    }

    #expect(log.entries == ["map", "ensure", "onComplete success(3)"])
    #expect([mapped, ensured, completed].states() == ["success(1)", "success(2)", "success(4)"])
  }

  @Test("law 16, for executors: one that drops its jobs leaves no future that hangs", arguments: 0..<4)
  func dropped(index: Int) {
    // The laws speak of promises only; a body whose executor is gone is the same to who waits for it.
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
    #expect(log.entries == [])
    #expect(census.alive == 0)
  }

  @Test("law 5: a body that always runs does so once, whether it is forced before or after it is queued")
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

    #expect(log.entries.sorted() == ["after", "before"])
    #expect([before.state, after.state] == ["cancelled", "cancelled"])
  }

  @Test(
    "law 20, for every operator: thousands of them complete, are cancelled, forced, and dropped", arguments: Step.every)
  func deep(step: Step) {
    let log = Recorder()
    // More than a recursion could bear on 512 KiB, for each of 17 operators.
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
      let polite = Promise<Int>()
      let politeTail = chain(polite)
      let other = polite.future.map { $0 }
      politeTail.cancel(.doNotForwardIfOthersWaiting)
      let forced = Promise<Int>()
      let forcedTail = chain(forced)
      forcedTail.cancel(.forceImmediately)
      let droppedTail = chain(Promise<Int>())

      for future in [completedTail, askedTail, politeTail, other, forcedTail] { log(future.state) }
      log("\(droppedTail.outcomeIfCompleted?.error is BrokenPromise)")
    }
    #expect(log.entries == ["success(1)", "cancelled", "cancelled", "pending", "cancelled", "true"])
  }
}

extension Promise where Value == Int {
  /// A handler that writes its name and answers `.continue`.
  @discardableResult
  fileprivate func recordRequest(_ log: Recorder, _ name: String) -> CancelHandler {
    onRequestCancel { _ in
      log(name)
      return .continue
    }
  }
}
