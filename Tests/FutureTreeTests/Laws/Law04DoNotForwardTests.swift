import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

@Suite("Law 4: doNotForwardRequest")
struct Law04DoNotForwardTests {
  @Test("a derived future lets go and completes cancelled at once; nobody is asked", arguments: Step.every)
  func derivedLetsGo(step: Step) {
    let log = Recorder()
    let promise = source(log)
    // `all` of the matrix has a map behind it: there the map is the target.
    let derived = step.apply(promise.future)

    derived.cancel(.doNotForwardRequest, reason: "alone")

    #expect(derived.state == "cancelled")
    #expect(derived.reason?.message == "alone")
    #expect(log.entries == [])
    #expect(promise.future.cancelRequest == nil)
    #expect(promise.future.state == "pending")
  }

  @Test("its interest is withdrawn: what another asks politely is delivered", arguments: Step.every)
  func interestWithdrawn(step: Step) {
    let log = Recorder()
    let promise = source(log)
    let derived = step.apply(promise.future)
    let other = promise.future.map { $0 }

    derived.cancel(.doNotForwardRequest)
    other.cancel(.doNotForwardIfOthersWaiting)

    #expect(log.entries == ["source: ifOthers"])
  }

  @Test("letting go can be the last withdrawal, which delivers what others asked")
  func deliversWithheld() {
    let log = Recorder()
    let promise = source(log)
    let asker = promise.future.map { $0 }
    let last = promise.future.map { $0 }
    asker.cancel(.doNotForwardIfOthersWaiting)

    last.cancel(.doNotForwardRequest)

    #expect(log.entries == ["source: ifOthers"])
    #expect(last.state == "cancelled")
  }

  @Test("a source still runs its own handlers, and their answer counts")
  func sourceRunsHandlers() {
    let log = Recorder()
    let continuing = source(log, "continuing")
    let answering = source(log, "answering", answering: .complete(.success(5)))

    continuing.future.cancel(.doNotForwardRequest)
    answering.future.cancel(.doNotForwardRequest)

    #expect(log.entries == ["continuing: doNotForward", "answering: doNotForward"])
    #expect([continuing.future.state, answering.future.state] == ["pending", "success(5)"])
  }

  @Test("on a derived future it does not use up a later request to the source")
  func laterRequestToSource() {
    let log = Recorder()
    let promise = source(log)
    let derived = promise.future.map { $0 }
    derived.cancel(.doNotForwardRequest)

    let receipt = promise.future.cancel()

    #expect(receipt.effect == .delivered)
    #expect(log.entries == ["source: plain"])
  }

  @Test("on a source it does not use up a later request: a handler installed later gets the stronger one")
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
    #expect(log.entries == ["source: doNotForward", "later: plain"])
  }

  @Test("on a sealed source it concerns this future only: the future sealed onto is not asked")
  func sealedSource() {
    let log = Recorder()
    let inner = source(log, "inner")
    let outer = Promise<Int>()
    outer.complete(.completeUsing(inner.future))

    outer.future.cancel(.doNotForwardRequest)

    // A promise that was sealed waits on another future, as a derived one does: it lets go of that.
    #expect(log.entries == [])
    #expect(inner.future.cancelRequest == nil)
    #expect(outer.future.state == "cancelled")
  }

  @Test("consumers of the future that let go get cancelled; the rest of the tree works on")
  func consumers() {
    let promise = Promise<Int>()
    let middle = promise.future.map { $0 }
    let consumer = middle.map { $0 }
    let sibling = promise.future.map { $0 }

    middle.cancel(.doNotForwardRequest)
    promise.succeed(1)

    #expect([middle.state, consumer.state, sibling.state] == ["cancelled", "cancelled", "success(1)"])
  }

  @Test("the body of a future that let go does not run when its former upstream completes")
  func bodyDoesNotRun() {
    let log = Recorder()
    let promise = Promise<Int>()
    let derived = promise.future.map { _ in log("body") }

    derived.cancel(.doNotForwardRequest)
    promise.succeed(1)

    #expect(log.entries == [])
    #expect(derived.state == "cancelled")
  }

  @Test("a future that waits on an inner one lets go of that")
  func inner() {
    let log = Recorder()
    let inner = source(log, "inner")
    let derived = Future.succeeded(1).flatMap { _ in inner.future }

    derived.cancel(.doNotForwardRequest)

    #expect(derived.state == "cancelled")
    #expect(log.entries == [])
    #expect(inner.future.cancel(.doNotForwardIfOthersWaiting).effect == .delivered)
  }

  @Test("a join lets go of all its inputs")
  func join() {
    let log = Recorder()
    let first = source(log, "first")
    let second = source(log, "second")
    let all = Future.all([first.future, second.future])

    all.cancel(.doNotForwardRequest)

    #expect(all.state == "cancelled")
    #expect(log.entries == [])
    #expect(first.future.cancel(.doNotForwardIfOthersWaiting).effect == .delivered)
    #expect(second.future.cancel(.doNotForwardIfOthersWaiting).effect == .delivered)
  }
}
