import FutureTree
import TestSupport
import Testing

/// A join of several futures of integers, with its outcome as text.
struct JoinUnderTest: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let apply: @Sendable ([Future<Int>]) -> Future<String>
  /// The outcomes of the first input that decide the join while the second is pending.
  let deciders: [Outcome<Int>]

  static let every: [JoinUnderTest] = [
    JoinUnderTest(
      testDescription: "all", apply: { Future.all($0).map { "\($0)" } },
      deciders: [.failure(Oops()), .cancelled("gone")]),
    JoinUnderTest(
      testDescription: "zip", apply: { Future.zip($0[0], $0[1]).map { "\($0)" } },
      deciders: [.failure(Oops()), .cancelled("gone")]),
    JoinUnderTest(
      testDescription: "allSettled", apply: { Future.allSettled($0).map { "\($0.map(\.state))" } }, deciders: []),
    JoinUnderTest(
      testDescription: "race", apply: { Future.race($0).map { "\($0)" } },
      deciders: [.success(1), .failure(Oops()), .cancelled("gone")]),
    JoinUnderTest(testDescription: "any", apply: { Future.any($0).map { "\($0)" } }, deciders: [.success(1)]),
  ]

  static let deciding: [(JoinUnderTest, Outcome<Int>)] = every.flatMap { join in join.deciders.map { (join, $0) } }
}

@Suite("Operators: every join")
struct JoinTests {
  @Test("A request to a join is forwarded to all pending inputs", arguments: JoinUnderTest.every)
  func forwards(join: JoinUnderTest) {
    let log = Recorder()
    let sources = (0..<2).map { source(log, "source \($0)") }
    let joined = join.apply(sources.map(\.future))

    let receipt = joined.cancel()

    expectEqual(log.entries.sorted(), ["source 0: plain", "source 1: plain"])
    expectEqual(receipt.effect, .delivered)
    expectEqual(receipt.handlers, 2)
    expectEqual(joined.state, "pending")
    withExtendedLifetime(sources) {}
  }

  @Test(
    "A future derived from a join completes cancelled if the inputs succeed after a request",
    arguments: JoinUnderTest.every)
  func successAfterRequest(join: JoinUnderTest) {
    let sources = [Promise<Int>(), Promise<Int>()]
    let joined = join.apply(sources.map(\.future)).recover { error in "\(error)" }

    joined.cancel()
    for (index, source) in sources.enumerated() { source.succeed(index) }

    // The derived `map` received the request as well, and does not run its body.
    expectEqual(joined.state, "cancelled")
  }

  @Test("A join is one consumer of each input, also of a repeated input", arguments: JoinUnderTest.every)
  func counts(join: JoinUnderTest) {
    let promise = Promise<Int>()
    let joined = join.apply([promise.future, promise.future])

    let consumers = promise.future.tree().entries[0].consumers
    promise.succeed(1)

    expectEqual(consumers, 1)
    #expect(joined.isCompleted)
  }

  @Test(
    "A withheld input ends the branch at once and detaches it from the others (law 3, stopping where others wait)",
    .tags(.law03),
    arguments: JoinUnderTest.every)
  func withheld(join: JoinUnderTest) {
    let log = Recorder()
    let (mine, wanted) = (source(log, "mine"), source(log, "wanted"))
    let token = wanted.future.cancelToken()
    let joined = join.apply([mine.future, wanted.future.map { $0 }])
    let tail = joined.onComplete { outcome in .success(log("tail \(outcome.state)")) }

    let receipt = tail.cancel(.doNotForwardIfOthersWaiting)

    expectEqual([joined.state, tail.state], ["cancelled", "cancelled"])
    expectEqual(log.entries, ["mine: ifOthers", "tail cancelled"])
    expectEqual(receipt.effect, .delivered)
    expectEqual(mine.future.tree().entries[0].consumers, 0)
    withExtendedLifetime((token, mine, wanted)) {}
  }

  @Test(
    "A forced join completes at once, and its inputs receive the request without force (law 5, force)", .tags(.law05),
    arguments: JoinUnderTest.every
  )
  func forced(join: JoinUnderTest) {
    let log = Recorder()
    let sources = (0..<2).map { source(log, "source \($0)") }
    let joined = join.apply(sources.map(\.future))

    joined.cancel(.forceImmediately)

    expectEqual(joined.state, "cancelled")
    expectEqual(log.entries.sorted(), ["source 0: plain", "source 1: plain"])
    withExtendedLifetime(sources) {}
  }

  @Test(
    "A join detaches without a request to its inputs (law 4, this future only)", .tags(.law04),
    arguments: JoinUnderTest.every)
  func lawFour(join: JoinUnderTest) {
    let log = Recorder()
    let sources = (0..<2).map { source(log, "source \($0)") }
    let joined = join.apply(sources.map(\.future))

    joined.cancel(.doNotForwardRequest)

    expectEqual(joined.state, "cancelled")
    expectEqual(log.entries, [])
    expectEqual(sources.map { $0.future.tree().entries[0].consumers }, [0, 0])
  }

  @Test(
    "A decided join retains no input and no value (law 21, bounded memory)", .tags(.law21),
    arguments: JoinUnderTest.deciding)
  func releases(join: JoinUnderTest, outcome: Outcome<Int>) {
    let census = Census()
    let decider = Promise<Int>()
    let left = Promise<Int>()
    let probed = left.future.map { [probe = census.probe()] value -> Int in
      probe.touch()
      return value
    }
    let joined = join.apply([decider.future, probed])

    decider.complete(with: outcome)
    left.succeed(1)

    #expect(joined.isCompleted)
    expectEqual(census.alive, 0)
  }

  @Test(
    "A join without consumers is not a consumer of its inputs (law 10, one consumer, one count)", .tags(.law10),
    arguments: JoinUnderTest.every)
  func abandoned(join: JoinUnderTest) {
    let promises = [Promise<Int>(), Promise<Int>()]
    let joined = join.apply(promises.map(\.future))
    var token: CancelToken? = joined.cancelToken()
    let before = promises.map { $0.future.tree().entries[0].consumers }

    token = nil
    let after = promises.map { $0.future.tree().entries[0].consumers }
    token = joined.cancelToken()
    let again = promises.map { $0.future.tree().entries[0].consumers }

    expectEqual([before, after, again], [[1, 1], [0, 0], [1, 1]])
    withExtendedLifetime((token, promises)) {}
  }
}

@Suite("Operators: allSettled")
struct AllSettledTests {
  @Test("allSettled succeeds with all outcomes in the order of the inputs")
  func settles() {
    let promises = (0..<3).map { _ in Promise<Int>() }
    let settled = Future.allSettled(promises.map(\.future))

    promises[2].completeCancelled("gone")
    promises[0].succeed(0)
    expectEqual(settled.state, "pending")
    promises[1].fail(Oops())

    let outcomes = settled.map { $0.map(\.state) }
    expectEqual(outcomes.state, #"success(["success(0)", "failure(oops)", "cancelled"])"#)
  }

  @Test("allSettled completes cancelled after a request, once all inputs have settled")
  func asked() {
    let promises = [Promise<Int>(), Promise<Int>()]
    let settled = Future.allSettled(promises.map(\.future))

    settled.cancel(reason: "enough")
    promises[0].succeed(1)
    expectEqual(settled.state, "pending")
    promises[1].fail(Oops())

    expectEqual(settled.state, "cancelled")
    expectEqual(settled.reason?.message, "enough")
  }

  @Test("allSettled of no inputs succeeds with an empty array")
  func empty() {
    expectEqual(Future<Int>.allSettled([]).outcomeIfCompleted?.ending, .succeeded)
  }
}

@Suite("Operators: race")
struct RaceTests {
  @Test(
    "The first outcome of any kind decides, and later outcomes change nothing",
    arguments: [Outcome<Int>.success(1), .failure(Oops()), .cancelled("gone")])
  func first(outcome: Outcome<Int>) {
    let promises = (0..<3).map { _ in Promise<Int>() }
    let race = Future.race(promises.map(\.future))

    promises[1].complete(with: outcome)
    promises[0].succeed(7)

    expectEqual(race.outcomeIfCompleted, outcome)
    withExtendedLifetime(promises) {}
  }

  @Test("The first completed input in the list wins")
  func completed() {
    expectEqual(Future.race([.failed(Oops()), Future.succeeded(1)]).state, "failure(oops)")
  }

  @Test("race of no inputs fails with AllFailed without errors")
  func empty() {
    let error = Future<Int>.race([]).outcomeIfCompleted?.error as? AllFailed

    expectEqual(error?.errors.isEmpty, true)
    expectEqual(error?.description.contains("empty"), true)
  }
}

@Suite("Operators: any")
struct AnyTests {
  @Test("The first success decides; failures and cancellations before it do not")
  func firstSuccess() {
    let promises = (0..<3).map { _ in Promise<Int>() }
    let any = Future.any(promises.map(\.future))

    promises[0].fail(Oops())
    promises[1].completeCancelled("gone")
    expectEqual(any.state, "pending")
    promises[2].succeed(2)

    expectEqual(any.state, "success(2)")
    withExtendedLifetime(promises) {}
  }

  @Test("Any fails with every error in the order of the inputs")
  func allFailed() {
    let promises = (0..<2).map { _ in Promise<Int>() }
    let any = Future.any(promises.map(\.future))

    promises[1].fail(Oops("second"))
    promises[0].fail(Oops("first"))

    let errors = (any.outcomeIfCompleted?.error as? AllFailed)?.errors.map { "\($0)" }
    expectEqual(errors, ["first", "second"])
    expectEqual(
      "\(any.outcomeIfCompleted!.error!)",
      "No future succeeded, and 2 failed: first; second. Recover from this error, or see `errors`.")
  }

  @Test("Any of cancelled inputs is cancelled with the reason of the first")
  func allCancelled() {
    let any = Future<Int>.any([.cancelled("first"), .cancelled("second")])

    expectEqual(any.reason?.message, "first")
  }

  @Test("Any of failed and cancelled inputs fails with the errors")
  func mixed() {
    let any = Future<Int>.any([.cancelled("gone"), .failed(Oops())])

    expectEqual(
      "\(any.outcomeIfCompleted!.error!)",
      "No future succeeded, and 1 failed: oops. Recover from this error, or see `errors`.")
  }

  @Test("Any of no inputs fails with AllFailed without errors")
  func empty() {
    expectEqual((Future<Int>.any([]).outcomeIfCompleted?.error as? AllFailed)?.errors.isEmpty, true)
  }
}
