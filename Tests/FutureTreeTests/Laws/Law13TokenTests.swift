import FutureTree
import TestSupport
import Testing

@Suite("Law 13: tokens", .tags(.law13))
struct Law13TokenTests {
  @Test("A token is a consumer until it is released")
  func consumer() {
    let promise = Promise<Int>()
    let token = Locked<CancelToken?>(promise.future.cancelToken())
    let other = promise.future.map { $0 }
    expectEqual(promise.future.cancel(.doNotForwardIfOthersWaiting).effect, .withheld(by: 2))

    token.value = nil

    expectEqual(promise.future.cancel(.doNotForwardIfOthersWaiting).effect, .withheld(by: 1))
    withExtendedLifetime(other) {}
  }

  @Test("A dropped token makes no request")
  func dropped() {
    let log = Recorder()
    let promise = source(log)
    let token = Locked<CancelToken?>(promise.future.cancelToken())

    token.value = nil

    expectEqual(log.entries, [])
    #expect(promise.cancelRequest == nil)
    expectEqual(promise.future.state, "pending")
  }

  @Test("The drop of the last token delivers the withheld request of other consumers, once")
  func lastDelivers() {
    let log = Recorder()
    let promise = source(log)
    let tokens = Locked([promise.future.cancelToken(), promise.future.cancelToken(), promise.future.cancelToken()])
    tokens.value[0].cancel(.doNotForwardIfOthersWaiting, reason: "withheld")

    _ = tokens.withLock { $0.removeLast() }
    expectEqual(log.entries, [])
    _ = tokens.withLock { $0.removeLast() }

    expectEqual(log.entries, ["source: ifOthers"])
    expectEqual(promise.cancelRequest?.reason.message, "withheld")
    tokens.value = []
    expectEqual(log.entries, ["source: ifOthers"])
  }

  @Test("A handler may complete its promise inside the deinit of a token")
  func handlerInDeinit() {
    let promise = Promise<Int>()
    let future = promise.future
    promise.onRequestCancel { request in
      _ = future.state
      request.complete(.success(1))
      return .continue
    }
    let requester = future.cancelToken()
    let last = Locked<CancelToken?>(future.cancelToken())
    requester.cancel(.doNotForwardIfOthersWaiting)

    last.value = nil

    expectEqual(future.state, "success(1)")
  }

  @Test("A token that requested makes no further request when it is dropped")
  func requestedAndDropped() {
    let log = Recorder()
    let promise = source(log)
    do {
      let token = promise.future.cancelToken()
      token.cancel()
    }

    expectEqual(log.entries, ["source: plain"])
  }

  @Test("A token can request again, with a stronger request")
  func requestsAgain() {
    let log = Recorder()
    let promise = source(log)
    let token = promise.future.cancelToken()

    let effects = [
      token.cancel(.doNotForwardIfOthersWaiting).effect, token.cancel().effect, token.cancel().effect,
    ]

    expectEqual(effects[0], .delivered)
    #expect(effects[1] != .duplicate)
    expectEqual(effects[2], .duplicate)
    expectEqual(log.entries, ["source: ifOthers"])
  }

  @Test("The request of a token is too late after its future completed")
  func completed() {
    let token = Future.succeeded(1).cancelToken()

    expectEqual(token.cancel().effect, .tooLate(.succeeded))
  }

  @Test("A token of a derived future is a consumer, up to the source")
  func derived() {
    let log = Recorder()
    let promise = source(log)
    let derived = promise.future.map { $0 }
    let first = derived.cancelToken()
    let second = derived.cancelToken()

    first.cancel(.doNotForwardIfOthersWaiting)
    expectEqual(log.entries, [])
    second.cancel(.doNotForwardIfOthersWaiting)

    expectEqual(log.entries, ["source: ifOthers"])
  }

  @Test("A bag cancels its tokens with the given options and reason")
  func bagCancels() {
    let log = Recorder()
    let first = source(log, "first")
    let second = source(log, "second")
    let bag = CancelBag()
    first.future.cancelToken().store(in: bag)
    bag.insert(second.future.cancelToken())
    expectEqual(log.entries, [])

    bag.cancel(.doNotForwardIfOthersWaiting, reason: "told")

    expectEqual(log.entries.sorted(), ["first: ifOthers", "second: ifOthers"])
    expectEqual(first.cancelRequest?.reason.message, "told")
  }

  @Test("A bag cancels its tokens in the order of their insertion", arguments: [true, false])
  func bagOrder(isDropped: Bool) {
    let log = Recorder()
    let promises = (0..<10).map { source(log, "\($0)") }
    let bag = Locked<CancelBag?>(CancelBag())
    for promise in promises { bag.value?.insert(promise.future) }

    if isDropped { bag.value = nil } else { bag.value?.cancel() }

    expectEqual(log.entries.map { String($0.prefix(1)) }, (0..<10).map { "\($0)" })
    withExtendedLifetime((promises, bag)) {}
  }

  @Test("A bag that is deallocated leaves futures with other consumers pending, and cancels the rest")
  func bagLeavesOthers() {
    let log = Recorder()
    let (shared, own) = (source(log, "shared"), source(log, "own"))
    let other = shared.future.map { $0 }
    let bag = Locked<CancelBag?>(CancelBag())
    bag.value?.insert(shared.future.map { $0 })
    bag.value?.insert(own.future.map { $0 })

    bag.value = nil

    expectEqual(log.entries, ["own: ifOthers"])
    #expect(!other.isCompleted)
    expectEqual(own.cancelRequest?.reason.message, "the cancel bag was deallocated")
  }

  @Test("A token inserted after a cancel stays until the next cancel")
  func insertedAfterCancel() {
    let log = Recorder()
    let promise = source(log)
    let bag = CancelBag()

    bag.cancel()
    bag.insert(promise.future)
    expectEqual(log.entries, [])
    bag.cancel()

    expectEqual(log.entries, ["source: plain"])
  }

  @Test("A bag that is deallocated cancels its tokens")
  func bagDropped() {
    let log = Recorder()
    let promise = source(log)
    let bag = Locked<CancelBag?>(CancelBag())
    bag.value?.insert(promise.future.cancelToken())

    bag.value = nil

    expectEqual(log.entries, ["source: ifOthers"])
  }

  @Test("A bag that cancelled its tokens makes no further request when it is deallocated")
  func bagCancelledAndDropped() {
    let log = Recorder()
    let promise = source(log)
    let bag = Locked<CancelBag?>(CancelBag())
    bag.value?.insert(promise.future.cancelToken())

    bag.value?.cancel(.doNotForwardIfOthersWaiting)
    bag.value = nil

    expectEqual(log.entries, ["source: ifOthers"])
    expectEqual(promise.cancelRequest?.options, .doNotForwardIfOthersWaiting)
  }

  @Test("A bag retains its tokens: they are consumers")
  func bagRetains() {
    let promise = Promise<Int>()
    let bag = CancelBag()
    promise.future.cancelToken().store(in: bag)

    expectEqual(promise.future.cancel(.doNotForwardIfOthersWaiting).effect, .withheld(by: 1))
  }

  @Test("A token retains no body and no value after completion")
  func retainsNothing() {
    let census = Census()
    let promise = Promise<Int>()
    func make(_ probe: Probe) -> CancelToken {
      promise.future.map { value in
        probe.touch()
        return value
      }.cancelToken()
    }
    let token = make(census.probe())

    promise.succeed(1)

    expectEqual(census.alive, 0)
    expectEqual(token.cancel().effect, .tooLate(.succeeded))
  }

  @Test("A token that requested cancellation is not a consumer, releases its completed future, and reports the outcome")
  func requestedToken() {
    let census = Census()
    let promise = Promise<Int>()
    func make(_ probe: Probe) -> CancelToken {
      promise.future.onComplete { outcome in
        probe.touch()
        return Completion(outcome)
      }.cancelToken()
    }
    let token = make(census.probe())

    let receipts = [token.cancel(), token.cancel()]
    promise.succeed(1)

    expectEqual(receipts.map(\.effect), [.stored, .duplicate])
    expectEqual(census.alive, 0)
    expectEqual(token.cancel().effect, .tooLate(.succeeded))
  }

  @Test("20,000 tokens of one future are dropped in linear time", .timeLimit(.minutes(20)))
  func manyTokens() {
    let promise = Promise<Int>()
    let tokens = Locked((0..<20_000).map { _ in promise.future.cancelToken() })

    tokens.value = []

    expectEqual(promise.future.cancel(.doNotForwardIfOthersWaiting).effect, .stored)
  }
}
