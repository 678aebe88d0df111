import FutureTreeTesting
import TestSupport
import Testing

@testable import FutureTree

@Suite("Law 24: lingering", .tags(.law24))
struct Law24LingerTests {
  private let clock = ManualClock()
  private let log = Recorder()

  private func lingering(_ promise: Promise<Int>) -> Future<Int> {
    promise.future.shared(linger: .seconds(5), clock: clock)
  }

  // MARK: - The last consumer

  @Test("The request of the last consumer ends its branch at once, and is delivered after the linger")
  func lastConsumer() {
    let promise = source(log)
    let shared = lingering(promise)
    let branch = shared.map { $0 }.map { $0 }

    let receipt = branch.cancel(reason: "scrolled away")

    expectEqual(receipt.effect, .lingering)
    expectEqual(receipt.reached, 3)
    expectEqual(receipt.handlers, 0)
    expectEqual("\(receipt)", "lingering, reached 3 futures")
    expectEqual(branch.state, "cancelled")
    expectEqual(branch.reason?.message, "scrolled away")
    expectEqual(shared.state, "pending")
    #expect(shared.cancelRequest == nil)
    expectEqual(log.entries, [])

    clock.advance(by: .seconds(4))
    expectEqual(log.entries, [])
    clock.advance(by: .seconds(1))
    expectEqual(log.entries, ["source: plain"])
    expectEqual(shared.cancelRequest?.reason.message, "scrolled away")
    expectEqual(clock.timerCount, 0)
  }

  @Test("A new consumer stops the timer, and the last one starts it again", arguments: NewConsumer.every)
  func newConsumer(_ new: NewConsumer) {
    let promise = source(log)
    let shared = lingering(promise)
    shared.map { $0 }.cancel()
    clock.advance(by: .seconds(4))

    let withdraw = new.join(shared)
    expectEqual(clock.timerCount, 0)
    clock.advance(by: .seconds(100))
    expectEqual(log.entries, [])
    expectEqual(shared.state, "pending")

    withdraw()
    expectEqual(clock.timerCount, 1)
    clock.advance(by: .seconds(5))
    expectEqual(log.entries, ["source: plain"])
  }

  /// A way to become a consumer of a future, and to withdraw the interest.
  struct NewConsumer: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let join: @Sendable (Future<Int>) -> @Sendable () -> Void

    static let every = [
      NewConsumer(testDescription: "map") { shared in
        let derived = shared.map { $0 }
        return { derived.cancel(.doNotForwardIfOthersWaiting) }
      },
      NewConsumer(testDescription: "a map that only detaches") { shared in
        let derived = shared.map { $0 }
        return { derived.cancel(.doNotForwardRequest) }
      },
      NewConsumer(testDescription: "a token") { shared in
        let token = shared.cancelToken()
        return { token.cancel() }
      },
      NewConsumer(testDescription: "a dropped token") { shared in
        let bag = Locked([shared.cancelToken()])
        return {
          let dropped = bag.withLock { tokens in
            defer { tokens = [] }
            return tokens
          }
          _ = dropped
        }
      },
      NewConsumer(testDescription: "a join") { shared in
        let other = Promise<Int>()
        let all = Future.all([shared, other.future])
        return { withExtendedLifetime(other) { _ = all.cancel() } }
      },
      NewConsumer(testDescription: "an inner future") { shared in
        let outer = Future.succeeded(1).flatMap { _ in shared }
        return { outer.cancel() }
      },
      NewConsumer(testDescription: "a consumer of a future that had lost its interest") { shared in
        let derived = shared.map { $0 }
        let again = derived.map { $0 }
        again.cancel(.doNotForwardRequest)
        let last = derived.map { $0 }
        return { last.cancel() }
      },
    ]
  }

  @Test("While other consumers have interest, a request is withheld. The last consumer starts the timer")
  func others() {
    let promise = source(log)
    let shared = lingering(promise)
    let (first, second) = (shared.map { $0 }, shared.map { $0 })

    expectEqual(first.cancel().effect, .withheld(by: 1))
    expectEqual(clock.timerCount, 0)
    expectEqual(second.cancel(.doNotForwardRequest).effect, .completed)  // It asks nothing, and was the last one.
    expectEqual(clock.timerCount, 1)
    clock.advance(by: .seconds(5))
    expectEqual(log.entries, ["source: plain"])
  }

  @Test("The strongest request is delivered, with its own options and reason")
  func strongest() {
    let promise = source(log)
    let shared = lingering(promise)

    shared.map { $0 }.cancel(.doNotForwardIfOthersWaiting, reason: "weak")
    shared.map { $0 }.cancel(reason: "strong")
    shared.map { $0 }.cancel(reason: "as strong")
    clock.advance(by: .seconds(5))

    expectEqual(log.entries, ["source: plain"])
    expectEqual(shared.cancelRequest?.reason.message, "strong")
  }

  @Test("A request that no consumer made lingers as well, and a second one changes nothing")
  func target() {
    let promise = source(log)
    let shared = lingering(promise)

    expectEqual(shared.previewCancel().effect, .lingering)
    expectEqual(clock.timerCount, 0)  // A preview schedules nothing.
    expectEqual(shared.cancel().effect, .lingering)
    expectEqual(shared.cancel().effect, .lingering)
    expectEqual(clock.timerCount, 1)
    clock.advance(by: .seconds(5))
    expectEqual(log.entries, ["source: plain"])
    expectEqual(shared.cancel().effect, .duplicate)
  }

  @Test("Without a request, the interest ends after the linger, and nothing is asked")
  func droppedToken() {
    let (promise, other) = (source(log), Promise<Int>())
    let upstream = promise.future.map { $0 }
    let shared = upstream.shared(linger: .seconds(5), clock: clock)
    do { _ = shared.cancelToken() }

    expectEqual(upstream.map { $0 }.cancel(.doNotForwardIfOthersWaiting).effect, .lingering)
    withExtendedLifetime(other) { clock.advance(by: .seconds(5)) }
    expectEqual(log.entries, ["source: ifOthers"])
  }

  @Test("A shared future in a diamond lingers once")
  func diamond() {
    let promise = source(log)
    let shared = lingering(promise)
    let bottom = Future.all([shared.map { $0 }, shared.map { $0 }])

    let preview = bottom.previewCancel()
    let receipt = bottom.cancel()

    expectEqual(receipt, preview)
    expectEqual(receipt.effect, .lingering)
    expectEqual(receipt.reached, 4)
    #expect(bottom.isCompleted)
    expectEqual(clock.timerCount, 1)
    clock.advance(by: .seconds(5))
    expectEqual(log.entries, ["source: plain"])
  }

  // MARK: - Force

  @Test("Force is delivered at once, also from further downstream", arguments: [0, 1, 2])
  func force(depth: Int) {
    let promise = source(log)
    var target = lingering(promise)
    for _ in 0..<depth { target = target.map { $0 } }

    let receipt = target.cancel(.forceImmediately)

    expectEqual(receipt.effect, .completed)
    expectEqual(receipt.handlers, 1)
    expectEqual(log.entries, [depth == 0 ? "source: force" : "source: plain"])
    expectEqual(clock.timerCount, 0)
  }

  @Test("Force ends a linger that has begun")
  func forceLater() {
    let promise = source(log)
    let shared = lingering(promise)
    shared.map { $0 }.cancel()
    expectEqual(clock.timerCount, 1)

    expectEqual(shared.cancel(.forceImmediately).effect, .completed)
    expectEqual(log.entries, ["source: force"])
    expectEqual(shared.state, "cancelled")
    expectEqual(clock.timerCount, 0)
  }

  @Test("Force is withheld while others have interest, and is not delayed when they withdraw")
  func withheldForce() {
    let promise = source(log)
    let shared = lingering(promise)
    let other = shared.map { $0 }

    expectEqual(shared.cancel(.forceImmediately).effect, .withheld(by: 1))
    other.cancel(.doNotForwardRequest)

    expectEqual(log.entries, ["source: force"])
    expectEqual(shared.state, "cancelled")
    expectEqual(clock.timerCount, 0)
  }

  @Test(
    "A withheld force that is delivered ends a linger, whatever came before or after it",
    arguments: [[], .doNotForwardIfOthersWaiting] as [CancellationOptions], [true, false])
  func withheldForceAmongOthers(options: CancellationOptions, isFirst: Bool) {
    let promise = source(log)
    let shared = lingering(promise)
    let (other, plain, forced) = (shared.map { $0 }, shared.map { $0 }, shared.map { $0 })
    if !isFirst { plain.cancel(reason: "plain") }
    forced.cancel([options, .forceImmediately], reason: "forced")
    if isFirst { plain.cancel(reason: "plain") }
    expectEqual(log.entries, [])
    expectEqual(clock.timerCount, 0)

    other.cancel(.doNotForwardRequest)

    expectEqual(log.entries, ["source: plain"])
    expectEqual(clock.timerCount, 0)
    // Equally strong requests: the earlier one is delivered.
    expectEqual(shared.cancelRequest?.reason.message, isFirst && options == [] ? "forced" : "plain")
  }

  @Test("A withheld force ends a linger that had begun before, and one of a future that was asked before")
  func withheldForceLater() {
    let promises = [source(log, "lingering"), source(log, "asked")]
    let shared = promises.map { lingering($0) }
    for future in shared { future.map { $0 }.cancel(reason: "first") }
    let waiting = shared[0].map { $0 }
    let forced = shared[0].map { $0 }
    clock.advance(by: .seconds(5))
    expectEqual(log.entries, ["asked: plain"])

    forced.cancel(.forceImmediately)
    waiting.cancel(.doNotForwardRequest)
    let other = shared[1].map { $0 }
    shared[1].cancel(.forceImmediately)
    other.cancel(.doNotForwardRequest)

    expectEqual(log.entries, ["asked: plain", "lingering: plain"])
    expectEqual(clock.timerCount, 0)
    expectEqual(shared[1].state, "cancelled")
    withExtendedLifetime(promises) {}
  }

  @Test("A linger that was stopped does not begin again")
  func stopped() {
    let promise = source(log)
    let shared = lingering(promise)
    let first = shared.map { $0 }
    expectEqual(shared.node.stopLingering(), false)
    expectEqual(log.entries, [])
    first.cancel(.doNotForwardRequest)
    let second = shared.map { $0 }

    expectEqual(second.cancel().effect, .delivered)
    expectEqual(clock.timerCount, 0)
  }
}
