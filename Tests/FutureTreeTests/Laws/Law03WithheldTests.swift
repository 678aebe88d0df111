import FutureTree
import TestSupport
import Testing

@Suite("Law 3: stopping where others wait, withheld requests", .tags(.law03))
struct Law03WithheldTests {
  @Test("A withheld request is delivered once when the remaining consumers withdraw")
  func deliveredOnce() {
    let log = Recorder()
    let promise = source(log)
    let first = promise.future.map { $0 }
    let second = promise.future.map { $0 }
    let third = promise.future.map { $0 }

    first.cancel(.doNotForwardIfOthersWaiting)
    second.cancel(.doNotForwardIfOthersWaiting)
    expectEqual(log.entries, [])
    third.cancel(.doNotForwardIfOthersWaiting)
    third.cancel(.doNotForwardIfOthersWaiting)

    expectEqual(log.entries, ["source: ifOthers"])
    // The last request arrived: its branch waits for the outcome. The others ended when they were withheld.
    expectEqual([first.state, second.state, third.state], ["cancelled", "cancelled", "pending"])
  }

  @Test("A withheld request keeps its own options and reason")
  func ownOptionsAndReason() {
    let log = Recorder()
    let promise = Promise<Int>()
    promise.onRequestCancel { request in
      log("\(request.options.text) \(request.reason.message)")
      return .continue
    }
    let token = promise.future.cancelToken()
    let other = Locked<CancelToken?>(promise.future.cancelToken())

    token.cancel(.doNotForwardIfOthersWaiting, reason: "mine")
    other.value = nil

    expectEqual(log.entries, ["ifOthers mine"])
    expectEqual(promise.cancelRequest?.reason.message, "mine")
  }

  @Test("The earliest of equal requests is delivered, even if the last consumer requests with another reason")
  func earliestAmongEquals() {
    // Two readings: the last request is delivered by itself, or joins the withheld requests. By the law the earliest of
    // equal requests is delivered once: the last request is an equal of the others.
    let promise = Promise<Int>()
    let tokens = (1...3).map { _ in promise.future.cancelToken() }

    tokens[0].cancel(.doNotForwardIfOthersWaiting, reason: "first")
    tokens[1].cancel(.doNotForwardIfOthersWaiting, reason: "second")
    tokens[2].cancel(.doNotForwardIfOthersWaiting, reason: "third")

    expectEqual(promise.cancelRequest?.reason.message, "first")
  }

  @Test("The strongest withheld request is delivered, even if a weaker request came earlier")
  func strongest() {
    let promise = Promise<Int>()
    let shared = promise.future.shared()
    let first = shared.cancelToken()
    let second = shared.cancelToken()
    let last = Locked<CancelToken?>(shared.cancelToken())

    first.cancel(.doNotForwardIfOthersWaiting, reason: "weak")
    second.cancel(reason: "strong")
    last.value = nil

    expectEqual(promise.cancelRequest?.reason.message, "strong")
    expectEqual(promise.cancelRequest?.options, [])
  }

  @Test("A withheld request with force is applied when it is delivered")
  func withheldForce() {
    let promise = Promise<Int>()
    let token = promise.future.cancelToken()
    let other = Locked<CancelToken?>(promise.future.cancelToken())

    token.cancel([.doNotForwardIfOthersWaiting, .forceImmediately], reason: "now")
    expectEqual(promise.future.state, "pending")
    other.value = nil

    expectEqual(promise.future.state, "cancelled")
    expectEqual(promise.future.reason?.message, "now")
  }

  @Test("A consumer that subscribes later withholds an earlier request as well")
  func laterConsumer() {
    let log = Recorder()
    let promise = source(log)
    let requester = promise.future.cancelToken()
    let other = Locked<CancelToken?>(promise.future.cancelToken())
    requester.cancel(.doNotForwardIfOthersWaiting)
    let late = promise.future.map { $0 }

    other.value = nil
    expectEqual(log.entries, [])
    late.cancel(.doNotForwardRequest)

    expectEqual(log.entries, ["source: ifOthers"])
  }

  @Test("Two consumers of a future with an inner future count as one consumer of the inner future")
  func throughFlatMap() {
    let log = Recorder()
    let outer = Promise<Int>()
    let inner = source(log, "inner")
    let joined = outer.future.flatMap { _ in inner.future }
    let first = joined.map { $0 }
    let second = joined.map { $0 }
    outer.succeed(1)

    first.cancel(.doNotForwardIfOthersWaiting)
    expectEqual(log.entries, [])
    second.cancel(.doNotForwardIfOthersWaiting)

    expectEqual(log.entries, ["inner: ifOthers"])
  }

  @Test("A withheld request changes nothing if the future completes")
  func withheldThenCompleted() {
    let log = Recorder()
    let promise = source(log)
    let requester = promise.future.map { $0 }
    let other = promise.future.map { $0 }
    requester.cancel(.doNotForwardIfOthersWaiting)

    promise.succeed(1)

    expectEqual([promise.future.state, requester.state, other.state], ["success(1)", "cancelled", "success(1)"])
    expectEqual(log.entries, [])
  }
}
