import FutureTreeTesting
import TestSupport
import Testing

@testable import FutureTree

@Suite("Law 24: lingering, ends and pictures", .tags(.law24))
struct Law24LingerEndTests {
  private let clock = ManualClock()
  private let log = Recorder()

  private func lingering(_ promise: Promise<Int>) -> Future<Int> {
    promise.future.shared(linger: .seconds(5), clock: clock)
  }

  @Test("Completing the future cancels its timer and keeps the outcome")
  func completed() {
    let promise = source(log)
    let shared = lingering(promise)
    shared.map { $0 }.cancel()

    promise.succeed(7)

    expectEqual(clock.timerCount, 0)
    expectEqual(shared.state, "success(7)")
    expectEqual(shared.shared(linger: .seconds(1), clock: clock).state, "success(7)")
    expectEqual(shared.map { $0 + 1 }.state, "success(8)")
  }

  @Test("A timer that fires although it was cancelled has no effect")
  func lateTimer() {
    let bodies = Locked<[@Sendable () -> Void]>([])
    let promise = source(log)
    let shared = promise.future.shared(linger: .seconds(5), clock: DeafClock(bodies: bodies))
    shared.map { $0 }.cancel()
    let consumer = shared.map { $0 }

    for body in bodies.value { body() }
    #expect(log.entries == [] && shared.tree().entries[0].consumers == 1)
    consumer.cancel()
    expectEqual(log.entries, [])
    expectEqual(bodies.value.count, 2)
    bodies.value[1]()
    expectEqual(log.entries, ["source: plain"])
    bodies.value = []  // The bodies hold the future, and the future holds the clock.
  }

  /// A clock whose timers cannot be cancelled.
  private struct DeafClock: FutureClock {
    let bodies: Locked<[@Sendable () -> Void]>
    var now: Duration { .zero }

    func schedule(after duration: Duration, _ body: @escaping @Sendable () -> Void) -> FutureTimer {
      bodies.withLock { $0.append(body) }
      return FutureTimer {}
    }
  }

  @Test("A clock that fires inside schedule ends the linger")
  func eagerClock() {
    struct EagerClock: FutureClock {
      var now: Duration { .zero }
      func schedule(after duration: Duration, _ body: @escaping @Sendable () -> Void) -> FutureTimer {
        body()
        return FutureTimer {}
      }
    }
    let promise = source(log)
    promise.future.shared(linger: .seconds(5), clock: EagerClock()).map { $0 }.cancel()

    expectEqual(log.entries, ["source: plain"])
  }

  @Test("Zero or less is the mark of shared()", arguments: [Duration.zero, .seconds(-1)])
  func noDuration(_ duration: Duration) {
    let promise = source(log)
    let shared = promise.future.shared(linger: duration, clock: clock)
    let (first, second) = (shared.map { $0 }, shared.map { $0 })

    expectEqual(first.cancel().effect, .withheld(by: 1))
    expectEqual(second.cancel().effect, .delivered)
  }

  @Test("A second mark changes the duration for the next time")
  func secondMark() {
    let promise = source(log)
    let shared = lingering(promise)
    shared.shared(linger: .seconds(1), clock: ManualClock()).map { $0 }.cancel()

    clock.advance(by: .seconds(1))
    expectEqual(log.entries, ["source: plain"])
  }

  @Test("Nothing is retained after the linger")
  func memory() {
    weak var object: Probe?
    do {
      let probe = Probe()
      object = probe
      let promise = Promise<Int>()
      promise.onRequestCancel { _ in withExtendedLifetime(probe) { .complete(.cancelled) } }
      promise.future.shared(linger: .seconds(5), clock: clock).map { $0 }.cancel()
      expectEqual(clock.timerCount, 1)
      clock.advance(by: .seconds(5))
    }
    #expect(object == nil)
  }

  private final class Probe: Sendable {}

  // MARK: - Pictures

  @Test("The tree shows the lingering request, and no consumer")
  func tree() throws {
    let promise = Promise<Int>()
    let shared = lingering(promise).named("feed")
    expectEqual(shared.tree().entries[0].isLingering, false)
    shared.map { $0 }.cancel(reason: CancellationReason("scrolled away", fileID: "App/Feed.swift", line: 7))

    let tree = shared.tree()
    expectEqual(tree.description, "feed  pending, shared, lingering: scrolled away (App/Feed.swift:7)")
    #expect(tree.entries[0].isLingering && tree.entries[0].consumers == 0)
    withExtendedLifetime(promise) {}
  }

  @Test("A log shows the lingering request, and does not change the linger", arguments: [false, true])
  func logged(isMarkedFirst: Bool) {
    let events = FutureLog()
    let promise = source(log)
    if isMarkedFirst { _ = lingering(promise) }
    events.add(treeOf: promise.future.node)
    let shared = lingering(promise).named("feed")
    shared.map { $0 }.cancel(reason: CancellationReason("gone", fileID: "App/Feed.swift", line: 7))

    #expect(events.events.contains { "\($0.fact)" == "lingering: gone (App/Feed.swift:7)" })
    clock.advance(by: .seconds(5))
    expectEqual(log.entries, ["source: plain"])
  }
}
