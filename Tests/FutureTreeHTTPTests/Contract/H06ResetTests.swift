import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("H6: refuse, drain, wipe", .tags(.h06))
struct H06ResetTests {
  private let log = Recorder()
  private let clock = ManualClock()
  private let end: HeldResets

  init() {
    end = HeldResets(log)
  }

  private func wiping(_ name: String, error: Oops? = nil) -> Wiping {
    Wiping(log: log, name: name, error: error)
  }

  @Test("A reset refuses new loads, drains the running loads, and then wipes")
  func order() {
    let api = ResetGuard() --> Autocancel(clock: clock) --> wiping("store") --> end
    let held = end.mock.hold()
    let load = api.load(anyRequest())

    let reset = api.reset()
    let refused = api.load(anyRequest())
    #expect(log.entries == ["end loads"] && refused.text == "resetInProgress")
    load.observe { _ in log("the load ends") }
    held.complete(.cancelled)

    #expect(log.entries == ["end loads", "the load ends", "end resets"])
    #expect(reset.text == "pending" && api.load(anyRequest()).text == "resetInProgress")
    end.endReset()
    #expect(log.entries.last == "store wipes")
    end.mock.answer()
    #expect(reset.text == "success" && api.load(anyRequest()).text == "success")
  }

  @Test("A reset reaches every layer even if one fails, and reports all failures")
  func failures() {
    let api =
      ResetGuard() --> wiping("a", error: Oops(name: "a")) --> wiping("b") --> wiping("c", error: Oops(name: "c"))
      --> end

    let reset = api.reset()
    end.endReset(0, .failure(Oops(name: "end")))

    #expect(log.entries == ["end resets", "a wipes", "b wipes", "c wipes"])
    #expect(reset.text == "resetFailed: a, c, end")
    end.mock.answer()
    #expect(api.load(anyRequest()).text == "success")
  }

  @Test("Overlapping resets join the running one")
  func overlap() {
    let api = ResetGuard() --> Autocancel(clock: clock) --> end
    let held = end.mock.hold()
    let load = api.load(anyRequest())

    let resets = [api.reset(), api.reset()]
    held.complete(.cancelled)
    let third = api.reset()
    end.endReset()

    #expect((resets + [third]).map(\.text) == ["success", "success", "success"])
    #expect(end.resetCount == 1 && load.text == "cancelled")
  }

  @Test("A reset without a guard wipes and refuses nothing")
  func withoutGuard() {
    let api = Autocancel(clock: clock) --> wiping("store") --> end
    let reset = api.reset()
    end.mock.answer()

    #expect(api.load(anyRequest()).text == "success")
    #expect(log.entries == ["end resets", "end loads"])
    end.endReset()
    #expect(log.entries.last == "store wipes" && reset.text == "success")
  }

  @Test("A reset without `Autocancel` waits and cancels nothing")
  func withoutAutocancel() {
    let api = ResetGuard() --> wiping("store") --> end
    let held = end.mock.hold()
    let load = api.load(anyRequest())

    let reset = api.reset()
    end.endReset()
    #expect(reset.text == "pending" && held.cancelRequest == nil)
    held.answer()

    #expect(load.text == "success" && reset.text == "success")
  }

  @Test("A layer in two chains drains the loads of both")
  func twoChains() {
    let (guardLayer, autocancel) = (ResetGuard(), Autocancel(clock: clock))
    let other = HeldResets(log, "other")
    let chains = [guardLayer --> autocancel --> end, guardLayer --> autocancel --> other]
    let held = [end.mock.hold(), other.mock.hold()]
    let loads = chains.map { $0.load(anyRequest()) }

    let reset = chains[0].reset()
    #expect(chains.map { $0.load(anyRequest()).text } == ["resetInProgress", "resetInProgress"])
    for answer in held { answer.complete(.cancelled) }
    end.endReset()

    #expect(loads.map(\.text) == ["cancelled", "cancelled"] && reset.text == "success")
    #expect(other.resetCount == 0)
  }

  @Test("A load that races a reset is refused, drained, or admitted after it", .timeLimit(.minutes(20)))
  func everyOrder() async {
    for _ in 0..<300 {
      let mock = MockLoader()
      let api = ResetGuard() --> Autocancel(clock: clock) --> mock
      mock.onOthers(.hold(whenCancelled: .complete))

      let (load, reset) = await bothAtOnce({ api.load(anyRequest()) }, { api.reset() })
      #expect(await reset.outcome.text == "success")

      // Refused, drained, or admitted after the reset: then it is the only load left.
      #expect(["cancelled", "resetInProgress", "pending"].contains(load.text))
      #expect(mock.pendingCount == (load.isCompleted ? 0 : 1))
      load.cancel()
      #expect(load.isCompleted && mock.pendingCount == 0)
    }
  }

  /// Runs two bodies on threads of the pool, as close together as possible.
  private func bothAtOnce<First: Sendable, Second: Sendable>(
    _ first: @escaping @Sendable () -> First, _ second: @escaping @Sendable () -> Second
  ) async -> (First, Second) {
    async let one = Task.detached { first() }.value
    async let other = Task.detached { second() }.value
    return await (one, other)
  }
}
