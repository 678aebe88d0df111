import FutureTree
import TestSupport
import Testing

@Suite("Law 12: diamonds, with two branches")
struct Law12DiamondTests {
  @Test("one request through two branches of one source calls its handler once")
  func once() {
    let log = Recorder()
    let promise = source(log, answering: .complete(.cancelled))
    let all = Future.all([promise.future.map { $0 }, promise.future.map { $0 }])

    let receipt = all.cancel()

    #expect(log.entries == ["source: plain"])
    #expect(receipt.effect == .delivered)
    #expect(receipt.reached == 4)
    #expect(all.state == "cancelled")
  }

  @Test("interest is withdrawn along both branches before anybody asks who waits")
  func politeDiamond() {
    let log = Recorder()
    let promise = source(log)
    let all = Future.all([promise.future.map { $0 }, promise.future.map { $0 }])

    let receipt = all.cancel(.doNotForwardIfOthersWaiting)

    #expect(receipt.effect == .delivered)
    #expect(log.entries == ["source: ifOthers"])
    #expect(all.state == "pending")
    #expect(promise.future.cancel().effect != .duplicate)
    promise.completeCancelled()
    #expect(all.state == "cancelled")
  }

  @Test("a shared source of a diamond is reached when both branches are one asker's")
  func sharedDiamond() {
    let log = Recorder()
    let promise = source(log)
    let shared = promise.future.shared()
    let branches = [shared.map { $0 }, shared.map { $0 }]
    let all = Future.all(branches)

    all.cancel()

    #expect(log.entries == ["source: plain"])
    #expect(branches.states() == ["pending", "pending"])
    #expect(all.state == "pending")
  }

  @Test("when a handler is called, the branches that the propagation ends have ended, and nobody has been told")
  func handlersComeSecond() {
    let log = Recorder()
    let (asked, shared) = (Promise<Int>(), Promise<Int>())
    let wanted = shared.future.map { $0 }
    let both = Future.all([asked.future, shared.future])
    both.observe { log("told: \($0.state)") }
    asked.onRequestCancel { _ in
      log("asked: \(both.state)")
      return .continue
    }

    both.cancel(.doNotForwardIfOthersWaiting)

    #expect(log.entries == ["asked: cancelled", "told: cancelled"])
    #expect(wanted.state == "pending")
    withExtendedLifetime((asked, shared)) {}
  }

  @Test("a third consumer of the source holds a polite request back, and the diamond ends at once")
  func thirdConsumer() {
    let log = Recorder()
    let promise = source(log)
    let branches = [promise.future.map { $0 }, promise.future.map { $0 }]
    let all = Future.all(branches)
    let third = promise.future.map { $0 }

    all.cancel(.doNotForwardIfOthersWaiting)

    #expect(log.entries == [])
    #expect(branches.states() == ["cancelled", "cancelled"])
    #expect([all.state, third.state] == ["cancelled", "pending"])
  }

  @Test("one branch alone is held back by the other")
  func oneBranch() {
    let log = Recorder()
    let promise = source(log)
    let left = promise.future.map { $0 }
    let right = promise.future.map { $0 }
    left.cancel(.doNotForwardIfOthersWaiting)
    #expect(log.entries == [])

    right.cancel(.doNotForwardIfOthersWaiting)

    #expect(log.entries == ["source: ifOthers"])
  }

  @Test("a join that one branch decides withdraws the other, which then is the last: the source is asked")
  func decidedByOneBranch() {
    // Laws 3, 10 and 23 together: the left branch ends, `all` is decided by it and leaves the right branch.
    let log = Recorder()
    let promise = source(log)
    let left = promise.future.map { $0 }
    let right = promise.future.map { $0 }
    let all = Future.all([left, right])

    left.cancel(.doNotForwardRequest)

    #expect([left.state, all.state] == ["cancelled", "cancelled"])
    #expect(log.entries == ["source: ifOthers"])
  }

  @Test("every reached future knows that it was asked before a handler runs")
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

    #expect(log.entries == ["true true true"])
  }

  @Test("handlers run, those furthest upstream first")
  func furthestFirst() {
    let log = Recorder()
    let near = source(log, "near")
    let far = source(log, "far")
    let all = Future.all([near.future, far.future.map { $0 }.map { $0 }])

    all.cancel()

    #expect(log.entries == ["far: plain", "near: plain"])
    withExtendedLifetime(all) {}
  }

  @Test("a forced request that ends a branch reaches the handlers behind a join without the force (law 5)")
  func forceBehindJoin() {
    let log = Recorder()
    let (first, second) = (source(log, "first"), source(log, "second"))
    let tail = Future.all([first.future.map { $0 }, second.future, first.future.map { $0 }]).map { $0[0] }

    let receipt = tail.cancel(.forceImmediately)

    #expect(log.entries == ["first: plain", "second: plain"])
    #expect(receipt.effect == .completed)
    #expect(receipt.reached == 6)
  }

  @Test("completions are delivered after all handlers have run, each future once")
  func completionsLast() {
    let log = Recorder()
    let first = source(log, "first", answering: .complete(.cancelled))
    let second = source(log, "second", answering: .complete(.cancelled))
    let all = Future.all([first.future, second.future])
    first.future.observe { _ in log("observed first") }
    second.future.observe { _ in log("observed second") }
    all.observe { _ in log("observed all") }

    all.cancel()

    #expect(Set(log.entries.prefix(2)) == ["first: plain", "second: plain"])
    #expect(Set(log.entries.dropFirst(2)) == ["observed first", "observed second", "observed all"])
    #expect(log.count == 5)
  }

  @Test("stacked diamonds cost their edges, not their paths: 40 of them", .timeLimit(.minutes(60)))
  func stacked() {
    let log = Recorder()
    let promise = source(log)
    var tail = promise.future
    for _ in 0..<40 {
      tail = Future.all([tail.map { $0 }, tail.map { $0 }]).map { $0[0] }
    }

    let receipt = tail.cancel(.doNotForwardIfOthersWaiting)

    #expect(log.entries == ["source: ifOthers"])
    #expect(receipt.reached == 1 + 40 * 4)
  }
}
