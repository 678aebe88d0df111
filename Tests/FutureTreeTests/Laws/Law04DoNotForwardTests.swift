import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

@Suite("Law 4: this future only", .tags(.law04))
struct Law04DoNotForwardTests {
  @Test("A derived future detaches and completes cancelled at once, without a request upstream", arguments: Step.every)
  func derivedDetaches(step: Step) {
    let log = Recorder()
    let promise = source(log)
    // The step `all` is a join with a map behind it: the map is the target.
    let derived = step.apply(promise.future)

    derived.cancel(.doNotForwardRequest, reason: "alone")

    expectEqual(derived.state, "cancelled")
    expectEqual(derived.reason?.message, "alone")
    expectEqual(log.entries, [])
    #expect(promise.future.cancelRequest == nil)
    expectEqual(promise.future.state, "pending")
  }

  @Test("A detached future has no interest: the request of the other consumer is delivered", arguments: Step.every)
  func interestWithdrawn(step: Step) {
    let log = Recorder()
    let promise = source(log)
    let derived = step.apply(promise.future)
    let other = promise.future.map { $0 }

    derived.cancel(.doNotForwardRequest)
    other.cancel(.doNotForwardIfOthersWaiting)

    expectEqual(log.entries, ["source: ifOthers"])
  }

  @Test("The last consumer that detaches delivers the withheld request")
  func deliversWithheld() {
    let log = Recorder()
    let promise = source(log)
    let requester = promise.future.map { $0 }
    let last = promise.future.map { $0 }
    requester.cancel(.doNotForwardIfOthersWaiting)

    last.cancel(.doNotForwardRequest)

    expectEqual(log.entries, ["source: ifOthers"])
    expectEqual(last.state, "cancelled")
  }

  @Test("A source runs its own handlers, and their answers apply")
  func sourceRunsHandlers() {
    let log = Recorder()
    let continuing = source(log, "continuing")
    let answering = source(log, "answering", answering: .complete(.success(5)))

    continuing.future.cancel(.doNotForwardRequest)
    answering.future.cancel(.doNotForwardRequest)

    expectEqual(log.entries, ["continuing: doNotForward", "answering: doNotForward"])
    expectEqual([continuing.future.state, answering.future.state], ["pending", "success(5)"])
  }

  @Test("A request that detaches a derived future does not use up a later request to the source")
  func laterRequestToSource() {
    let log = Recorder()
    let promise = source(log)
    let derived = promise.future.map { $0 }
    derived.cancel(.doNotForwardRequest)

    let receipt = promise.future.cancel()

    expectEqual(receipt.effect, .delivered)
    expectEqual(log.entries, ["source: plain"])
  }

  @Test("A request to a source does not use up a stronger one: a handler installed later receives the stronger request")
  func laterRequestOnSource() {
    let log = Recorder()
    let promise = source(log)
    promise.future.cancel(.doNotForwardRequest)

    let receipt = promise.future.cancel()
    promise.onRequestCancel { request in
      log("later: \(request.options.text)")
      return .continue
    }

    #expect(receipt.effect != .duplicate)
    expectEqual(log.entries, ["source: doNotForward", "later: plain"])
  }

  @Test("A sealed source detaches: the future it was sealed onto is not asked")
  func sealedSource() {
    let log = Recorder()
    let inner = source(log, "inner")
    let outer = Promise<Int>()
    outer.complete(.completeUsing(inner.future))

    outer.future.cancel(.doNotForwardRequest)

    // A sealed promise waits for another future, as a derived future does: it detaches from that future.
    expectEqual(log.entries, [])
    #expect(inner.future.cancelRequest == nil)
    expectEqual(outer.future.state, "cancelled")
  }

  @Test("Consumers of a detached future complete cancelled, and the rest of the tree continues")
  func consumers() {
    let promise = Promise<Int>()
    let middle = promise.future.map { $0 }
    let consumer = middle.map { $0 }
    let sibling = promise.future.map { $0 }

    middle.cancel(.doNotForwardRequest)
    promise.succeed(1)

    expectEqual([middle.state, consumer.state, sibling.state], ["cancelled", "cancelled", "success(1)"])
  }

  @Test("The body of a detached future does not run when its former upstream completes")
  func bodyDoesNotRun() {
    let log = Recorder()
    let promise = Promise<Int>()
    let derived = promise.future.map { _ in log("body") }

    derived.cancel(.doNotForwardRequest)
    promise.succeed(1)

    expectEqual(log.entries, [])
    expectEqual(derived.state, "cancelled")
  }

  @Test("A future that waits for an inner future detaches from it")
  func inner() {
    let log = Recorder()
    let inner = source(log, "inner")
    let derived = Future.succeeded(1).flatMap { _ in inner.future }

    derived.cancel(.doNotForwardRequest)

    expectEqual(derived.state, "cancelled")
    expectEqual(log.entries, [])
    expectEqual(inner.future.cancel(.doNotForwardIfOthersWaiting).effect, .delivered)
  }

  @Test("A join detaches from all its inputs")
  func join() {
    let log = Recorder()
    let first = source(log, "first")
    let second = source(log, "second")
    let all = Future.all([first.future, second.future])

    all.cancel(.doNotForwardRequest)

    expectEqual(all.state, "cancelled")
    expectEqual(log.entries, [])
    expectEqual(first.future.cancel(.doNotForwardIfOthersWaiting).effect, .delivered)
    expectEqual(second.future.cancel(.doNotForwardIfOthersWaiting).effect, .delivered)
  }
}
