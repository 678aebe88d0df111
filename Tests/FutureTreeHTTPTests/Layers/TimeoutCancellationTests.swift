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

  @Test("a request to cancel is forwarded, with options and reason, and what confirms it is the outcome")
  func forwards() {
    let held = mock.hold()
    let load = api.load(anyRequest())

    let receipt = load.cancel(reason: "the row is gone")

    #expect(receipt.effect == .delivered && load.text == "pending")
    #expect(held.cancelRequest?.reason.message == "the row is gone" && held.cancelRequest?.options == [])
    held.complete(.cancelled)
    #expect(load.text == "cancelled" && clock.timerCount == 0)
  }

  @Test("who cancelled first is not told that it took too long: the load is given up as cancelled")
  func cancelThenExpiry() {
    let held = mock.hold(whenCancelled: .ignore)
    let load = api.load(anyRequest())

    load.cancel(reason: "the row is gone")
    clock.advance(by: .seconds(5))

    guard case .cancelled(let reason) = load.outcomeIfCompleted else { return #expect(Bool(false), "\(load.text)") }
    #expect(reason.message == "the row is gone" && clock.timerCount == 0)
    withExtendedLifetime(held) {}
  }

  @Test("a request to cancel that comes after the expiry is too late")
  func expiryThenCancel() {
    let held = mock.hold()
    let load = api.load(anyRequest())

    clock.advance(by: .seconds(5))
    let receipt = load.cancel()

    #expect(receipt.effect != .delivered && load.text == "timedOut" && mock.cancelRequests.count == 1)
    withExtendedLifetime(held) {}
  }

  @Test("a success that raced a request to cancel stays one")
  func racedSuccess() {
    let held = mock.hold()
    let load = api.load(anyRequest())

    load.cancel()
    held.answer()

    #expect(load.text == "success" && clock.timerCount == 0)
  }

  @Test("force ends the load at once, and the timers; the transport is asked behind it")
  func force() {
    let held = mock.hold()
    let load = api.load(anyRequest())

    load.cancel(.forceImmediately)

    #expect(load.text == "cancelled" && clock.timerCount == 0 && held.cancelRequest?.options == [])
  }

  @Test("doNotForwardRequest lets what lies behind go on, without these times")
  func letGo() {
    let held = mock.hold()
    let load = api.load(anyRequest())

    load.cancel(.doNotForwardRequest)

    #expect(load.text == "cancelled" && clock.timerCount == 0 && held.cancelRequest == nil)
    clock.advance(by: .seconds(60))
    #expect(held.cancelRequest == nil)
  }

  @Test("an expiry asks what lies behind also if the load is shared")
  func shared() {
    let held = mock.hold()
    let load = api.load(anyRequest()).shared()
    let tokens = [load.cancelToken(), load.cancelToken()]

    clock.advance(by: .seconds(5))

    #expect(load.text == "timedOut" && held.cancelRequest != nil)
    withExtendedLifetime(tokens) {}
  }

  @Test("a time that is over while `load` is on the stack ends the load, and what is returned then is asked")
  func onTheStack() {
    let (held, clock) = (mock.hold(), clock)
    let api =
      Timeout(attempt: .seconds(5), clock: clock)
      --> ModifyRequest { _ in clock.advance(by: .seconds(5)) } --> mock

    let load = api.load(anyRequest())

    #expect(load.text == "timedOut" && clock.timerCount == 0)
    #expect(held.cancelRequest?.reason.message.hasPrefix("timed out") == true)
  }

  @Test("a time that is over as `load` returns is what is told, though what lies behind ends when asked")
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

    #expect(texts.value == ["timedOut": 2_000])
  }

  @Test("it keeps nothing that a reset would have to wait for: an Autocancel before it drains")
  func reset() {
    let api = Autocancel(clock: clock) --> api
    let held = mock.hold()
    let load = api.load(anyRequest())

    let reset = api.reset()
    held.complete(.cancelled)

    #expect(load.text == "cancelled" && reset.text == "success" && clock.timerCount == 0)
  }
}
