import Dispatch
import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

@Suite("CancelEverywhere")
struct CancelEverywhereTests {
  @Test("A correct scenario passes at each point with each option")
  func passes() throws {
    let report = try CancelEverywhere.run { trial in
      let load = Future.after(.seconds(1), clock: trial.clock)
      return load.flatMap(on: trial.executor) { Future.after(.seconds(2), clock: trial.clock) }.map { 7 }
    }

    #expect(report.points.contains("the scenario has returned"))
    #expect(report.points.contains("a job is about to run"))
    #expect(report.points.contains("the timer at 1 s is about to fire"))
    #expect(report.points.contains("the timer at 3 s is about to fire"))
    #expect(report.points.contains { $0.contains("waits for") })
    #expect(report.points.contains { $0.contains("has ended") })
    expectEqual(report.runs, 1 + 6 * report.points.count)
    #expect("\(report)".hasPrefix("8 points, 49 runs:\n0. the scenario has returned\n"))
  }

  /// Waits, and has bodies on the main actor, one of which submits the next.
  private func onMain(_ trial: CancelTrial) -> Future<Int> {
    Future.after(.seconds(1), clock: trial.clock)
      .flatMap(on: .main) { () -> Future<Int> in
        MainActor.preconditionIsolated()
        return Future.succeeded(1).map(on: .main) { $0 + 1 }
      }
      .ensure(on: .main) { MainActor.preconditionIsolated() }
  }

  @Test("Bodies on the main actor are jobs of the trial, in a test that is not on it")
  func takesOverTheMainActor() throws {
    let report = try CancelEverywhere.run { onMain($0) }

    expectEqual(report.points.filter { $0 == "a job is about to run" }.count, 3)
  }

  @MainActor @Test("Bodies on the main actor are jobs of the trial, in a test on the main actor")
  func takesOverTheMainActorOnIt() throws {
    let report = try CancelEverywhere.run { onMain($0) }

    expectEqual(report.points.filter { $0 == "a job is about to run" }.count, 3)
  }

  @Test("A failure names the executors on which bodies wait")
  func namesExecutors() throws {
    let queue = DispatchQueue(label: "parser", attributes: .initiallyInactive)
    defer { queue.activate() }
    let jobs = Locked<[FutureExecutor.Job]>([])
    let executors: [FutureExecutor] = [.queue(queue), .custom { job in jobs.withLock { $0.append(job) } }]
    let names = ["the queue “parser”", "a custom executor"]

    for (executor, name) in zip(executors, names) {
      let failure = #expect(throws: CancelEverywhereFailure.self) {
        try CancelEverywhere.run { _ in Future.succeeded(1).map(on: executor) { $0 } }
      }
      expectEqual(failure?.description.contains("The body of map waits for \(name)."), true)
    }
    jobs.value = []
  }

  @Test("All features of the futures pass")
  func library() throws {
    try CancelEverywhere.run { trial in
      let clock = trial.clock
      let queue = FutureQueue()
      let first = queue.add { Future.after(.seconds(1), clock: clock) }
      let second = queue.add { Future.after(.seconds(1), clock: clock) }
      let retried = Future.retry(.constant(attempts: 3, delay: .seconds(1)), clock: clock) { _ in
        Future.after(.seconds(1), clock: clock).map(on: trial.executor) { throw Refusal() }
      }.recover { _ in }
      let shared = Future.after(.seconds(3), clock: clock).shared()
      let race = Future.race([shared.map {}, Promise<Void>().future.timeout(after: .seconds(2), clock: clock)])
      return Future.allSettled([first, second, retried, race, shared.shielded()]).ensure(on: trial.executor) {}
    }
  }

  @Test("The timers of operators end with their operators")
  func timersOfOperators() throws {
    try CancelEverywhere.run { trial in
      Future.after(.seconds(1), clock: trial.clock).delayed(by: .seconds(9), clock: trial.clock)
    }
    try CancelEverywhere.run { trial in
      Future<Void>.retry(.constant(attempts: 3, delay: .seconds(9)), clock: trial.clock) { _ in .failed(Refusal()) }
        .recover { _ in }
    }
    try CancelEverywhere.run { trial in
      Promise<Void>().future.timeout(after: .seconds(9), clock: trial.clock)
        .recover { _ in }
        .delayed(by: .seconds(9), clock: trial.clock)
        .shared(linger: .seconds(1), clock: trial.clock)
    }
  }

  @Test("Futures in flight that confirm later end before their traversal")
  func traversal() throws {
    try CancelEverywhere.run { trial in
      let (inFlight, atEnd) = (Locked(0), Locked(0))
      let all = Future<Void>.traverse(1...4, atMost: 3, on: trial.executor) { number in
        inFlight.withLock { $0 += 1 }
        return confirming(after: .seconds(number), trial.clock).ensure { inFlight.withLock { $0 -= 1 } }
      }
      all.observe { [weak atEnd] _ in
        let endsEarly = all.cancelRequest?.options.isDisjoint(with: [.forceImmediately, .doNotForwardRequest]) == false
        atEnd?.value = endsEarly ? 0 : inFlight.value
      }
      trial.expect("no future is in flight when a traversal has ended that was only asked") { _ in atEnd.value == 0 }
      return all
    }
  }

  @Test("A scope that is ended in the body of `run` asks the work of that body")
  func scopeEndsInRun() throws {
    try CancelEverywhere.run { trial in
      let scope = trial.track(CancelScope("page", whenEnded: .cancelsWork))
      let start = scope.run { Future.after(.seconds(1), clock: trial.clock) }.flatMap(on: trial.executor) {
        scope.run { () -> Future<Void> in
          scope.end()
          return confirming(after: nil, trial.clock)
        }
      }
      start.observe { _ in scope.end() }
      return scope.future
    }
  }

  private struct Refusal: Error {}

  @Test("A future that does not complete after a cancellation is found")
  func hangs() throws {
    let failure = try failure { trial in
      let promise = Promise<Void>()
      let timer = trial.clock.schedule(after: .seconds(1)) { promise.succeed(()) }
      promise.onRequestCancel { _ in
        timer.cancel()
        return .continue
      }
      trial.expect("the promise is kept") { _ in promise.cancelRequest != nil || promise.future.isCompleted }
      return promise.future
    }

    expectEqual(failure.point, CancelPoint(0))
    #expect(failure.problems[0].hasPrefix("The future has not completed. No job and no timer of the trial is left."))
    #expect(failure.description.contains("was cancelled at point 0: the scenario has returned."))
    #expect(failure.description.contains("try CancelEverywhere.run(only: CancelPoint(0)) { … }"))
    #expect(failure.description.contains("asked to cancel: CancelEverywhere, point 0"))
  }

  @Test("A timer that is not cancelled is found, unless the grace time covers it")
  func timers() throws {
    let scenario: (CancelTrial) -> Future<Void> = { trial in
      let promise = Promise<Void>()
      _ = trial.clock.schedule(after: .seconds(1)) { promise.succeed(()) }
      promise.onRequestCancel { _ in .complete(.cancelled) }
      return promise.future
    }

    let failure = try failure(of: scenario)
    expectEqual(failure.problems.map { $0.prefix(23) }, ["A timer is set for 1 s,"])
    try CancelEverywhere.run(grace: .seconds(1), scenario)
  }

  @Test("An object that stays in memory is found, and so are the futures that it retains")
  func memory() throws {
    final class Cache: Sendable {
      let entry = Locked<(Future<Void>, Cache)?>(nil)
    }

    let failure = try failure { trial in
      let cache = trial.track(Cache(), "the cache")
      let load = Future.after(.seconds(1), clock: trial.clock).named("load")
      cache.entry.value = (load, cache)
      load.observe { if case .success = $0 { cache.entry.value = nil } }
      return load
    }

    expectEqual(failure.problems.map { $0.components(separatedBy: " is still")[0] }, ["the cache", "`load` (1)"])
  }

  @Test("A broken rule is found, with the ending of the future")
  func rules() throws {
    let failure = try failure { trial in
      let paid = Locked(false)
      trial.expect("nothing is paid without a success") { ending in ending == .succeeded || !paid.value }
      return Future.after(.seconds(1), clock: trial.clock).map { paid.value = true }
        .flatMap { Future.after(.seconds(1), clock: trial.clock) }
    }

    let rule = "The rule “nothing is paid without a success” does not hold."
    expectEqual(failure.problems, ["\(rule) The future has been cancelled."])
    // The upstream continues after a request that it does not receive.
    expectEqual(failure.point, CancelPoint(0, [.doNotForwardRequest]))
  }

  @Test("A future of the tree that never ends is found")
  func abandoned() throws {
    let failure = try failure { trial in
      let promise = Promise<Void>()
      let page = promise.future.named("load").map {}
      _ = trial.clock.schedule(after: .seconds(1)) {
        if !page.isCompleted { promise.succeed(()) }
      }
      trial.expect("the promise is kept") { _ in promise.future.isCompleted || promise.cancelRequest == nil }
      return page
    }

    expectEqual(failure.point, CancelPoint(0, [.doNotForwardRequest]))
    expectEqual(failure.problems, ["`load` (2) has not ended. No job and no timer is left that could complete it."])
  }

  @Test("A run that never ends is found")
  func endless() throws {
    @Sendable func tick(_ clock: ManualClock) {
      _ = clock.schedule(after: .seconds(1)) { tick(clock) }
    }

    let failure = try failure(stepLimit: 20) { trial in
      tick(trial.clock)
      return Future.after(.seconds(5), clock: trial.clock)
    }

    #expect(failure.point == nil)
    expectEqual(failure.problems.last, "The trial has not ended after 20 jobs and timers.")
    #expect(failure.description.hasPrefix("The scenario failed without a cancellation."))
  }

  @Test("A scenario that differs from run to run is found")
  func randomness() throws {
    let runs = Locked(0)

    let failure = try failure { trial in
      let number = runs.withLock { runs in
        runs += 1
        return runs
      }
      return Future.after(.seconds(number), clock: trial.clock).map {}
    }

    #expect(failure.problems[0].hasPrefix("The scenario is not deterministic: point 1 was “"))
  }

  @Test("A scenario without a point, and a scenario that waits for a task, are refused")
  func nothingToCancel() throws {
    #expect(try failure { _ in Future.succeeded(1) }.problems[0].hasPrefix("The scenario has no point to cancel"))
    let never = Promise<Void>()
    #expect(try failure { _ in never.future }.problems[0].contains("Tasks, dispatch queues and the system clock"))
  }

  @Test("One trial can be repeated alone, and an unknown point is reported")
  func only() throws {
    let runs = Locked(0)
    let scenario: (CancelTrial) -> Future<Void> = { trial in
      runs.withLock { $0 += 1 }
      return Future.after(.seconds(1), clock: trial.clock)
    }

    let report = try CancelEverywhere.run(only: CancelPoint(1, [.forceImmediately]), scenario)
    expectEqual(report.runs, 2)
    expectEqual(runs.value, 2)
    let failure = try #require(throws: CancelEverywhereFailure.self) {
      try CancelEverywhere.run(only: CancelPoint(99), scenario)
    }
    expectEqual(failure.problems, ["The scenario has \(report.points.count) points, so point 99 is not one."])
  }

  @Test("The text of a point is its code")
  func text() {
    expectEqual("\(CancelPoint(3))", "CancelPoint(3)")
    expectEqual(
      "\(CancelPoint(4, [.doNotForwardRequest, .forceImmediately]))",
      "CancelPoint(4, [.doNotForwardRequest, .forceImmediately])")
  }

  @Test("The error of a scenario is thrown as it is")
  func scenarioThrows() {
    #expect(throws: Refusal.self) { try CancelEverywhere.run { _ -> Future<Void> in throw Refusal() } }
  }

  private func failure<Value>(
    stepLimit: Int = 10_000, of scenario: (CancelTrial) throws -> Future<Value>
  ) throws -> CancelEverywhereFailure {
    try #require(throws: CancelEverywhereFailure.self) { try CancelEverywhere.run(stepLimit: stepLimit, scenario) }
  }
}

/// Returns a future that succeeds after a duration, or never. It confirms a request one second later.
private func confirming(after duration: Duration?, _ clock: ManualClock) -> Future<Void> {
  let promise = Promise<Void>()
  let timer = duration.map { clock.schedule(after: $0) { promise.succeed() } }
  promise.onRequestCancel { request in
    timer?.cancel()
    // Retains the promise: a promise that is dropped completes its future.
    _ = clock.schedule(after: .seconds(1)) { withExtendedLifetime(promise) { _ = request.complete(.cancelled) } }
    return .continue
  }
  return promise.future
}
