import FutureTree
import TestSupport
import Testing

@Suite("Operators: all")
struct AllTests {
  @Test("All succeeds with the values in the order of the inputs, not of their completion")
  func succeeds() {
    let promises = (0..<3).map { _ in Promise<Int>() }
    let all = Future.all(promises.map { $0.future })

    promises[2].succeed(2)
    promises[0].succeed(0)
    expectEqual(all.state, "pending")
    promises[1].succeed(1)

    expectEqual(all.state, "success([0, 1, 2])")
  }

  @Test("All accepts completed inputs")
  func completedInputs() {
    let promise = Promise<Int>()
    let now = Future.all([.succeeded(1), .succeeded(2)])
    let later = Future.all([.succeeded(1), promise.future])

    promise.succeed(2)

    expectEqual([now.state, later.state], ["success([1, 2])", "success([1, 2])"])
  }

  @Test("All of no inputs succeeds with an empty array")
  func empty() {
    expectEqual(Future<Int>.all([]).state, "success([])")
  }

  static let deciders: [(Outcome<Int>, String)] = [
    (.failure(Oops()), "failure(oops)"), (.cancelled("gone"), "cancelled"),
  ]

  @Test("The first failure or cancellation decides, and later outcomes change nothing", arguments: deciders)
  func firstDecides(outcome: Outcome<Int>, state: String) {
    let promises = (0..<3).map { _ in Promise<Int>() }
    let all = Future.all(promises.map { $0.future })

    promises[1].complete(with: outcome)
    promises[0].fail(Oops("later"))
    promises[2].succeed(2)

    expectEqual(all.state, state)
    expectEqual(all.reason?.message, outcome.reason?.message)
  }

  @Test("A request is forwarded to all pending inputs, and the first cancelled input decides")
  func asked() {
    let log = Recorder()
    let first = source(log, "first")
    let second = source(log, "second")
    let done = source(log, "done")
    let all = Future.all([first.future, second.future, done.future])
    done.succeed(1)

    all.cancel()
    expectEqual(log.entries.sorted(), ["first: plain", "second: plain"])
    second.completeCancelled("stopped")

    expectEqual(all.reason?.message, "stopped")
    expectEqual(first.future.state, "pending")
  }

  @Test("All keeps its values if all inputs succeed after a request")
  func askedAndAllSucceed() {
    // A join has no body that law 11 (bodies that have not begun) could stop. The operator table says only "forwards to
    // all unfinished". The success is therefore kept, other than in a `map`, which completes cancelled.
    let first = Promise<Int>()
    let second = Promise<Int>()
    let all = Future.all([first.future, second.future])

    all.cancel()
    first.succeed(1)
    second.succeed(2)

    expectEqual(all.state, "success([1, 2])")
  }

  @Test("A request by the only token is forwarded to every input")
  func token() {
    let log = Recorder()
    let first = source(log, "first")
    let second = source(log, "second")
    let token = Future.all([first.future, second.future]).cancelToken()

    token.cancel(.doNotForwardIfOthersWaiting)

    expectEqual(log.entries.sorted(), ["first: ifOthers", "second: ifOthers"])
  }

  @Test("The values are released with the join")
  func releases() {
    let census = Census()
    func make() -> Future<Int> {
      let all = Future.all([Future.succeeded(census.probe()), Future.succeeded(census.probe())])
      return all.map { $0.count }
    }

    let count = make()

    expectEqual(count.state, "success(2)")
    expectEqual(census.alive, 0)
  }

  @Test("The decision releases the values that arrived before it")
  func releasesOnDecision() {
    let census = Census()
    let decider = Promise<Probe>()
    func make() -> Future<[Probe]> {
      let first = Promise<Probe>()
      let all = Future.all([first.future, decider.future])
      first.succeed(census.probe())
      return all
    }
    let all = make()

    decider.fail(Oops())

    #expect(all.isCompleted)
    expectEqual(census.alive, 0)
  }
}
