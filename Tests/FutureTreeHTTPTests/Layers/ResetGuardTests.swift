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

  // MARK: The four rules of part 9 of the series

  @Test("rule 1: while nothing is reset, requests load")
  func loads() {
    end.mock.answer()

    #expect(api.load(anyRequest()).text == "success")
  }

  @Test("rule 2: while nothing is reset, a reset begins")
  func resets() {
    let reset = api.reset()

    #expect(reset.text == "pending" && log.entries == ["end resets"])
    end.endReset()
    #expect(reset.text == "success")
  }

  @Test("rule 3: while the chain is reset, loads fail, and do not go on")
  func refuses() {
    let reset = api.reset()

    let load = api.load(anyRequest())

    #expect(load.text == "resetInProgress" && log.entries == ["end resets"])
    withExtendedLifetime(reset) {}
  }

  @Test("rule 4, improved: a second reset joins the first, and ends with it")
  func joins() {
    let resets = [api.reset(), api.reset(), api.reset()]

    #expect(end.resetCount == 1 && resets.map(\.text) == ["pending", "pending", "pending"])
    end.endReset()

    #expect(resets.map(\.text) == ["success", "success", "success"])
  }

  // MARK: What the series leaves open

  @Test("after a reset the chain works, also if the reset failed", arguments: [nil, Oops()])
  func usable(error: Oops?) {
    let reset = api.reset()
    end.endReset(0, error.map { .failure($0) } ?? .success(()))
    end.mock.answer()

    #expect(reset.text == (error == nil ? "success" : "\(Oops())"))
    #expect(api.load(anyRequest()).text == "success")
    let again = api.reset()
    end.endReset(1)
    #expect(again.text == "success")
  }

  @Test("a reset that is asked while a load goes in begins behind it")
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

    #expect(log.entries == ["a load goes in", "a reset is asked", "end loads", "end resets"])
    #expect(load.text == "success" && reset.value?.text == "pending")
    end.endReset()
    #expect(reset.value?.text == "success")
    chain.value = nil
  }

  @Test("a reset waits for the loads that were let in before, and cancels none of them")
  func waits() {
    let held = end.mock.hold()
    let load = api.load(anyRequest())

    let reset = api.reset()
    end.endReset()

    #expect(held.cancelRequest == nil && reset.text == "pending")
    #expect(api.load(anyRequest()).text == "resetInProgress")
    held.answer()
    #expect(load.text == "success" && reset.text == "success")
  }

  @Test(
    "who cancels a reset stops waiting; the reset goes on, and others get it",
    arguments: [[], .forceImmediately, .doNotForwardRequest] as [CancellationOptions])
  func cancelled(options: CancellationOptions) {
    let (first, second) = (api.reset(), api.reset())

    first.cancel(options)

    #expect([first, second].map(\.text) == ["cancelled", "pending"])
    #expect(api.load(anyRequest()).text == "resetInProgress")
    end.endReset()
    #expect(second.text == "success")
  }

  @Test("in two chains it refuses the loads of both, and each chain is reset when it is asked")
  func twoChains() {
    let guardLayer = ResetGuard()
    let ends = [HeldResets(log, "a"), HeldResets(log, "b")]
    let chains = ends.map { guardLayer --> $0 }
    let held = ends[1].mock.hold()
    let load = chains[1].load(anyRequest())

    let first = chains[0].reset()
    #expect(chains.map { $0.load(anyRequest()).text } == ["resetInProgress", "resetInProgress"])
    let second = chains[1].reset()
    #expect(log.entries == ["b loads", "a resets", "b resets"])
    ends[0].endReset()
    ends[1].endReset()

    #expect([first, second].map(\.text) == ["pending", "pending"])
    held.answer()
    #expect([first, second, load.map { _ in }].map(\.text) == ["success", "success", "success"])
  }

  @Test("it joins resets of a chain that was made of a loader that is a value")
  func joinsValue() {
    struct Value: HTTPLoader {
      let end: HeldResets
      func load(_ request: HTTPRequest) -> Future<HTTPResponse> { end.load(request) }
      func reset() -> Future<Void> { end.reset() }
    }
    let api = ResetGuard() --> Value(end: end)

    let resets = [api.reset(), api.reset()]

    #expect(end.resetCount == 1)
    end.endReset()
    #expect(resets.map(\.text) == ["success", "success"])
  }

  @Test(
    "a reset waits for a load that its caller forced or let go of, until the transport confirms",
    arguments: [.forceImmediately, .doNotForwardRequest] as [CancellationOptions])
  func forcedLoad(options: CancellationOptions) {
    let held = end.mock.hold()
    let load = api.load(anyRequest())
    load.cancel(options)

    let reset = api.reset()
    end.endReset()
    #expect(load.text == "cancelled" && reset.text == "pending")
    held.complete(.cancelled)

    #expect(reset.text == "success")
  }

  @Test("a layer of the chain may reset another chain with the same guard")
  func nested() {
    struct Refresh: HTTPLayer {
      let tokens: any HTTPLoader
      func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> { next.load(request) }
      func reset(next: any HTTPLoader) -> Future<Void> { .resets([tokens.reset(), next.reset()]) }
    }
    let guardLayer = ResetGuard()
    let tokens = HeldResets(log, "tokens")
    let api = guardLayer --> Refresh(tokens: guardLayer --> tokens) --> end

    let reset = api.reset()
    tokens.endReset()
    #expect(reset.text == "pending" && api.load(anyRequest()).text == "resetInProgress")
    end.endReset()

    end.mock.answer()
    #expect(reset.text == "success" && api.load(anyRequest()).text == "success")
  }
}
