import FutureTree
import OpenCombine
import OpenCombineBridge
import Testing

@Suite("A publisher of a future")
struct PublisherOfFutureTests {
  private let log = Log()

  /// Subscribes, and writes what comes; `demand` is asked for at once.
  private func subscribe(
    _ name: String = "it", to future: FutureTree.Future<Int>, demanding demand: Subscribers.Demand? = .unlimited
  ) -> Sampler {
    let sampler = Sampler(name, log, demand)
    future.publisher.subscribe(sampler)
    return sampler
  }

  /// A promise whose handler writes what it is asked.
  private func source() -> Promise<Int> {
    let promise = Promise<Int>()
    promise.onRequestCancel { [log] request in
      log("asked \(request.options.contains(.doNotForwardIfOthersWaiting))")
      return .continue
    }
    return promise
  }

  @Test("the value is sent once, and then the end")
  func value() {
    let promise = source()
    let sampler = subscribe(to: promise.future)
    #expect(log.lines == ["it subscribed"])

    promise.succeed(1)

    #expect(log.lines == ["it subscribed", "it 1", "it finished"])
    withExtendedLifetime(sampler) {}
  }

  @Test("a future that has completed sends after the subscriber has its subscription", arguments: [true, false])
  func completed(succeeds: Bool) {
    let future = succeeds ? FutureTree.Future.succeeded(1) : .failed(Oops())

    let sampler = subscribe(to: future)

    #expect(log.lines == ["it subscribed"] + (succeeds ? ["it 1", "it finished"] : ["it failed: oops"]))
    withExtendedLifetime(sampler) {}
  }

  @Test("a value waits for demand")
  func demand() {
    let promise = source()
    let sampler = subscribe(to: promise.future, demanding: nil)

    promise.succeed(1)
    sampler.subscription?.request(.none)
    #expect(log.lines == ["it subscribed"])
    sampler.subscription?.request(.max(1))

    #expect(log.lines == ["it subscribed", "it 1", "it finished"])
  }

  @Test("a failure and a cancellation do not wait for demand", arguments: [true, false])
  func failure(isCancelled: Bool) {
    let promise = source()
    let sampler = subscribe(to: promise.future, demanding: nil)

    if isCancelled { promise.completeCancelled("gone") } else { promise.fail(Oops()) }

    let end = isCancelled ? "it failed: gone" : "it failed: oops"
    #expect(log.lines == ["it subscribed", end])
    withExtendedLifetime(sampler) {}
  }

  @Test("each subscription is a consumer; cancelling one asks under law 3")
  func cancels() {
    let promise = source()
    let first = subscribe("first", to: promise.future)
    let second = subscribe("second", to: promise.future)
    #expect(promise.future.cancel(.doNotForwardIfOthersWaiting).effect == .withheld(by: 2))

    first.subscription?.cancel()
    #expect(log.lines == ["first subscribed", "second subscribed"])
    second.subscription?.cancel()
    promise.succeed(1)

    #expect(log.lines == ["first subscribed", "second subscribed", "asked true"])
  }

  @Test("a subscriber that cancels while it gets its subscription gets nothing", arguments: [true, false])
  func cancelsAtOnce(isCompleted: Bool) {
    let promise = source()
    if isCompleted { promise.fail(Oops()) }

    promise.future.publisher.subscribe(Sampler("it", log, nil) { $0.cancel() })
    promise.succeed(1)

    #expect(log.lines == (isCompleted ? ["it subscribed"] : ["it subscribed", "asked true"]))
  }

  @Test("a value that was not demanded and is cancelled is never sent")
  func cancelsBeforeDemand() {
    let sampler = subscribe(to: .succeeded(1), demanding: nil)

    sampler.subscription?.cancel()
    sampler.subscription?.request(.unlimited)

    #expect(log.lines == ["it subscribed"])
  }

  @Test("a subscription that is dropped without a demand wants nothing, and asks nobody", arguments: [true, false])
  func dropped(isCompleted: Bool) {
    let promise = source()
    if isCompleted { promise.succeed(1) }
    do {
      let sampler = subscribe(to: promise.future, demanding: nil)
      if !isCompleted { #expect(promise.future.cancel(.doNotForwardIfOthersWaiting).effect == .withheld(by: 1)) }
      sampler.subscription = nil
    }

    #expect(log.lines.filter { $0 != "asked true" } == ["it subscribed"])
    if !isCompleted { #expect(promise.cancelRequest?.reason.message == "no reason given") }
  }

  @Test("it works with the operators and sinks of the library, and releases everything")
  func sink() {
    let promise = source()
    weak var kept: Log?
    do {
      let values = Log()
      kept = values
      let cancellable = promise.future.publisher.map { $0 * 2 }.replaceError(with: 0).sink { values("\($0)") }
      promise.succeed(21)
      #expect(values.lines == ["42"])
      withExtendedLifetime(cancellable) {}
    }

    #expect(kept == nil)
  }

  @Test("dropping the cancellable of a sink withdraws, and releases what it captured")
  func cancellable() {
    let promise = source()
    weak var kept: Log?
    do {
      let values = Log()
      kept = values
      let cancellable = promise.future.publisher.replaceError(with: 0).sink { values("\($0)") }
      withExtendedLifetime(cancellable) {}
    }

    #expect(log.lines == ["asked true"])
    #expect(kept == nil)
  }
}
