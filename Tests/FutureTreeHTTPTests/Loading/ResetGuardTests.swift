import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("Layers: ResetGuard")
struct ResetGuardTests {
  private let log = Recorder()
  private let end: HeldResets
  private let api: any HTTPLoader

  init() {
    end = HeldResets(log)
    api = (ResetGuard() --> end)
  }

  // MARK: Loads and resets in turn

  @Test("A request loads while no reset is in flight")
  func loads() {
    end.mock.answer()

    expectEqual(api.load(anyRequest()).text, "success")
  }

  @Test("A reset begins while no other is in flight")
  func resets() {
    let reset = api.reset()

    expectEqual(reset.text, "pending")
    expectEqual(log.entries, ["end resets"])
    end.endReset()
    expectEqual(reset.text, "success")
  }

  @Test("A load during a reset fails and is not forwarded")
  func refuses() {
    let reset = api.reset()

    let load = api.load(anyRequest())

    expectEqual(load.text, "resetInProgress")
    expectEqual(log.entries, ["end resets"])
    withExtendedLifetime(reset) {}
  }

  @Test("A second reset joins the first and ends with it")
  func joins() {
    let resets = [api.reset(), api.reset(), api.reset()]

    expectEqual(end.resetCount, 1)
    expectEqual(resets.map(\.text), ["pending", "pending", "pending"])
    end.endReset()

    expectEqual(resets.map(\.text), ["success", "success", "success"])
  }

  // MARK: Loads and resets at the same time

  @Test("The chain is usable after a reset, even after a failed one", arguments: [nil, Oops()])
  func usable(error: Oops?) {
    let reset = api.reset()
    end.endReset(0, error.map { .failure($0) } ?? .success(()))
    end.mock.answer()

    expectEqual(reset.text, (error == nil ? "success" : "resetFailed: \(Oops())"))
    expectEqual(api.load(anyRequest()).text, "success")
    let again = api.reset()
    end.endReset(1)
    expectEqual(again.text, "success")
  }

  @Test("A reset that is requested while a load enters begins when the load has entered")
  func admission() {
    let reset = Locked<Future<Void>?>(nil)
    let chain = Locked<(any HTTPLoader)?>(nil)
    let layer = ModifyRequest { [log] _ in
      log("a load goes in")
      reset.value = chain.value?.reset()
      log("a reset is asked")
    }
    chain.value = (ResetGuard() --> layer --> end)
    end.mock.answer()

    let load = chain.value!.load(anyRequest())

    expectEqual(log.entries, ["a load goes in", "a reset is asked", "end loads", "end resets"])
    expectEqual(load.text, "success")
    expectEqual(reset.value?.text, "pending")
    end.endReset()
    expectEqual(reset.value?.text, "success")
    chain.value = nil
  }

  @Test("A reset waits for the loads admitted before, and cancels none of them")
  func waits() {
    let held = end.mock.hold()
    let load = api.load(anyRequest())

    let reset = api.reset()
    end.endReset()

    #expect(held.cancelRequest == nil)
    expectEqual(reset.text, "pending")
    expectEqual(api.load(anyRequest()).text, "resetInProgress")
    held.answer()
    expectEqual(load.text, "success")
    expectEqual(reset.text, "success")
  }

  @Test("No state is wiped while an admitted load is in flight")
  func wipesAfterLoads() {
    let api = ResetGuard() --> Wiping(log: log, name: "store") --> end
    let held = end.mock.hold()
    let load = api.load(anyRequest())

    let reset = api.reset()
    end.endReset()
    expectEqual(log.entries, ["end loads", "end resets"])
    held.answer()

    expectEqual(log.entries.last, "store wipes")
    expectEqual(load.text, "success")
    expectEqual(reset.text, "success")
  }

  @Test("Resets join only if all loads of the chain pass the guard", arguments: [true, false])
  func joinsIfGuarded(isGuarded: Bool) {
    let layer = ResetGuard()
    let api: any HTTPLoader = isGuarded ? Log { _ in } --> layer --> end : Route(.when({ _ in true }, layer)) --> end

    let resets = [api.reset(), api.reset()]

    expectEqual(end.resetCount, isGuarded ? 1 : 2)
    for number in 0..<end.resetCount { end.endReset(number) }
    expectEqual(resets.map(\.text), ["success", "success"])
  }

  @Test(
    "A cancelled reset ends at once; its work continues, and other callers get its outcome",
    arguments: [[], .forceImmediately, .doNotForwardRequest] as [CancellationOptions])
  func cancelled(options: CancellationOptions) {
    let (first, second) = (api.reset(), api.reset())

    first.cancel(options)

    expectEqual([first, second].map(\.text), ["cancelled", "pending"])
    expectEqual(api.load(anyRequest()).text, "resetInProgress")
    end.endReset()
    expectEqual(second.text, "success")
  }

  @Test("In two chains, the guard refuses the loads of both, and resets each chain separately")
  func twoChains() {
    let guardLayer = ResetGuard()
    let ends = [HeldResets(log, "a"), HeldResets(log, "b")]
    let chains = ends.map { guardLayer --> $0 }
    let held = ends[1].mock.hold()
    let load = chains[1].load(anyRequest())

    let first = chains[0].reset()
    expectEqual(chains.map { $0.load(anyRequest()).text }, ["resetInProgress", "resetInProgress"])
    let second = chains[1].reset()
    expectEqual(log.entries, ["b loads", "a resets", "b resets"])
    ends[0].endReset()
    ends[1].endReset()

    expectEqual([first, second].map(\.text), ["pending", "pending"])
    held.answer()
    expectEqual([first, second, load.map { _ in }].map(\.text), ["success", "success", "success"])
  }

  @Test("Resets join in a chain whose next loader is a value")
  func joinsValue() {
    struct Value: HTTPLoader {
      let end: HeldResets
      func load(_ request: HTTPRequest) -> Future<HTTPResponse> { end.load(request) }
      func reset() -> Future<Void> { end.reset() }
    }
    let api = ResetGuard() --> Value(end: end)

    let resets = [api.reset(), api.reset()]

    expectEqual(end.resetCount, 1)
    end.endReset()
    expectEqual(resets.map(\.text), ["success", "success"])
  }

  @Test(
    "A reset waits for a forced or detached load until the transport confirms",
    arguments: [.forceImmediately, .doNotForwardRequest] as [CancellationOptions])
  func forcedLoad(options: CancellationOptions) {
    let held = end.mock.hold()
    let load = api.load(anyRequest())
    load.cancel(options)

    let reset = api.reset()
    end.endReset()
    expectEqual(load.text, "cancelled")
    expectEqual(reset.text, "pending")
    held.complete(.cancelled)

    expectEqual(reset.text, "success")
  }

  @Test("A layer may lead to another chain with the same guard")
  func nested() {
    struct Refresh: HTTPLayer {
      let tokens: any HTTPLoader
      var parts: [any HTTPPart] { [tokens] }
      func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> { next.load(request) }
    }
    let guardLayer = ResetGuard()
    let tokens = HeldResets(log, "tokens")
    let api = guardLayer --> Refresh(tokens: guardLayer --> tokens) --> end

    let reset = api.reset()
    end.endReset()
    expectEqual(reset.text, "pending")
    expectEqual(api.load(anyRequest()).text, "resetInProgress")
    tokens.endReset()

    end.mock.answer()
    expectEqual(reset.text, "success")
    expectEqual(api.load(anyRequest()).text, "success")
  }
}
