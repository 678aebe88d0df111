import FutureTree
import TestSupport
import Testing

@Suite("Law 16: a dropped promise", .tags(.law16))
struct Law16DroppedPromiseTests {
  /// Makes a promise, passes it to `use`, and drops it.
  private func drop(_ use: (Promise<Int>) -> Void = { _ in }) -> Future<Int> {
    let promise = Promise<Int>()
    use(promise)
    return promise.future
  }

  @Test("A dropped promise completes its future with BrokenPromise, which names the file and line that created it")
  func broken() throws {
    let line: UInt = #line + 2
    func makeFuture() -> Future<Int> {
      let promise = Promise<Int>()
      return promise.future
    }

    let future = makeFuture()

    let error = try #require(future.outcomeIfCompleted?.error as? BrokenPromise)
    expectEqual(error.fileID.description, "FutureTreeTests/Law16DroppedPromiseTests.swift")
    expectEqual(error.line, line)
    #expect(String(describing: error).contains("Law16DroppedPromiseTests.swift:\(line)"))
  }

  @Test("A dropped promise with a request completes its future cancelled, with the reason of the request")
  func asked() {
    let future = drop { $0.future.cancel(reason: "asked") }

    expectEqual(future.state, "cancelled")
    expectEqual(future.reason?.message, "asked")
  }

  @Test("A dropped promise completes its future cancelled if a handler answered continue")
  func continued() {
    let log = Recorder()
    let future = drop { promise in
      promise.onRequestCancel { _ in
        log("called")
        return .continue
      }
      promise.future.cancel()
    }

    expectEqual(log.entries, ["called"])
    expectEqual(future.state, "cancelled")
  }

  @Test("A dropped promise with only a withheld request completes its future with BrokenPromise")
  func withheld() {
    let consumer = Locked<Future<Int>?>(nil)
    let future = drop { promise in
      consumer.value = promise.future.map { $0 }
      promise.future.cancel(.doNotForwardIfOthersWaiting)
    }

    #expect(future.outcomeIfCompleted?.error is BrokenPromise)
    #expect(consumer.value?.outcomeIfCompleted?.error is BrokenPromise)
  }

  @Test("The handlers of a dropped promise are not called, and are released")
  func handlers() {
    let log = Recorder()
    let census = Census()
    func install(_ probe: Probe, on promise: Promise<Int>) {
      promise.onRequestCancel { _ in
        probe.touch()
        log("called")
        return .continue
      }
    }

    let future = drop { install(census.probe(), on: $0) }

    #expect(future.outcomeIfCompleted?.error is BrokenPromise)
    expectEqual(log.entries, [])
    expectEqual(census.alive, 0)
  }

  @Test("Every consumer and observer of a dropped promise is notified")
  func consumersAreNotified() {
    let log = Recorder()
    let tails = Locked<[Future<Int>]>([])

    _ = drop { promise in
      let futures = Step.every.map { $0.apply(promise.future) }
      tails.withLock { $0 = futures }
      promise.future.observe { log(($0.error is BrokenPromise) ? "broken" : $0.state) }
    }

    expectEqual(log.entries, ["broken"])
    #expect(tails.value.allSatisfy { $0.outcomeIfCompleted?.error is BrokenPromise })
  }

  @Test("A dropped promise without a reference to its future causes no crash")
  func withoutFuture() {
    _ = Promise<Int>()
    _ = Promise<Int>().future
  }

  @Test("The drop of a completed or sealed promise changes nothing")
  func completed() {
    let inner = Promise<Int>()
    let succeeded = drop { $0.succeed(1) }
    let sealed = drop { $0.complete(.completeUsing(inner.future)) }

    expectEqual(succeeded.state, "success(1)")
    expectEqual(sealed.state, "pending")
    inner.succeed(2)
    expectEqual(sealed.state, "success(2)")
  }

  @Test("A retained request does not retain the promise, and its completion is too late")
  func retainedRequest() {
    let received = Locked<ReceivedCancelRequest<Int>?>(nil)
    let future = drop { promise in
      promise.onRequestCancel { request in
        received.value = request
        return .continue
      }
      promise.future.cancel()
    }

    let won = received.value?.complete(.success(1))

    expectEqual(won, false)
    expectEqual(future.state, "cancelled")
  }

  @Test("A promise dropped inside its own handler completes cancelled")
  func insideHandler() {
    let log = Recorder()
    let box = Locked<Promise<Int>?>(Promise<Int>())
    let future = box.value!.future
    box.value?.onRequestCancel { _ in
      let last = box.withLock { $0.take() }
      log(last == nil ? "gone" : "dropped")
      return .continue
    }

    future.cancel()

    expectEqual(log.entries, ["dropped"])
    expectEqual(future.state, "cancelled")
  }

  @Test("A function that makes promises for others can pass their file and line")
  func givenFileAndLine() {
    func makeFuture(fileID: String = #fileID, line: UInt = #line) -> Future<Int> {
      Promise<Int>(fileID: fileID, line: line).future
    }
    let line: UInt = #line + 1
    let future = makeFuture()

    let error = future.outcomeIfCompleted?.error as? BrokenPromise

    expectEqual(error?.line, line)
  }
}
