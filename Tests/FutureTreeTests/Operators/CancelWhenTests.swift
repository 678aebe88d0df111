import TestSupport
import Testing

@testable import FutureTree

@Suite("Operators: cancel(when:)")
struct CancelWhenTests {
  private let log = Recorder()
  private let tokens = CancellationTokenSource()

  private var registered: Int { tokens.token.source?.state.listedCount ?? 0 }

  @Test("the future is asked when the token's source is cancelled, with its reason")
  func asks() {
    let promise = source(log)
    promise.future.cancel(when: tokens.token)
    #expect(log.entries == [])

    tokens.cancel(reason: CancellationReason("why", fileID: "App/A.swift", line: 1))

    #expect(log.entries == ["source: plain"])
    #expect(promise.cancelRequest?.reason.description == "why (App/A.swift:1)")
  }

  @Test("it returns the same future, and counts as no consumer")
  func returnsSelf() {
    let promise = source(log)

    let future = promise.future.cancel(when: tokens.token)

    #expect(future == promise.future)
    #expect(promise.future.cancel(.doNotForwardIfOthersWaiting).effect == .delivered)
  }

  @Test(
    "the options are those given",
    arguments: [.doNotForwardRequest, .doNotForwardIfOthersWaiting, .forceImmediately] as [CancellationOptions])
  func options(options: CancellationOptions) {
    let promise = source(log)
    promise.future.cancel(when: tokens.token, options)

    tokens.cancel()

    #expect(log.entries == ["source: \(options.text)"])
  }

  @Test("it asks as nobody: every consumer holds back a request under law 3")
  func asNobody() {
    let promise = source(log)
    let consumer = promise.future.map { $0 }
    promise.future.cancel(when: tokens.token, .doNotForwardIfOthersWaiting)

    tokens.cancel()

    #expect(log.entries == [])
    consumer.cancel(.doNotForwardRequest)
    #expect(log.entries == ["source: ifOthers"])
  }

  @Test("a token that was cancelled before asks at once")
  func cancelledBefore() {
    let promise = source(log)
    tokens.cancel(reason: "before")

    promise.future.cancel(when: tokens.token)

    #expect(log.entries == ["source: plain"])
    #expect(promise.cancelRequest?.reason.message == "before")
  }

  @Test("a future that has completed does not stay registered")
  func completed() {
    Future.succeeded(1).cancel(when: tokens.token)

    #expect(registered == 0)
  }

  @Test("one token asks many futures, the last first")
  func many() {
    let promises = (1...3).map { source(log, "\($0)") }
    for promise in promises { promise.future.cancel(when: tokens.token) }

    tokens.cancel()

    withExtendedLifetime(promises) { #expect(log.entries == ["3: plain", "2: plain", "1: plain"]) }
  }

  @Test(
    "the registration ends when the future completes",
    arguments: [.success(1), .failure(Oops()), .cancelled("gone")] as [Outcome<Int>])
  func ends(outcome: Outcome<Int>) {
    let promise = Promise<Int>()
    promise.future.cancel(when: tokens.token)
    #expect(registered == 1)

    promise.complete(with: outcome)

    #expect(registered == 0)
  }

  @Test("the future holds nothing of a source that was dropped")
  func sourceDropped() {
    let promise = Promise<Int>()
    weak var source: CancellationTokenSource?
    let state: CancellationTokenState
    do {
      let tokens = CancellationTokenSource()
      (source, state) = (tokens, tokens.state)
      promise.future.cancel(when: tokens.token)
      #expect(state.listedCount == 1)
      withExtendedLifetime(tokens) {}
    }

    #expect(source == nil && state.listedCount == 0)
    #expect(promise.future.state == "pending")
  }

  @Test("a dropped promise completes its future, which leaves the token")
  func promiseDropped() {
    do {
      let promise = Promise<Int>()
      promise.future.cancel(when: tokens.token)
      withExtendedLifetime(promise) { #expect(registered == 1) }
    }

    #expect(registered == 0)
  }

  @Test("a value does not stay with a token that lives long")
  func valueReleased() {
    let census = Census()
    do {
      let promise = Promise<Probe>()
      promise.future.cancel(when: tokens.token)
      promise.succeed(census.probe())
    }

    #expect(census.alive == 0)
  }

  @Test("`never` asks nothing")
  func never() {
    let promise = source(log)

    #expect(promise.future.cancel(when: .never) == promise.future)
  }
}
