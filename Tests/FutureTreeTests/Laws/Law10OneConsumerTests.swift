import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

@Suite("Law 10: one consumer, one count", .tags(.law10))
struct Law10OneConsumerTests {
  /// The effect of a request that the consumers of `future` withhold. It leaves a withheld request behind.
  private func consumers(of future: Future<Int>) -> CancelReceipt.Effect {
    future.cancel(.doNotForwardIfOthersWaiting).effect
  }

  @Test("Each operator is one consumer of its upstream", arguments: Step.every)
  func oneEach(step: Step) {
    let promise = Promise<Int>()
    let derived = step.apply(promise.future)

    expectEqual(consumers(of: promise.future), .withheld(by: 1))
    withExtendedLifetime(derived) {}
  }

  @Test("A future that waits first for an outer and then for an inner future is one consumer of each in turn")
  func inTurn() {
    let outer = Promise<Int>()
    let inner = Promise<Int>()
    let derived = outer.future.flatMap { _ in inner.future }
    let before = consumers(of: outer.future)
    let other = inner.future.map { $0 }
    expectEqual(consumers(of: inner.future), .withheld(by: 1))

    outer.succeed(1)

    expectEqual(before, .withheld(by: 1))
    expectEqual(consumers(of: inner.future), .withheld(by: 2))
    withExtendedLifetime((derived, other)) {}
  }

  @Test("A sealed promise is one consumer of the future it is sealed onto")
  func sealed() {
    let promise = Promise<Int>()
    let inner = Promise<Int>()

    promise.complete(.completeUsing(inner.future))

    expectEqual(consumers(of: inner.future), .withheld(by: 1))
  }

  @Test("A join that lists a future twice is one consumer of it")
  func listedTwice() {
    // Two readings: one consumer for each element of the list, or one in all. By the law each derived future is one
    // consumer, however often it is linked.
    let promise = Promise<Int>()

    let all = Future.all([promise.future, promise.future])

    expectEqual(consumers(of: promise.future), .withheld(by: 1))
    promise.succeed(1)
    expectEqual(all.state, "success([1, 1])")
  }

  @Test("A request goes to the future that the target waits for now")
  func waitsOnNow() {
    let log = Recorder()
    let outer = source(log, "outer")
    let inner = source(log, "inner")
    let before = outer.future.flatMap { _ in inner.future }
    before.cancel()
    expectEqual(log.entries, ["outer: plain"])

    let after = Future.succeeded(1).flatMap { _ in inner.future }
    after.cancel()

    expectEqual(log.entries, ["outer: plain", "inner: plain"])
  }

  @Test("A derived future counts from its creation, without a consumer of its own")
  func fromWhenMade() {
    let promise = Promise<Int>()
    let derived = promise.future.map { $0 }.map { $0 }

    expectEqual(consumers(of: promise.future), .withheld(by: 1))
    withExtendedLifetime(derived) {}
  }

  @Test("Dropping the handle of a derived future withdraws nothing")
  func droppedHandle() {
    let log = Recorder()
    let promise = source(log)
    do {
      _ = promise.future.map { value in log("body \(value)") }
    }

    expectEqual(consumers(of: promise.future), .withheld(by: 1))
    promise.succeed(1)
    expectEqual(log.entries, ["body 1"])
  }

  @Test("A detached future no longer counts")
  func detached() {
    let promise = Promise<Int>()
    let derived = promise.future.map { $0 }

    derived.cancel(.doNotForwardRequest)

    expectEqual(consumers(of: promise.future), .stored)
  }

  @Test("A completed future no longer counts, even if it was forced")
  func completed() {
    let inner = Promise<Int>()
    let shared = inner.future.shared()
    let forced = shared.map { $0 }
    let other = shared.map { $0 }

    forced.cancel(.forceImmediately)

    expectEqual(consumers(of: shared), .withheld(by: 1))
    withExtendedLifetime(other) {}
  }

  @Test("A future whose last consumer withdrew has no interest itself, up to the source")
  func losesInterest() {
    let log = Recorder()
    let promise = source(log)
    let middle = promise.future.map { $0 }.map { $0 }
    let consumer = middle.map { $0 }
    let other = promise.future.map { $0 }

    consumer.cancel(.doNotForwardRequest)
    expectEqual(log.entries, [])
    #expect(middle.cancelRequest == nil)
    other.cancel(.doNotForwardIfOthersWaiting)

    expectEqual(log.entries, ["source: ifOthers"])
    expectEqual(middle.state, "pending")
  }

  @Test("A future whose last token was dropped has no interest itself")
  func losesInterestAfterToken() {
    let log = Recorder()
    let promise = source(log)
    let middle = promise.future.map { $0 }
    let token = Locked<CancelToken?>(middle.cancelToken())
    let other = promise.future.map { $0 }

    token.value = nil
    expectEqual(log.entries, [])
    other.cancel(.doNotForwardIfOthersWaiting)

    expectEqual(log.entries, ["source: ifOthers"])
  }

  @Test("A withdrawal up to the source delivers the request withheld there")
  func withdrawalDelivers() {
    let log = Recorder()
    let promise = source(log)
    let middle = promise.future.map { $0 }
    let consumer = middle.map { $0 }
    let other = promise.future.map { $0 }
    other.cancel(.doNotForwardIfOthersWaiting)
    expectEqual(log.entries, [])

    consumer.cancel(.doNotForwardRequest)

    expectEqual(log.entries, ["source: ifOthers"])
    #expect(middle.cancelRequest == nil)
  }

  @Test("A future that gains a consumer again has interest again")
  func interestAgain() {
    let log = Recorder()
    let promise = source(log)
    let middle = promise.future.map { $0 }
    middle.map { $0 }.cancel(.doNotForwardRequest)
    let again = middle.map { $0 }

    let receipt = promise.future.cancel(.doNotForwardIfOthersWaiting)

    expectEqual(receipt.effect, .withheld(by: 1))
    expectEqual(log.entries, [])
    withExtendedLifetime(again) {}
  }

  @Test("A future without interest still receives its value")
  func stillGetsItsValue() {
    let promise = Promise<Int>()
    let middle = promise.future.map { $0 + 1 }
    middle.map { $0 }.cancel(.doNotForwardRequest)

    promise.succeed(1)

    expectEqual(middle.state, "success(2)")
  }

  @Test("A consumer that withdraws leaves the interest of another consumer")
  func oneOfTwo() {
    let log = Recorder()
    let promise = source(log)
    let middle = promise.future.map { $0 }
    let first = middle.map { $0 }
    let second = middle.map { $0 }

    first.cancel(.doNotForwardRequest)

    expectEqual(consumers(of: promise.future), .withheld(by: 1))
    expectEqual(log.entries, [])
    withExtendedLifetime(second) {}
  }

  @Test("Consumers of every kind are notified in the order in which they subscribed")
  func order() {
    let log = Recorder()
    let promise = Promise<Int>()
    let expected = (0..<60).map { "\($0)" }
    var retained: [Future<Int>] = []
    for index in 0..<60 {
      let future = promise.future
      switch index % 6 {
      case 0: retained.append(future.map { log("\(index)", passing: $0) })
      case 1: retained.append(future.ensure { log("\(index)") })
      case 2: future.observe { _ in log("\(index)") }
      case 3: retained.append(future.flatMap { .succeeded(log("\(index)", passing: $0)) })
      case 4: retained.append(future.onComplete { outcome in Completion(log("\(index)", passing: outcome)) })
      default: retained.append(future.onSuccess { .succeeded(log("\(index)", passing: $0)) })
      }
    }

    promise.succeed(1)

    expectEqual(log.entries, expected)
    #expect(!retained.states().contains("pending"))
  }

  @Test("An executor receives bodies in the order in which they were attached")
  func orderOnExecutor() {
    let log = Recorder()
    let executor = ManualExecutor()
    let promise = Promise<Int>()
    let futures = (0..<20).map { index in
      promise.future.map(on: executor.executor) { _ in log("\(index)") }
    }

    promise.succeed(1)
    executor.runAll()

    expectEqual(log.entries, (0..<20).map { "\($0)" })
    #expect(!futures.states().contains("pending"))
  }
}
