import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("Layers: Autocancel")
struct AutocancelTests {
  private let log = Recorder()
  private let clock = ManualClock()
  private let end: HeldResets
  private let api: any HTTPLoader

  init() {
    end = HeldResets(log)
    api = (Autocancel(drainTimeout: .seconds(5), clock: clock) --> end)
  }

  @Test("a reset cancels what is under way, waits for it, and only then goes on")
  func drains() {
    let held = (0..<3).map { _ in end.mock.hold() }
    let loads = (0..<3).map { _ in api.load(anyRequest()) }
    held[0].answer()

    let reset = api.reset()

    #expect(held.map { $0.cancelRequest == nil } == [true, false, false])
    #expect(held[1].cancelRequest?.reason.message == "the chain was reset")
    held[1].complete(.cancelled)
    #expect(end.resetCount == 0)
    held[2].complete(.cancelled)
    #expect(end.resetCount == 1 && reset.text == "pending")
    end.endReset()
    #expect(reset.text == "success")
    #expect(loads.map(\.text) == ["success", "cancelled", "cancelled"])
    #expect(clock.timerCount == 0)
  }

  @Test("with nothing under way, it goes on at once")
  func idle() {
    end.mock.answer()
    let load = api.load(anyRequest())

    let reset = api.reset()

    #expect(load.text == "success" && end.resetCount == 1)
    end.endReset()
    #expect(reset.text == "success")
  }

  @Test("H7: one request value loaded twice and then reset: both are cancelled")
  func twice() {
    let request = anyRequest()
    let held = [end.mock.hold(), end.mock.hold()]
    let loads = [api.load(request), api.load(request)]

    let reset = api.reset()
    for answer in held { answer.complete(.cancelled) }

    #expect(loads.map(\.text) == ["cancelled", "cancelled"])
    #expect(end.resetCount == 1 && reset.text == "pending")
  }

  @Test("a success that was faster stays one")
  func race() {
    let held = end.mock.hold()
    let load = api.load(anyRequest())

    _ = api.reset()
    held.answer()

    #expect(load.text == "success" && end.resetCount == 1)
  }

  @Test("a reset against a transport that ignores cancellation ends by the drain timeout")
  func drainTimeout() {
    let held = end.mock.hold()
    let load = api.load(anyRequest())

    let reset = api.reset()
    clock.advance(by: .seconds(4))
    #expect(load.text == "pending" && end.resetCount == 0)
    clock.advance(by: .seconds(1))

    #expect(load.text == "cancelled" && end.resetCount == 1)
    end.endReset()
    #expect(reset.text == "success" && clock.timerCount == 0)
    #expect(held.cancelRequest != nil)
  }

  @Test(
    "without a drain timeout it waits for ever; with none of it, it does not wait", arguments: [nil, Duration.zero])
  func noTimeout(timeout: Duration?) {
    let api = Autocancel(drainTimeout: timeout, clock: clock) --> end
    let held = end.mock.hold()
    let load = api.load(anyRequest())

    _ = api.reset()
    clock.advance(by: .seconds(timeout == nil ? 1_000_000 : 0))

    #expect(load.text == (timeout == nil ? "pending" : "cancelled"))
    held.complete(.cancelled)
    #expect(end.resetCount == 1)
  }

  @Test("a load that comes during the reset is not part of it: refusing is a guard's")
  func loadsDuringReset() {
    let held = [end.mock.hold(), end.mock.hold()]
    let before = api.load(anyRequest())
    let reset = api.reset()

    let during = api.load(anyRequest())
    held[0].complete(.cancelled)

    #expect(held[1].cancelRequest == nil)
    #expect(before.text == "cancelled" && during.text == "pending" && end.resetCount == 1)
    withExtendedLifetime((reset, held)) {}
  }

  @Test("a load that waits in a layer behind it does not go on")
  func waitingBehind() {
    let promise = Promise<HTTPRequest>()
    let api = Autocancel(clock: clock) --> ModifyRequest.deferred { _ in promise.future } --> end
    let load = api.load(anyRequest())

    let reset = api.reset()
    promise.succeed(anyRequest())

    #expect(load.text == "cancelled" && log.entries == ["end resets"])
    withExtendedLifetime(reset) {}
  }

  @Test("in two chains, a reset of either cancels the loads of both")
  func twoChains() {
    let layer = Autocancel(clock: clock)
    let other = HeldResets(log, "other")
    let chains = [layer --> end, layer --> other]
    let held = [end.mock.hold(), other.mock.hold()]
    let loads = chains.map { $0.load(anyRequest()) }

    let reset = chains[0].reset()
    for answer in held { answer.complete(.cancelled) }
    end.endReset()

    #expect(loads.map(\.text) == ["cancelled", "cancelled"])
    #expect(reset.text == "success" && log.entries.last == "end resets")
  }

  @Test("a load that its caller shares with others is cancelled by a reset all the same")
  func sharedByItsCaller() {
    let held = end.mock.hold()
    let load = api.load(anyRequest()).shared()
    let tokens = [load.cancelToken(), load.cancelToken()]

    let reset = api.reset()
    #expect(held.cancelRequest != nil)
    held.complete(.cancelled)

    #expect(load.text == "cancelled" && end.resetCount == 1)
    withExtendedLifetime(tokens) {}
    withExtendedLifetime(reset) {}
  }

  @Test(
    "a load whose caller let go of it, or forced it, is cancelled and awaited by a reset, and does not go on later",
    arguments: [.doNotForwardRequest, .forceImmediately] as [CancellationOptions])
  func letGo(options: CancellationOptions) {
    let source = Promise<HTTPRequest>()
    let waiting = Autocancel(clock: clock) --> ModifyRequest.deferred { _ in source.future } --> end
    let load = waiting.load(anyRequest())
    load.cancel(options)

    let reset = waiting.reset()
    #expect(load.text == "cancelled" && source.cancelRequest != nil && end.resetCount == 0)
    source.succeed(anyRequest())

    #expect(log.entries == ["end resets"])
    withExtendedLifetime(reset) {}
  }

  @Test("a load that a reset forces while it goes in is cancelled behind that")
  func forcedWhileGoingIn() {
    let chain = Locked<(any HTTPLoader)?>(nil)
    let reset = Locked<Future<Void>?>(nil)
    let api =
      Autocancel(drainTimeout: .zero, clock: clock)
      --> ModifyRequest { [clock] _ in
        reset.value = chain.value?.reset()
        clock.advance(by: .zero)
      } --> end
    chain.value = api
    let held = end.mock.hold()

    let load = api.load(anyRequest())

    #expect(load.text == "cancelled" && held.cancelRequest?.options == [])
    chain.value = nil
  }

  @Test(
    "who cancels a reset stops waiting; the reset goes on to its end",
    arguments: [[], .forceImmediately] as [CancellationOptions])
  func cancelledReset(options: CancellationOptions) {
    let held = end.mock.hold()
    let load = api.load(anyRequest())
    let reset = api.reset()

    reset.cancel(options)
    #expect(reset.text == "cancelled" && load.text == "pending")
    held.complete(.cancelled)

    #expect(end.resetCount == 1)
  }

  @Test("a load that was cancelled, failed or answered is forgotten")
  func forgets() {
    let held = (0..<3).map { _ in end.mock.hold() }
    let loads = (0..<3).map { _ in api.load(anyRequest()) }
    held[0].answer()
    held[1].complete(.failure(Oops()))
    loads[2].cancel()
    held[2].complete(.cancelled)

    _ = api.reset()

    #expect(end.mock.cancelRequests.count == 1 && end.resetCount == 1 && clock.timerCount == 0)
  }

  @Test("what waits for the place of a load that ends by the reset is not sent")
  func waiting() throws {
    let mock = MockLoader()
    let api = Autocancel(drainTimeout: nil) --> Throttle(1) --> mock
    let held = mock.hold(whenCancelled: .complete)
    let loads = try (0..<3).map { api.load(try HTTPRequest("https://example.com/\($0)")) }

    let reset = api.reset()

    #expect(loads.map(\.text) == ["cancelled", "cancelled", "cancelled"])
    #expect(mock.requests.count == 1 && reset.isCompleted)
    withExtendedLifetime(held) {}
  }
}
