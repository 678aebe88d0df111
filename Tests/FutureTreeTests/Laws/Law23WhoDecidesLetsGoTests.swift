import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

/// Law 23 for `traverse`, which is a join of bodies, is in `TraverseTests`.
@Suite("Law 23: who decides, lets go")
struct Law23WhoDecidesLetsGoTests {
  private let clock = ManualClock()

  @Test(
    "a join that is decided withdraws from the inputs left, under law 3, and says why",
    arguments: JoinUnderTest.deciding)
  func letsGo(join: JoinUnderTest, outcome: Outcome<Int>) {
    let log = Recorder()
    let (decider, left, wanted) = (Promise<Int>(), source(log, "left"), source(log, "wanted"))
    let joined = join.apply([decider.future, left.future])
    let other = join.apply([decider.future, wanted.future])
    let token = wanted.future.cancelToken()

    decider.complete(with: outcome)

    #expect(joined.isCompleted && other.isCompleted)
    #expect(log.entries == ["left: ifOthers"])
    #expect(left.cancelRequest?.reason.message.contains("`\(join.testDescription)`") == true)
    withExtendedLifetime((token, left, wanted)) {}
  }

  @Test(
    "the request goes on through what only the join wanted, and stops where others want",
    arguments: JoinUnderTest.deciding)
  func goesOn(join: JoinUnderTest, outcome: Outcome<Int>) {
    let log = Recorder()
    let (decider, near, far) = (Promise<Int>(), source(log, "near"), source(log, "far"))
    let wanted = far.future.map { $0 }
    let joined = join.apply([decider.future, Future.all([near.future, wanted.map { $0 }]).map { $0[0] }])
    let token = wanted.cancelToken()

    decider.complete(with: outcome)

    #expect(joined.isCompleted)
    #expect(log.entries == ["near: ifOthers"])
    #expect(far.cancelRequest == nil && wanted.state == "pending")
    withExtendedLifetime((token, near, far)) {}
  }

  @Test("also if an input had failed before the join was made")
  func decidedAtBirth() {
    let log = Recorder()
    let left = source(log, "left")
    let behind = source(log, "behind")

    let all = Future.all([left.future, .failed(Oops()), behind.future])

    #expect(all.state == "failure(oops)")
    #expect(log.entries.sorted() == ["behind: ifOthers", "left: ifOthers"])
  }

  @Test("what was withheld for the join at an input is delivered when it lets go")
  func deliversWithheld() {
    let log = Recorder()
    let left = source(log, "left")
    let decider = Promise<Int>()
    let all = Future.all([left.future, decider.future])
    left.future.cancel(.doNotForwardIfOthersWaiting, reason: "first")
    #expect(log.entries == [])

    decider.fail(Oops())

    #expect(log.entries == ["left: ifOthers"])
    #expect(left.cancelRequest?.reason.message == "first")
    #expect(all.isCompleted)
  }

  @Test("a timeout that expires withdraws with a reason that says so")
  func expires() {
    let log = Recorder()
    let promise = source(log)
    let timed = promise.future.timeout(after: .seconds(5), clock: clock)

    clock.advance(by: .seconds(5))

    #expect(timed.outcomeIfCompleted?.error as? TimeoutError == TimeoutError(duration: .seconds(5)))
    #expect(log.entries == ["source: ifOthers"])
    #expect(promise.cancelRequest?.reason.message == "timed out after 5.0 seconds")
    #expect(promise.future.tree().entries[0].consumers == 0)
  }

  @Test("a timeout that expires leaves a future that others want alone")
  func othersWant() {
    let log = Recorder()
    let promise = source(log)
    let other = promise.future.map { $0 }
    let timed = promise.future.timeout(after: .seconds(5), clock: clock)

    clock.advance(by: .seconds(5))
    promise.succeed(1)

    #expect(
      [timed.state, other.state] == [
        "failure(No outcome within 5.0 seconds. Allow more time, or see `tree()`.)", "success(1)",
      ])
    #expect(log.entries == [])
  }
}
