import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("Layers: Timeout, cancellation") struct TimeoutCancellationTests {
  private let clock = ManualClock()
  private let mock = MockLoader()
  private let api: any HTTPLoader

  init() {
    let timeout = Timeout(
      total: .seconds(9), attempt: .seconds(5), firstByte: .seconds(5), idle: .seconds(5), clock: clock)
    api = (timeout --> mock)
  }

  @Test("A cancellation request is forwarded with options and reason, and its confirmation is the outcome")
  func forwards() {
    let held = mock.hold()
    let load = api.load(anyRequest())

    let receipt = load.cancel(reason: "the row is gone")

    expectEqual(receipt.effect, .delivered)
    expectEqual(load.text, "pending")
    expectEqual(held.cancelRequest?.reason.message, "the row is gone")
    expectEqual(held.cancelRequest?.options, [])
    held.complete(.cancelled)
    expectEqual(load.text, "cancelled")
    expectEqual(clock.timerCount, 0)
  }

  @Test("A cancelled load that then times out ends as cancelled")
  func cancelThenExpiry() {
    let held = mock.hold(whenCancelled: .ignore)
    let load = api.load(anyRequest())

    load.cancel(reason: "the row is gone")
    clock.advance(by: .seconds(5))

    guard case .cancelled(let reason) = load.outcomeIfCompleted else { return #expect(Bool(false), "\(load.text)") }
    expectEqual(reason.message, "the row is gone")
    expectEqual(clock.timerCount, 0)
    withExtendedLifetime(held) {}
  }

  @Test("A cancellation request after the timeout is too late")
  func expiryThenCancel() {
    let held = mock.hold()
    let load = api.load(anyRequest())

    clock.advance(by: .seconds(5))
    let receipt = load.cancel()

    #expect(receipt.effect != .delivered)
    expectEqual(load.text, "timedOut")
    expectEqual(mock.cancelRequests.count, 1)
    withExtendedLifetime(held) {}
  }

  @Test("A success that races a cancellation request is kept")
  func racedSuccess() {
    let held = mock.hold()
    let load = api.load(anyRequest())

    load.cancel()
    held.answer()

    expectEqual(load.text, "success")
    expectEqual(clock.timerCount, 0)
  }

  @Test("A forced end is immediate, stops the timers, and cancels the next load")
  func force() {
    let held = mock.hold()
    let load = api.load(anyRequest())

    load.cancel(.forceImmediately)

    expectEqual(load.text, "cancelled")
    expectEqual(clock.timerCount, 0)
    expectEqual(held.cancelRequest?.options, [])
  }

  @Test("A load continues in the next loader after `.doNotForwardRequest`, without a timeout")
  func detached() {
    let held = mock.hold()
    let load = api.load(anyRequest())

    load.cancel(.doNotForwardRequest)

    expectEqual(load.text, "cancelled")
    expectEqual(clock.timerCount, 0)
    #expect(held.cancelRequest == nil)
    clock.advance(by: .seconds(60))
    #expect(held.cancelRequest == nil)
  }

  @Test("A timeout cancels the next load even if its future is shared")
  func shared() {
    let held = mock.hold()
    let load = api.load(anyRequest()).shared()
    let tokens = [load.cancelToken(), load.cancelToken()]

    clock.advance(by: .seconds(5))

    expectEqual(load.text, "timedOut")
    #expect(held.cancelRequest != nil)
    withExtendedLifetime(tokens) {}
  }

  @Test("A timeout during `load` ends the load, and cancels the future that is returned")
  func onTheStack() {
    let (held, clock) = (mock.hold(), clock)
    let api =
      Timeout(attempt: .seconds(5), clock: clock)
      --> ModifyRequest { _ in clock.advance(by: .seconds(5)) } --> mock

    let load = api.load(anyRequest())

    expectEqual(load.text, "timedOut")
    expectEqual(clock.timerCount, 0)
    expectEqual(held.cancelRequest?.reason.message.hasPrefix("timed out"), true)
  }

  @Test("A timeout as `load` returns is the outcome, even if the next load ends when cancelled")
  func whenLoadReturns() {
    struct Round: Sendable {
      let clock = ManualClock()
      let inner = Promise<HTTPResponse>()
      let load = Locked<Future<HTTPResponse>?>(nil)
      let delay: Int
    }
    struct Given: HTTPLoader {
      let future: Future<HTTPResponse>

      func load(_ request: HTTPRequest) -> Future<HTTPResponse> { future }

      func reset() -> Future<Void> { .succeeded(()) }
    }
    let request = anyRequest()
    let texts = Locked<[String: Int]>([:])
    race(rounds: 2_000) { () -> Round in
      let round = Round(delay: .random(in: 0..<60))
      round.inner.onRequestCancel { _ in .complete(.cancelled) }
      return round
    } _: {
      [
        { round in
          let timeout = Timeout(attempt: .seconds(5), clock: round.clock)
          round.load.value = timeout.load(request, next: Given(future: round.inner.future))
        },
        { round in
          while round.clock.timerCount == 0 {}
          for _ in 0..<round.delay { _ = round.clock.now }
          round.clock.advance(by: .seconds(5))
        },
      ]
    } check: { round, _ in
      let text = round.load.value?.text ?? "none"
      texts.withLock { $0[text, default: 0] += 1 }
    }

    expectEqual(Set(texts.value.keys), ["timedOut"])
  }

  @Test("A reset through `Autocancel` drains a load with timers")
  func reset() {
    let api = Autocancel(clock: clock) --> api
    let held = mock.hold()
    let load = api.load(anyRequest())

    let reset = api.reset()
    held.complete(.cancelled)

    expectEqual(load.text, "cancelled")
    expectEqual(reset.text, "success")
    expectEqual(clock.timerCount, 0)
  }
}
