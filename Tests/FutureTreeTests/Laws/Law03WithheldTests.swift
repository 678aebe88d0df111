import FutureTree
import TestSupport
import Testing

@Suite("Law 3: what was withheld is delivered once")
struct Law03WithheldTests {
  @Test("when the remaining consumers withdraw, what was withheld is delivered once")
  func deliveredOnce() {
    let log = Recorder()
    let promise = source(log)
    let first = promise.future.map { $0 }
    let second = promise.future.map { $0 }
    let third = promise.future.map { $0 }

    first.cancel(.doNotForwardIfOthersWaiting)
    second.cancel(.doNotForwardIfOthersWaiting)
    #expect(log.entries == [])
    third.cancel(.doNotForwardIfOthersWaiting)
    third.cancel(.doNotForwardIfOthersWaiting)

    #expect(log.entries == ["source: ifOthers"])
    // The last asker's request arrived: its branch waits for the answer, the others ended when they were withheld.
    #expect([first.state, second.state, third.state] == ["cancelled", "cancelled", "pending"])
  }

  @Test("it keeps its own options and reason")
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

    #expect(log.entries == ["ifOthers mine"])
    #expect(promise.cancelRequest?.reason.message == "mine")
  }

  @Test("among equals the earliest is delivered, also if the last consumer asks with another reason")
  func earliestAmongEquals() {
    // Two readings: the last asker's request passes by itself, or joins those that were withheld. "What was withheld
    // is delivered once: the earliest among equals" makes the last asker's an equal of the others.
    let promise = Promise<Int>()
    let tokens = (1...3).map { _ in promise.future.cancelToken() }

    tokens[0].cancel(.doNotForwardIfOthersWaiting, reason: "first")
    tokens[1].cancel(.doNotForwardIfOthersWaiting, reason: "second")
    tokens[2].cancel(.doNotForwardIfOthersWaiting, reason: "third")

    #expect(promise.cancelRequest?.reason.message == "first")
  }

  @Test("the strongest is delivered, also if a weaker one came earlier")
  func strongest() {
    let promise = Promise<Int>()
    let shared = promise.future.shared()
    let first = shared.cancelToken()
    let second = shared.cancelToken()
    let last = Locked<CancelToken?>(shared.cancelToken())

    first.cancel(.doNotForwardIfOthersWaiting, reason: "weak")
    second.cancel(reason: "strong")
    last.value = nil

    #expect(promise.cancelRequest?.reason.message == "strong")
    #expect(promise.cancelRequest?.options == [])
  }

  @Test("force that was withheld is applied when it is delivered")
  func withheldForce() {
    let promise = Promise<Int>()
    let token = promise.future.cancelToken()
    let other = Locked<CancelToken?>(promise.future.cancelToken())

    token.cancel([.doNotForwardIfOthersWaiting, .forceImmediately], reason: "now")
    #expect(promise.future.state == "pending")
    other.value = nil

    #expect(promise.future.state == "cancelled")
    #expect(promise.future.reason?.message == "now")
  }

  @Test("a consumer that comes later holds back what is withheld, as one that was there")
  func laterConsumer() {
    let log = Recorder()
    let promise = source(log)
    let asker = promise.future.cancelToken()
    let other = Locked<CancelToken?>(promise.future.cancelToken())
    asker.cancel(.doNotForwardIfOthersWaiting)
    let late = promise.future.map { $0 }

    other.value = nil
    #expect(log.entries == [])
    late.cancel(.doNotForwardRequest)

    #expect(log.entries == ["source: ifOthers"])
  }

  @Test("two consumers of a future that waits on an inner one are two there, and one below")
  func throughFlatMap() {
    let log = Recorder()
    let outer = Promise<Int>()
    let inner = source(log, "inner")
    let joined = outer.future.flatMap { _ in inner.future }
    let first = joined.map { $0 }
    let second = joined.map { $0 }
    outer.succeed(1)

    first.cancel(.doNotForwardIfOthersWaiting)
    #expect(log.entries == [])
    second.cancel(.doNotForwardIfOthersWaiting)

    #expect(log.entries == ["inner: ifOthers"])
  }

  @Test("a withheld request changes nothing if the future completes")
  func withheldThenCompleted() {
    let log = Recorder()
    let promise = source(log)
    let asker = promise.future.map { $0 }
    let other = promise.future.map { $0 }
    asker.cancel(.doNotForwardIfOthersWaiting)

    promise.succeed(1)

    #expect([promise.future.state, asker.state, other.state] == ["success(1)", "cancelled", "success(1)"])
    #expect(log.entries == [])
  }
}
