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
    expectEqual(log.entries, ["end loads"])
    expectEqual(refused.text, "resetInProgress")
    load.observe { _ in log("the load ends") }
    held.complete(.cancelled)

    expectEqual(log.entries, ["end loads", "the load ends", "end resets"])
    expectEqual(reset.text, "pending")
    expectEqual(api.load(anyRequest()).text, "resetInProgress")
    end.endReset()
    expectEqual(log.entries.last, "store wipes")
    end.mock.answer()
    expectEqual(reset.text, "success")
    expectEqual(api.load(anyRequest()).text, "success")
  }

  @Test("A reset reaches every layer even if one fails, and reports all failures")
  func failures() {
    let api =
      ResetGuard() --> wiping("a", error: Oops(name: "a")) --> wiping("b") --> wiping("c", error: Oops(name: "c"))
      --> end

    let reset = api.reset()
    end.endReset(0, .failure(Oops(name: "end")))

    expectEqual(log.entries, ["end resets", "a wipes", "b wipes", "c wipes"])
    expectEqual(reset.text, "resetFailed: a, c, end")
    end.mock.answer()
    expectEqual(api.load(anyRequest()).text, "success")
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

    expectEqual((resets + [third]).map(\.text), ["success", "success", "success"])
    expectEqual(end.resetCount, 1)
    expectEqual(load.text, "cancelled")
  }

  @Test("A reset without a guard wipes and refuses nothing")
  func withoutGuard() {
    let api = Autocancel(clock: clock) --> wiping("store") --> end
    let reset = api.reset()
    end.mock.answer()

    expectEqual(api.load(anyRequest()).text, "success")
    expectEqual(log.entries, ["end resets", "end loads"])
    end.endReset()
    expectEqual(log.entries.last, "store wipes")
    expectEqual(reset.text, "success")
  }

  @Test("A reset without `Autocancel` waits and cancels nothing")
  func withoutAutocancel() {
    let api = ResetGuard() --> wiping("store") --> end
    let held = end.mock.hold()
    let load = api.load(anyRequest())

    let reset = api.reset()
    end.endReset()
    expectEqual(reset.text, "pending")
    #expect(held.cancelRequest == nil)
    held.answer()

    expectEqual(load.text, "success")
    expectEqual(reset.text, "success")
  }

  @Test("A layer in two chains drains the loads of both")
  func twoChains() {
    let (guardLayer, autocancel) = (ResetGuard(), Autocancel(clock: clock))
    let other = HeldResets(log, "other")
    let chains = [guardLayer --> autocancel --> end, guardLayer --> autocancel --> other]
    let held = [end.mock.hold(), other.mock.hold()]
    let loads = chains.map { $0.load(anyRequest()) }

    let reset = chains[0].reset()
    expectEqual(chains.map { $0.load(anyRequest()).text }, ["resetInProgress", "resetInProgress"])
    for answer in held { answer.complete(.cancelled) }
    end.endReset()

    expectEqual(loads.map(\.text), ["cancelled", "cancelled"])
    expectEqual(reset.text, "success")
    expectEqual(other.resetCount, 0)
  }

  @Test("A load that races a reset is refused, drained, or admitted after it", .timeLimit(.minutes(20)))
  func everyOrder() async {
    for _ in 0..<300 {
      let mock = MockLoader()
      let api = ResetGuard() --> Autocancel(clock: clock) --> mock
      mock.onOthers(.hold(whenCancelled: .complete))

      let (load, reset) = await bothAtOnce({ api.load(anyRequest()) }, { api.reset() })
      await expectEqual(reset.outcome.text, "success")

      // Refused, drained, or admitted after the reset: then it is the only load left.
      #expect(["cancelled", "resetInProgress", "pending"].contains(load.text))
      expectEqual(mock.pendingCount, load.isCompleted ? 0 : 1)
      load.cancel()
      #expect(load.isCompleted)
      expectEqual(mock.pendingCount, 0)
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
