import FutureTree
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTP

/// Law 24 (lingering) in `Coalesce`.
@Suite("Coalesce: lingering")
struct CoalesceLingerTests {
  private let clock = ManualClock()
  private let mock = MockLoader()
  private let coalesce: Coalesce
  private let api: any HTTPLoader

  init() {
    coalesce = Coalesce(linger: .seconds(5), clock: clock)
    api = chain(ResetGuard() --> Autocancel(clock: clock), before: coalesce --> mock)
  }

  private func load() -> Future<HTTPResponse> { api.load(anyRequest()) }

  @Test("The load continues after its last caller, and the next caller joins it")
  func joined() {
    let held = mock.hold()
    let first = load()
    expectEqual(first.cancel().effect, .lingering)
    expectEqual(first.text, "cancelled")
    #expect(held.cancelRequest == nil)
    expectEqual(coalesce.flightCount, 1)

    clock.advance(by: .seconds(4))
    let second = load()
    expectEqual(clock.timerCount, 0)
    clock.advance(by: .seconds(60))
    held.answer()

    expectEqual(second.text, "success")
    expectEqual(mock.requests.count, 1)
    expectEqual(coalesce.flightCount, 0)
  }

  @Test("The load is cancelled after the linger, and the next caller begins another load")
  func cancelled() {
    let held = [mock.hold(), mock.hold()]
    load().cancel(reason: "scrolled away")

    clock.advance(by: .seconds(5))
    expectEqual(held[0].cancelRequest?.reason.message, "scrolled away")
    let second = load()
    held[1].answer()
    held[0].complete(.cancelled)

    expectEqual(second.text, "success")
    expectEqual(mock.requests.count, 2)
    expectEqual(coalesce.flightCount, 0)
    expectEqual(clock.timerCount, 0)
  }

  @Test("A caller with force does not wait for the linger")
  func force() {
    let held = mock.hold()
    let first = load()

    first.cancel(.forceImmediately)

    expectEqual(first.text, "cancelled")
    #expect(held.cancelRequest != nil)
    expectEqual(clock.timerCount, 0)
    held.complete(.cancelled)
    expectEqual(coalesce.flightCount, 0)
  }

  @Test("A response ends the linger: nothing is cancelled")
  func responds() {
    let held = mock.hold()
    load().cancel()

    held.answer()

    #expect(held.cancelRequest == nil)
    expectEqual(coalesce.flightCount, 0)
    expectEqual(clock.timerCount, 0)
  }

  @Test("A reset cancels a load that lingers, and waits for it")
  func reset() {
    let held = mock.hold()
    load().cancel()
    let preview = api.previewReset()
    expectEqual(preview.loads.map(\.isLingering), [true])
    #expect("\(preview)" == "GET http://example.com/, lingering, held by GET http://example.com/, for nothing")

    let reset = api.resetWithReceipt(clock: clock)
    #expect(held.cancelRequest != nil && !reset.isCompleted)
    held.complete(.cancelled)
    expectEqual(clock.timerCount, 0)

    let receipt = reset.outcomeIfCompleted.flatMap { try? $0.get() }
    expectEqual(receipt?.parts.first { $0.name == "Coalesce" }?.drained, 1)
    #expect(receipt?.error == nil)
    expectEqual(coalesce.flightCount, 0)
  }

  @Test("A reset waits no longer than 5 s for a load that lingers and ignores the cancellation")
  func resetOfDeafTransport() {
    let held = mock.hold()
    load().cancel()

    let reset = (coalesce --> ForgetfulLoader()).reset()
    #expect(!reset.isCompleted)
    clock.advance(by: .seconds(5))

    #expect(reset.isCompleted)
    expectEqual(clock.timerCount, 0)
    held.answer()
    expectEqual(coalesce.flightCount, 0)
  }

  /// A loader whose reset completes at once.
  private struct ForgetfulLoader: HTTPLoader {
    func load(_ request: HTTPRequest) -> Future<HTTPResponse> {
      .failed(HTTPError(.cannotConnect, "Not connected. Load again."))
    }
    func reset() -> Future<Void> { .succeeded }
  }

  @Test("A reset with callers in flight leaves nothing that lingers")
  func resetWithCallers() {
    let held = mock.hold()
    let loads = [load(), load()]

    let reset = api.reset()
    #expect(held.cancelRequest != nil && !reset.isCompleted)
    held.complete(.cancelled)

    expectEqual(loads.map(\.text), ["cancelled", "cancelled"])
    #expect(reset.isCompleted)
    expectEqual(clock.timerCount, 0)
    expectEqual(coalesce.flightCount, 0)
  }

  @Test("Cancelled at every point, the other caller joins, and nothing is left")
  func everywhere() throws {
    try CancelEverywhere.run(grace: .seconds(10)) { trial in
      let mock = MockLoader(clock: trial.clock)
      mock.on(.any, .json("[]").delayed(by: .seconds(3), clock: trial.clock).forever())
      let coalesce = trial.track(Coalesce(linger: .seconds(2), clock: trial.clock))
      let api = coalesce --> mock
      trial.expect("no load is shared") { _ in coalesce.flightCount == 0 }
      trial.expect("one request is enough") { _ in mock.requests.count <= 2 }
      let both = [anyRequest(), anyRequest()].map { api.load($0) }
      return Future.all(both).map { $0.count }
    }
  }
}
