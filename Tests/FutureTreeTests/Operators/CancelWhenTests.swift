import TestSupport
import Testing

@testable import FutureTree

@Suite("Operators: cancel(when:)")
struct CancelWhenTests {
  private let log = Recorder()
  private let tokens = CancellationTokenSource()

  private var registered: Int { tokens.token.source?.state.listedCount ?? 0 }

  @Test("The future receives a request with the reason of the token's source")
  func asks() {
    let promise = source(log)
    promise.future.cancel(when: tokens.token)
    expectEqual(log.entries, [])

    tokens.cancel(reason: CancellationReason("why", fileID: "App/A.swift", line: 1))

    expectEqual(log.entries, ["source: plain"])
    expectEqual(promise.cancelRequest?.reason.description, "why (App/A.swift:1)")
  }

  @Test("cancel(when:) returns the same future and adds no consumer")
  func returnsSelf() {
    let promise = source(log)

    let future = promise.future.cancel(when: tokens.token)

    expectEqual(future, promise.future)
    expectEqual(promise.future.cancel(.doNotForwardIfOthersWaiting).effect, .delivered)
  }

  @Test(
    "The request has the given options",
    arguments: [.doNotForwardRequest, .doNotForwardIfOthersWaiting, .forceImmediately] as [CancellationOptions])
  func options(options: CancellationOptions) {
    let promise = source(log)
    promise.future.cancel(when: tokens.token, options)

    tokens.cancel()

    expectEqual(log.entries, ["source: \(options.text)"])
  }

  @Test(
    "The request is not attributed to a consumer: any consumer withholds it (law 3, stopping where others wait)",
    .tags(.law03))
  func attributedToNoConsumer() {
    let promise = source(log)
    let consumer = promise.future.map { $0 }
    promise.future.cancel(when: tokens.token, .doNotForwardIfOthersWaiting)

    tokens.cancel()

    expectEqual(log.entries, [])
    consumer.cancel(.doNotForwardRequest)
    expectEqual(log.entries, ["source: ifOthers"])
  }

  @Test("A token cancelled before requests at once")
  func cancelledBefore() {
    let promise = source(log)
    tokens.cancel(reason: "before")

    promise.future.cancel(when: tokens.token)

    expectEqual(log.entries, ["source: plain"])
    expectEqual(promise.cancelRequest?.reason.message, "before")
  }

  @Test("A completed future is not registered")
  func completed() {
    Future.succeeded(1).cancel(when: tokens.token)

    expectEqual(registered, 0)
  }

  @Test("One token cancels many futures, the last registered first")
  func many() {
    let promises = (1...3).map { source(log, "\($0)") }
    for promise in promises { promise.future.cancel(when: tokens.token) }

    tokens.cancel()

    withExtendedLifetime(promises) { expectEqual(log.entries, ["3: plain", "2: plain", "1: plain"]) }
  }

  @Test(
    "The registration ends when the future completes",
    arguments: [.success(1), .failure(Oops()), .cancelled("gone")] as [Outcome<Int>])
  func ends(outcome: Outcome<Int>) {
    let promise = Promise<Int>()
    promise.future.cancel(when: tokens.token)
    expectEqual(registered, 1)

    promise.complete(with: outcome)

    expectEqual(registered, 0)
  }

  @Test("The future retains nothing of a dropped source")
  func sourceDropped() {
    let promise = Promise<Int>()
    weak var source: CancellationTokenSource?
    let state: CancellationTokenState
    do {
      let tokens = CancellationTokenSource()
      (source, state) = (tokens, tokens.state)
      promise.future.cancel(when: tokens.token)
      expectEqual(state.listedCount, 1)
      withExtendedLifetime(tokens) {}
    }

    #expect(source == nil)
    expectEqual(state.listedCount, 0)
    expectEqual(promise.future.state, "pending")
  }

  @Test("A dropped promise completes its future, which is then unregistered")
  func promiseDropped() {
    do {
      let promise = Promise<Int>()
      promise.future.cancel(when: tokens.token)
      withExtendedLifetime(promise) { expectEqual(registered, 1) }
    }

    expectEqual(registered, 0)
  }

  @Test("A long-lived token does not retain a value")
  func valueReleased() {
    let census = Census()
    do {
      let promise = Promise<Probe>()
      promise.future.cancel(when: tokens.token)
      promise.succeed(census.probe())
    }

    expectEqual(census.alive, 0)
  }

  @Test("The token `never` makes no request")
  func never() {
    let promise = source(log)

    expectEqual(promise.future.cancel(when: .never), promise.future)
  }
}
