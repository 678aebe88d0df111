import FutureTree
import TestSupport
import Testing

@Suite("Law 12: diamonds, with two branches", .tags(.law12))
struct Law12DiamondTests {
  @Test("One request through two branches of one source calls its handler once")
  func once() {
    let log = Recorder()
    let promise = source(log, answering: .complete(.cancelled))
    let all = Future.all([promise.future.map { $0 }, promise.future.map { $0 }])

    let receipt = all.cancel()

    expectEqual(log.entries, ["source: plain"])
    expectEqual(receipt.effect, .delivered)
    expectEqual(receipt.reached, 4)
    expectEqual(all.state, "cancelled")
  }

  @Test("Interest is withdrawn along both branches before the consumers of the source are counted")
  func conditionalDiamond() {
    let log = Recorder()
    let promise = source(log)
    let all = Future.all([promise.future.map { $0 }, promise.future.map { $0 }])

    let receipt = all.cancel(.doNotForwardIfOthersWaiting)

    expectEqual(receipt.effect, .delivered)
    expectEqual(log.entries, ["source: ifOthers"])
    expectEqual(all.state, "pending")
    #expect(promise.future.cancel().effect != .duplicate)
    promise.completeCancelled()
    expectEqual(all.state, "cancelled")
  }

  @Test("A request through both branches of a diamond reaches its shared source")
  func sharedDiamond() {
    let log = Recorder()
    let promise = source(log)
    let shared = promise.future.shared()
    let branches = [shared.map { $0 }, shared.map { $0 }]
    let all = Future.all(branches)

    all.cancel()

    expectEqual(log.entries, ["source: plain"])
    expectEqual(branches.states(), ["pending", "pending"])
    expectEqual(all.state, "pending")
  }

  @Test("Handlers run after the branches of a propagation have ended, and before consumers are notified")
  func handlersComeSecond() {
    let log = Recorder()
    let (asked, shared) = (Promise<Int>(), Promise<Int>())
    let consumer = shared.future.map { $0 }
    let both = Future.all([asked.future, shared.future])
    both.observe { log("told: \($0.state)") }
    asked.onRequestCancel { _ in
      log("asked: \(both.state)")
      return .continue
    }

    both.cancel(.doNotForwardIfOthersWaiting)

    expectEqual(log.entries, ["asked: cancelled", "told: cancelled"])
    expectEqual(consumer.state, "pending")
    withExtendedLifetime((asked, shared)) {}
  }

  @Test("A third consumer of the source withholds a conditional request, and the diamond ends at once")
  func thirdConsumer() {
    let log = Recorder()
    let promise = source(log)
    let branches = [promise.future.map { $0 }, promise.future.map { $0 }]
    let all = Future.all(branches)
    let third = promise.future.map { $0 }

    all.cancel(.doNotForwardIfOthersWaiting)

    expectEqual(log.entries, [])
    expectEqual(branches.states(), ["cancelled", "cancelled"])
    expectEqual([all.state, third.state], ["cancelled", "pending"])
  }

  @Test("A request through one branch is withheld by the other branch")
  func oneBranch() {
    let log = Recorder()
    let promise = source(log)
    let left = promise.future.map { $0 }
    let right = promise.future.map { $0 }
    left.cancel(.doNotForwardIfOthersWaiting)
    expectEqual(log.entries, [])

    right.cancel(.doNotForwardIfOthersWaiting)

    expectEqual(log.entries, ["source: ifOthers"])
  }

  @Test("A join decided by one branch withdraws from the other, and the source is asked")
  func decidedByOneBranch() {
    // Laws 3 (stopping where others wait), 10 (one consumer, one count) and 23 (deciding detaches): the left branch
    // ends and decides `all`, which detaches from the right branch.
    let log = Recorder()
    let promise = source(log)
    let left = promise.future.map { $0 }
    let right = promise.future.map { $0 }
    let all = Future.all([left, right])

    left.cancel(.doNotForwardRequest)

    expectEqual([left.state, all.state], ["cancelled", "cancelled"])
    expectEqual(log.entries, ["source: ifOthers"])
  }

  @Test("Every reached future records the request before a handler runs")
  func knownBeforeHandlers() {
    let log = Recorder()
    let promise = Promise<Int>()
    let left = promise.future.map { $0 }
    let right = promise.future.map { $0 }
    let all = Future.all([left, right])
    promise.onRequestCancel { _ in
      log("\(left.cancelRequest != nil) \(right.cancelRequest != nil) \(all.cancelRequest != nil)")
      return .continue
    }

    all.cancel()

    expectEqual(log.entries, ["true true true"])
  }

  @Test("The handlers furthest upstream run first")
  func furthestFirst() {
    let log = Recorder()
    let near = source(log, "near")
    let far = source(log, "far")
    let all = Future.all([near.future, far.future.map { $0 }.map { $0 }])

    all.cancel()

    expectEqual(log.entries, ["far: plain", "near: plain"])
    withExtendedLifetime(all) {}
  }

  // Law 5 (force)
  @Test("A forced request that ends a branch reaches the handlers behind a join without the force")
  func forceBehindJoin() {
    let log = Recorder()
    let (first, second) = (source(log, "first"), source(log, "second"))
    let tail = Future.all([first.future.map { $0 }, second.future, first.future.map { $0 }]).map { $0[0] }

    let receipt = tail.cancel(.forceImmediately)

    expectEqual(log.entries, ["first: plain", "second: plain"])
    expectEqual(receipt.effect, .completed)
    expectEqual(receipt.reached, 6)
  }

  @Test("Completions are delivered after all handlers have run, once for each future")
  func completionsLast() {
    let log = Recorder()
    let first = source(log, "first", answering: .complete(.cancelled))
    let second = source(log, "second", answering: .complete(.cancelled))
    let all = Future.all([first.future, second.future])
    first.future.observe { _ in log("observed first") }
    second.future.observe { _ in log("observed second") }
    all.observe { _ in log("observed all") }

    all.cancel()

    expectEqual(Set(log.entries.prefix(2)), ["first: plain", "second: plain"])
    expectEqual(Set(log.entries.dropFirst(2)), ["observed first", "observed second", "observed all"])
    expectEqual(log.count, 5)
  }

  @Test("40 stacked diamonds cost their edges, not their paths", .timeLimit(.minutes(20)))
  func stacked() {
    let log = Recorder()
    let promise = source(log)
    var tail = promise.future
    for _ in 0..<40 {
      tail = Future.all([tail.map { $0 }, tail.map { $0 }]).map { $0[0] }
    }

    let receipt = tail.cancel(.doNotForwardIfOthersWaiting)

    expectEqual(log.entries, ["source: ifOthers"])
    expectEqual(receipt.reached, 1 + 40 * 4)
  }
}
