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

  @Test("A reset cancels the loads in flight, waits for them, and then resets the next loader")
  func drains() {
    let held = (0..<3).map { _ in end.mock.hold() }
    let loads = (0..<3).map { _ in api.load(anyRequest()) }
    held[0].answer()

    let reset = api.reset()

    expectEqual(held.map { $0.cancelRequest == nil }, [true, false, false])
    expectEqual(held[1].cancelRequest?.reason.kind, .reset)
    held[1].complete(.cancelled)
    expectEqual(end.resetCount, 0)
    held[2].complete(.cancelled)
    expectEqual(end.resetCount, 1)
    expectEqual(reset.text, "pending")
    end.endReset()
    expectEqual(reset.text, "success")
    expectEqual(loads.map(\.text), ["success", "cancelled", "cancelled"])
    expectEqual(clock.timerCount, 0)
  }

  @Test("A reset without loads in flight is forwarded at once")
  func idle() {
    end.mock.answer()
    let load = api.load(anyRequest())

    let reset = api.reset()

    expectEqual(load.text, "success")
    expectEqual(end.resetCount, 1)
    end.endReset()
    expectEqual(reset.text, "success")
  }

  @Test("A reset cancels both loads of one request value (H7, one load, one execution)")
  func twice() {
    let request = anyRequest()
    let held = [end.mock.hold(), end.mock.hold()]
    let loads = [api.load(request), api.load(request)]

    let reset = api.reset()
    for answer in held { answer.complete(.cancelled) }

    expectEqual(loads.map(\.text), ["cancelled", "cancelled"])
    expectEqual(end.resetCount, 1)
    expectEqual(reset.text, "pending")
  }

  @Test("A load that succeeds during a reset keeps its success")
  func race() {
    let held = end.mock.hold()
    let load = api.load(anyRequest())

    _ = api.reset()
    held.answer()

    expectEqual(load.text, "success")
    expectEqual(end.resetCount, 1)
  }

  @Test("The drain timeout ends a reset when the transport ignores cancellation")
  func drainTimeout() {
    let held = end.mock.hold()
    let load = api.load(anyRequest())

    let reset = api.reset()
    clock.advance(by: .seconds(4))
    expectEqual(load.text, "pending")
    expectEqual(end.resetCount, 0)
    clock.advance(by: .seconds(1))

    expectEqual(load.text, "cancelled")
    expectEqual(end.resetCount, 1)
    end.endReset()
    expectEqual(reset.text, "success")
    expectEqual(clock.timerCount, 0)
    #expect(held.cancelRequest != nil)
  }

  @Test(
    "A reset waits forever without a drain timeout, and not at all with a timeout of zero",
    arguments: [nil, Duration.zero])
  func noTimeout(timeout: Duration?) {
    let api = Autocancel(drainTimeout: timeout, clock: clock) --> end
    let held = end.mock.hold()
    let load = api.load(anyRequest())

    _ = api.reset()
    clock.advance(by: .seconds(timeout == nil ? 1_000_000 : 0))

    expectEqual(load.text, timeout == nil ? "pending" : "cancelled")
    held.complete(.cancelled)
    expectEqual(end.resetCount, 1)
  }

  @Test("A load that begins during a reset is not drained")
  func loadsDuringReset() {
    let held = [end.mock.hold(), end.mock.hold()]
    let before = api.load(anyRequest())
    let reset = api.reset()

    let during = api.load(anyRequest())
    held[0].complete(.cancelled)

    #expect(held[1].cancelRequest == nil)
    expectEqual(before.text, "cancelled")
    expectEqual(during.text, "pending")
    expectEqual(end.resetCount, 1)
    withExtendedLifetime((reset, held)) {}
  }

  @Test("A load that waits in an inner layer is not sent after a reset")
  func waitingBehind() {
    let promise = Promise<HTTPRequest>()
    let api = Autocancel(clock: clock) --> ModifyRequest.deferred { _ in promise.future } --> end
    let load = api.load(anyRequest())

    let reset = api.reset()
    promise.succeed(anyRequest())

    expectEqual(load.text, "cancelled")
    expectEqual(log.entries, ["end resets"])
    withExtendedLifetime(reset) {}
  }

  @Test("In two chains, a reset of either cancels the loads of both")
  func twoChains() {
    let layer = Autocancel(clock: clock)
    let other = HeldResets(log, "other")
    let chains = [layer --> end, layer --> other]
    let held = [end.mock.hold(), other.mock.hold()]
    let loads = chains.map { $0.load(anyRequest()) }

    let reset = chains[0].reset()
    for answer in held { answer.complete(.cancelled) }
    end.endReset()

    expectEqual(loads.map(\.text), ["cancelled", "cancelled"])
    expectEqual(reset.text, "success")
    expectEqual(log.entries.last, "end resets")
  }

  @Test("A reset cancels a load that its caller shares with others")
  func sharedByItsCaller() {
    let held = end.mock.hold()
    let load = api.load(anyRequest()).shared()
    let tokens = [load.cancelToken(), load.cancelToken()]

    let reset = api.reset()
    #expect(held.cancelRequest != nil)
    held.complete(.cancelled)

    expectEqual(load.text, "cancelled")
    expectEqual(end.resetCount, 1)
    withExtendedLifetime(tokens) {}
    withExtendedLifetime(reset) {}
  }

  @Test(
    "A reset cancels and awaits a load that its caller has forced or detached from",
    arguments: [.doNotForwardRequest, .forceImmediately] as [CancellationOptions])
  func detached(options: CancellationOptions) {
    let source = Promise<HTTPRequest>()
    let waiting = Autocancel(clock: clock) --> ModifyRequest.deferred { _ in source.future } --> end
    let load = waiting.load(anyRequest())
    load.cancel(options)

    let reset = waiting.reset()
    expectEqual(load.text, "cancelled")
    #expect(source.cancelRequest != nil)
    expectEqual(end.resetCount, 0)
    source.succeed(anyRequest())

    expectEqual(log.entries, ["end resets"])
    withExtendedLifetime(reset) {}
  }

  @Test("A load that a reset forces while it enters the chain is cancelled at the transport")
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

    expectEqual(load.text, "cancelled")
    expectEqual(held.cancelRequest?.options, [])
    chain.value = nil
  }

  @Test(
    "A cancelled reset ends at once, and the work of the reset continues",
    arguments: [[], .forceImmediately] as [CancellationOptions])
  func cancelledReset(options: CancellationOptions) {
    let held = end.mock.hold()
    let load = api.load(anyRequest())
    let reset = api.reset()

    reset.cancel(options)
    expectEqual(reset.text, "cancelled")
    expectEqual(load.text, "pending")
    held.complete(.cancelled)

    expectEqual(end.resetCount, 1)
  }

  @Test("Loads are forgotten when they have ended")
  func forgets() {
    let held = (0..<3).map { _ in end.mock.hold() }
    let loads = (0..<3).map { _ in api.load(anyRequest()) }
    held[0].answer()
    held[1].complete(.failure(Oops()))
    loads[2].cancel()
    held[2].complete(.cancelled)

    _ = api.reset()

    expectEqual(end.mock.cancelRequests.count, 1)
    expectEqual(end.resetCount, 1)
    expectEqual(clock.timerCount, 0)
  }

  @Test("A queued request is not sent when a reset ends the running load")
  func waiting() throws {
    let mock = MockLoader()
    let api = Autocancel(drainTimeout: nil) --> Throttle(1) --> mock
    let held = mock.hold(whenCancelled: .complete)
    let loads = try (0..<3).map { api.load(try HTTPRequest("https://example.com/\($0)")) }

    let reset = api.reset()

    expectEqual(loads.map(\.text), ["cancelled", "cancelled", "cancelled"])
    expectEqual(mock.requests.count, 1)
    #expect(reset.isCompleted)
    withExtendedLifetime(held) {}
  }
}
