import FutureTree
import OpenCombine
import OpenCombineBridge
import Testing

@Suite("Publishers from futures")
struct PublisherOfFutureTests {
  private let log = Log()

  /// Subscribes, requests `demand` at once, and logs the events.
  private func subscribe(
    _ name: String = "it", to future: FutureTree.Future<Int>, demanding demand: Subscribers.Demand? = .unlimited
  ) -> Sampler {
    let sampler = Sampler(name, log, demand)
    future.publisher.subscribe(sampler)
    return sampler
  }

  /// A promise whose handler logs its requests.
  private func source() -> Promise<Int> {
    let promise = Promise<Int>()
    promise.onRequestCancel { [log] request in
      log("asked \(request.options.contains(.doNotForwardIfOthersWaiting))")
      return .continue
    }
    return promise
  }

  @Test("The value is sent once, followed by the completion")
  func value() {
    let promise = source()
    let sampler = subscribe(to: promise.future)
    #expect(log.lines == ["it subscribed"])

    promise.succeed(1)

    #expect(log.lines == ["it subscribed", "it 1", "it finished"])
    withExtendedLifetime(sampler) {}
  }

  @Test("A completed future sends its outcome after the subscription", arguments: [true, false])
  func completed(succeeds: Bool) {
    let future = succeeds ? FutureTree.Future.succeeded(1) : .failed(Oops())

    let sampler = subscribe(to: future)

    #expect(log.lines == ["it subscribed"] + (succeeds ? ["it 1", "it finished"] : ["it failed: oops"]))
    withExtendedLifetime(sampler) {}
  }

  @Test("A value is sent only on demand")
  func demand() {
    let promise = source()
    let sampler = subscribe(to: promise.future, demanding: nil)

    promise.succeed(1)
    sampler.subscription?.request(.none)
    #expect(log.lines == ["it subscribed"])
    sampler.subscription?.request(.max(1))

    #expect(log.lines == ["it subscribed", "it 1", "it finished"])
  }

  @Test("A failure and a cancellation are sent without demand", arguments: [true, false])
  func failure(isCancelled: Bool) {
    let promise = source()
    let sampler = subscribe(to: promise.future, demanding: nil)

    if isCancelled { promise.completeCancelled("gone") } else { promise.fail(Oops()) }

    let end = isCancelled ? "it failed: gone" : "it failed: oops"
    #expect(log.lines == ["it subscribed", end])
    withExtendedLifetime(sampler) {}
  }

  @Test("Each subscription is a consumer, and its cancellation is a request (law 3, stopping where others wait)")
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

  @Test("A subscriber that cancels on subscription receives no event", arguments: [true, false])
  func cancelsAtOnce(isCompleted: Bool) {
    let promise = source()
    if isCompleted { promise.fail(Oops()) }

    promise.future.publisher.subscribe(Sampler("it", log, nil) { $0.cancel() })
    promise.succeed(1)

    #expect(log.lines == (isCompleted ? ["it subscribed"] : ["it subscribed", "asked true"]))
  }

  @Test("A value is not sent after the subscription was cancelled")
  func cancelsBeforeDemand() {
    let sampler = subscribe(to: .succeeded(1), demanding: nil)

    sampler.subscription?.cancel()
    sampler.subscription?.request(.unlimited)

    #expect(log.lines == ["it subscribed"])
  }

  @Test("A dropped subscription without demand is no longer a consumer and makes no request", arguments: [true, false])
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

  @Test("The publisher works with operators and sinks, which are released")
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

  @Test("A dropped cancellable of a sink withdraws interest and releases its captures")
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
