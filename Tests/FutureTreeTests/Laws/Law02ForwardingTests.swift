import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

@Suite("Law 2: forwarding", .tags(.law02))
struct Law02ForwardingTests {
  @Test("A request with no options goes through every operator, which waits for the outcome", arguments: Step.every)
  func throughOperator(step: Step) {
    let log = Recorder()
    let promise = source(log)
    let derived = step.apply(promise.future)

    derived.cancel()

    expectEqual(log.entries, ["source: plain"])
    expectEqual(derived.state, "pending")
    expectEqual(promise.future.state, "pending")
    promise.completeCancelled("done")
    expectEqual(derived.state, "cancelled")
    // `allSettled` takes the reason of its own request. Every other operator passes the reason of the source.
    expectEqual(derived.reason?.message, step.testDescription == "allSettled" ? "no reason given" : "done")
  }

  @Test("Every future on the path records the request", arguments: Step.every)
  func everyFutureKnows(step: Step) {
    let promise = Promise<Int>()
    let derived = step.apply(promise.future)

    derived.cancel(reason: "enough")

    expectEqual(derived.cancelRequest?.reason.message, "enough")
    expectEqual(promise.future.cancelRequest?.reason.message, "enough")
    expectEqual(promise.cancelRequest?.options, [])
  }

  @Test("A request is forwarded where other consumers wait, and all receive the outcome", arguments: Step.every)
  func othersWait(step: Step) {
    let log = Recorder()
    let promise = source(log, answering: .complete(.cancelled))
    let derived = step.apply(promise.future)
    let other = promise.future.map { $0 + 1 }
    let token = promise.future.cancelToken()

    derived.cancel()

    expectEqual(log.entries, ["source: plain"])
    expectEqual(derived.state, "cancelled")
    expectEqual(other.state, "cancelled")
    withExtendedLifetime(token) {}
  }

  @Test("A request through a stack of every operator is delivered once")
  func throughAll() {
    let log = Recorder()
    let promise = source(log)
    let tail = Step.every.reduce(promise.future) { future, step in step.apply(future) }

    let receipt = tail.cancel()

    expectEqual(log.entries, ["source: plain"])
    expectEqual(receipt.effect, .delivered)
    promise.completeCancelled()
    expectEqual(tail.state, "cancelled")
  }

  @Test("A join forwards to every input that has not completed")
  func join() {
    let log = Recorder()
    let first = source(log, "first")
    let second = source(log, "second")
    let third = source(log, "third")
    let all = Future.all([first.future, second.future, third.future])
    second.succeed(2)

    all.cancel()

    expectEqual(log.entries.sorted(), ["first: plain", "third: plain"])
    expectEqual(all.state, "pending")
    first.completeCancelled()
    expectEqual(all.state, "cancelled")
  }

  @Test("A request goes to the inner future, and not to the completed outer future")
  func innerFuture() {
    let log = Recorder()
    let outer = source(log, "outer")
    let inner = source(log, "inner")
    let derived = outer.future.flatMap { _ in inner.future }
    outer.succeed(1)

    derived.cancel()

    expectEqual(log.entries, ["inner: plain"])
    inner.completeCancelled()
    expectEqual(derived.state, "cancelled")
  }

  @Test("A request goes through a promise that was sealed onto another future")
  func sealed() {
    let log = Recorder()
    let inner = source(log, "inner")
    let outer = Promise<Int>()
    outer.complete(.completeUsing(inner.future))

    outer.future.cancel()

    expectEqual(log.entries, ["inner: plain"])
  }

  @Test("The executor of an operator on the path does not delay the request")
  func executorsDoNotForward() {
    let log = Recorder()
    let executor = ManualExecutor()
    let promise = source(log)
    let derived = promise.future.map(on: executor.executor) { $0 }.ensure(on: executor.executor) {}

    derived.cancel()

    expectEqual(log.entries, ["source: plain"])
  }

  @Test("A token forwards as its future does")
  func token() {
    let log = Recorder()
    let promise = source(log)
    let derived = promise.future.map { $0 }
    let other = promise.future.map { $0 }

    derived.cancelToken().cancel()

    expectEqual(log.entries, ["source: plain"])
    #expect(other.cancelRequest == nil)
  }

  @Test("A request goes upstream only: siblings and consumers do not receive it")
  func upstreamOnly() {
    let promise = Promise<Int>()
    let middle = promise.future.map { $0 }
    let consumer = middle.map { $0 }
    let sibling = promise.future.map { $0 }

    middle.cancel()

    #expect(promise.future.cancelRequest != nil)
    #expect(consumer.cancelRequest == nil)
    #expect(sibling.cancelRequest == nil)
  }
}
