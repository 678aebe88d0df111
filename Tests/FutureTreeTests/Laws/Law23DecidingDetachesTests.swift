import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

/// Law 23 (deciding detaches) for `traverse`, which is a join of bodies, is in `TraverseTests`.
@Suite("Law 23: deciding detaches", .tags(.law23))
struct Law23DecidingDetachesTests {
  private let clock = ManualClock()

  // Law 3 (stopping where others wait)
  @Test(
    "A decided join withdraws from its remaining inputs with a reason that names it",
    arguments: JoinUnderTest.deciding)
  func detaches(join: JoinUnderTest, outcome: Outcome<Int>) {
    let log = Recorder()
    let (decider, left, awaited) = (Promise<Int>(), source(log, "left"), source(log, "wanted"))
    let joined = join.apply([decider.future, left.future])
    let other = join.apply([decider.future, awaited.future])
    let token = awaited.future.cancelToken()

    decider.complete(with: outcome)

    #expect(joined.isCompleted && other.isCompleted)
    expectEqual(log.entries, ["left: ifOthers"])
    expectEqual(left.cancelRequest?.reason.message.contains("`\(join.testDescription)`"), true)
    withExtendedLifetime((token, left, awaited)) {}
  }

  @Test(
    "The request of a decided join stops at futures with other consumers",
    arguments: JoinUnderTest.deciding)
  func goesOn(join: JoinUnderTest, outcome: Outcome<Int>) {
    let log = Recorder()
    let (decider, near, far) = (Promise<Int>(), source(log, "near"), source(log, "far"))
    let awaited = far.future.map { $0 }
    let joined = join.apply([decider.future, Future.all([near.future, awaited.map { $0 }]).map { $0[0] }])
    let token = awaited.cancelToken()

    decider.complete(with: outcome)

    #expect(joined.isCompleted)
    expectEqual(log.entries, ["near: ifOthers"])
    #expect(far.cancelRequest == nil)
    expectEqual(awaited.state, "pending")
    withExtendedLifetime((token, near, far)) {}
  }

  @Test("A join with an input that failed before the join was made withdraws from its other inputs")
  func decidedAtBirth() {
    let log = Recorder()
    let left = source(log, "left")
    let behind = source(log, "behind")

    let all = Future.all([left.future, .failed(Oops()), behind.future])

    expectEqual(all.state, "failure(oops)")
    expectEqual(log.entries.sorted(), ["behind: ifOthers", "left: ifOthers"])
  }

  @Test("A decided join delivers the request that an input withheld for it")
  func deliversWithheld() {
    let log = Recorder()
    let left = source(log, "left")
    let decider = Promise<Int>()
    let all = Future.all([left.future, decider.future])
    left.future.cancel(.doNotForwardIfOthersWaiting, reason: "first")
    expectEqual(log.entries, [])

    decider.fail(Oops())

    expectEqual(log.entries, ["left: ifOthers"])
    expectEqual(left.cancelRequest?.reason.message, "first")
    #expect(all.isCompleted)
  }

  @Test("A timeout that expires withdraws with a reason that reports the timeout")
  func expires() {
    let log = Recorder()
    let promise = source(log)
    let timed = promise.future.timeout(after: .seconds(5), clock: clock)

    clock.advance(by: .seconds(5))

    expectEqual(timed.outcomeIfCompleted?.error as? TimeoutError, TimeoutError(duration: .seconds(5)))
    expectEqual(log.entries, ["source: ifOthers"])
    expectEqual(promise.cancelRequest?.reason.message, "timed out after 5 s")
    expectEqual(promise.future.tree().entries[0].consumers, 0)
  }

  @Test("A timeout that expires does not cancel a future with other consumers")
  func othersWait() {
    let log = Recorder()
    let promise = source(log)
    let other = promise.future.map { $0 }
    let line = #line + 1 as UInt
    let timed = promise.future.timeout(after: .seconds(5), clock: clock)

    clock.advance(by: .seconds(5))
    promise.succeed(1)

    let error = timed.outcomeIfCompleted?.error as? TimeoutError
    expectEqual(error?.description.hasPrefix("The future `promise` timed out after 5 s (FutureTreeTests/Law23"), true)
    expectEqual(error?.name, "promise")
    expectEqual(error?.location?.line, line)
    expectEqual(other.state, "success(1)")
    expectEqual(log.entries, [])
  }
}
