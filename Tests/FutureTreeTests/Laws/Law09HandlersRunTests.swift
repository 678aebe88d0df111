import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

@Suite("Law 9: handlers run", .tags(.law09))
struct Law09HandlersRunTests {
  @Test("Another thread can use the future while a handler runs")
  func outsideLocks() {
    let log = Recorder()
    let promise = Promise<Int>()
    let future = promise.future
    promise.onRequestCancel { _ in
      onAnotherThread {
        log(future.state)
        future.map { $0 }.cancel(.doNotForwardRequest)
        future.cancelToken().cancel(.doNotForwardIfOthersWaiting)
      }
      return .continue
    }

    future.cancel()

    expectEqual(log.entries, ["pending"])
  }

  @Test("The handler installed last runs first")
  func lastFirst() {
    let log = Recorder()
    let promise = Promise<Int>()
    for name in ["first", "second", "third"] {
      promise.onRequestCancel { _ in
        log(name)
        return .continue
      }
    }

    promise.future.cancel()

    expectEqual(log.entries, ["third", "second", "first"])
  }

  @Test("Each handler runs at most once, whatever number and strength of requests follow")
  func atMostOnce() {
    let log = Recorder()
    let promise = source(log)
    let future = promise.future

    future.cancel(.doNotForwardRequest)
    future.cancel(.doNotForwardIfOthersWaiting)
    future.cancel()
    future.cancel()
    future.cancelToken().cancel()
    future.cancel(.forceImmediately)

    expectEqual(log.entries, ["source: doNotForward"])
  }

  @Test("All handlers run, even after one of them completed the promise")
  func allRun() {
    let log = Recorder()
    let promise = source(log, "first", answering: .complete(.success(1)))
    promise.onRequestCancel { _ in
      log("second")
      return .complete(.success(2))
    }

    promise.future.cancel()

    expectEqual(log.entries, ["second", "first: plain"])
    expectEqual(promise.future.state, "success(2)")
  }

  @Test("A removed handler does not run, and the others do")
  func removed() {
    let log = Recorder()
    let promise = Promise<Int>()
    let handlers = ["first", "second", "third"].map { name in
      promise.onRequestCancel { _ in
        log(name)
        return .continue
      }
    }

    #expect(handlers[1].remove() && !handlers[1].remove())
    promise.future.cancel()

    expectEqual(log.entries, ["third", "first"])
    #expect(!handlers[0].remove())
  }

  @Test("A handler cannot be removed inside its call, or after the end of its promise")
  func removedLate() {
    let (promise, other, removed) = (Promise<Int>(), Promise<Int>(), Locked<Bool?>(nil))
    let handler = Locked<CancelHandler?>(nil)
    handler.value = promise.onRequestCancel { _ in
      removed.value = handler.value?.remove()
      return .continue
    }
    let released = other.onRequestCancel { _ in .continue }

    promise.future.cancel()
    other.succeed(1)

    expectEqual(removed.value, false)
    #expect(!released.remove())
  }

  @Test("A handler whose handle is dropped still runs")
  func droppedHandle() {
    let log = Recorder()
    let promise = Promise<Int>()
    do {
      let handler = promise.onRequestCancel { _ in
        log("called")
        return .continue
      }
      withExtendedLifetime(handler) {}
    }

    promise.future.cancel()

    expectEqual(log.entries, ["called"])
  }

  @Test("A removed handler is released with its captures")
  func endReleases() {
    let census = Census()
    let promise = Promise<Int>()
    let handler = promise.onRequestCancel(holding: census.probe())
    expectEqual(census.alive, 1)

    handler.remove()

    expectEqual(census.alive, 0)
    expectEqual(promise.future.cancel().effect, .stored)
  }

  @Test("Handlers with an executor run on it, started in the same order")
  func onExecutor() {
    let log = Recorder()
    let executor = ManualExecutor()
    let promise = Promise<Int>()
    for name in ["first", "second"] {
      promise.onRequestCancel(on: executor.executor) { _ in
        log(name)
        return .continue
      }
    }

    let receipt = promise.future.cancel()
    expectEqual(log.entries, [])
    expectEqual(receipt.effect, .delivered)
    executor.runAll()

    expectEqual(log.entries, ["second", "first"])
  }

  @Test("The first completion to arrive decides, not the first handler to start")
  func firstToArrive() {
    let log = Recorder()
    let executor = ManualExecutor()
    let promise = source(log, "here", answering: .complete(.success(1)))
    promise.onRequestCancel(on: executor.executor) { _ in
      log("there")
      return .complete(.success(2))
    }

    promise.future.cancel()
    executor.runAll()

    expectEqual(promise.future.state, "success(1)")
    expectEqual(log.entries, ["here: plain", "there"])
  }

  @Test("200,000 handlers are installed and removed out of order in linear time", .timeLimit(.minutes(20)))
  func constantTime() {
    let log = Recorder()
    let promise = Promise<Int>()
    let handlers = (0..<200_000).map { _ in
      promise.onRequestCancel { _ in
        log("called")
        return .continue
      }
    }

    for index in stride(from: 0, to: handlers.count, by: 2) { handlers[index].remove() }
    for index in stride(from: handlers.count - 1, to: 0, by: -2) { handlers[index].remove() }
    promise.future.cancel()

    expectEqual(log.entries, [])
  }

  static let strengths: [CancellationOptions] = [.doNotForwardRequest, .doNotForwardIfOthersWaiting, []]

  @Test("A request that is not stronger is a duplicate and changes nothing", arguments: 0..<3, 0..<3)
  func strength(first: Int, second: Int) {
    let promise = Promise<Int>()
    promise.onRequestCancel { _ in .continue }
    promise.future.cancel(Self.strengths[first], reason: "first")

    let receipt = promise.future.cancel(Self.strengths[second], reason: "second")

    #expect((receipt.effect == .duplicate) == (second <= first))
    expectEqual(promise.cancelRequest?.options, Self.strengths[max(first, second)])
    expectEqual(promise.cancelRequest?.reason.message, second > first ? "second" : "first")
  }

  @Test("A stronger request is forwarded upstream after a weaker one")
  func strongerGoesOn() {
    let promise = Promise<Int>()
    let derived = promise.future.map { $0 }
    derived.cancel(.doNotForwardIfOthersWaiting, reason: "weak")

    derived.cancel(reason: "strong")
    derived.cancel(reason: "again")

    expectEqual(promise.cancelRequest?.options, [])
    expectEqual(promise.cancelRequest?.reason.message, "strong")
  }

  @Test("Force is applied after every request", arguments: strengths)
  func forceAlways(before: CancellationOptions) {
    let promise = Promise<Int>()
    promise.onRequestCancel { _ in .continue }
    promise.future.cancel(before)

    let receipt = promise.future.cancel(.forceImmediately)

    #expect(receipt.effect != .duplicate)
    expectEqual(promise.future.state, "cancelled")
  }

  @Test("A duplicate changes nothing for a future onto which the promise was sealed since")
  func duplicateAfterSealing() {
    let log = Recorder()
    let inner = source(log, "inner")
    let promise = source(log, "outer", answering: .complete(.completeUsing(inner.future)))
    promise.future.cancel()

    let receipt = promise.future.cancel()

    expectEqual(receipt.effect, .duplicate)
    expectEqual(log.entries, ["outer: plain"])
    #expect(inner.cancelRequest == nil)
  }

  @Test("A stronger request is applied to the future onto which the promise was sealed since")
  func strongerAfterSealing() {
    let log = Recorder()
    let inner = source(log, "inner")
    let promise = source(log, "outer", answering: .complete(.completeUsing(inner.future)))
    promise.future.cancel(.doNotForwardIfOthersWaiting)

    let receipt = promise.future.cancel(reason: "strong")

    expectEqual(receipt.effect, .delivered)
    expectEqual(log.entries, ["outer: ifOthers", "inner: plain"])
    expectEqual(inner.cancelRequest?.reason.message, "strong")
  }

  @Test("A handler that cancels its own future again receives a duplicate, without recursion")
  func recursion() {
    let log = Recorder()
    let promise = Promise<Int>()
    let future = promise.future
    promise.onRequestCancel { _ in
      log("\(future.cancel().effect == .duplicate)")
      return .continue
    }

    future.cancel()

    expectEqual(log.entries, ["true"])
  }

  @Test("A handler installed on a completed promise does not run and is released")
  func afterCompletion() {
    let log = Recorder()
    let census = Census()
    let promise = Promise<Int>()
    promise.succeed(1)
    func install(_ probe: Probe) {
      promise.onRequestCancel { _ in
        probe.touch()
        log("called")
        return .continue
      }
    }

    install(census.probe())
    promise.future.cancel()

    expectEqual(log.entries, [])
    expectEqual(census.alive, 0)
  }
}
