import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

/// A gate for tasks that records their cancellations.
private final class Stop: Sendable {
  private let promise = Promise<Void>()
  let log = Recorder()

  func open() { promise.succeed() }

  /// Waits until the gate opens, or until the task is cancelled.
  func wait() async throws {
    log("begins")
    do { try await promise.future.value } catch {
      log("cancelled")
      throw error
    }
  }
}

@Suite("Law 15: a task as a source", .tags(.law15))
struct Law15TasksTests {
  private let stop = Stop()
  private let executor = ManualExecutor()

  /// An operator with an async body that waits at the gate, and an outcome with which the body begins.
  struct AsyncOperator: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// The outcome of upstream with which the body begins.
    let trigger: Outcome<Int>
    let apply: @Sendable (Future<Int>, FutureExecutor, @escaping @Sendable () async throws -> Int) -> Future<Int>
    /// Whether the body runs although a request arrives before its executor starts it.
    var alwaysRuns = false
    /// The outcome after a request cancels the body.
    var whenCancelled = "cancelled"

    /// The outcome after the body reaches its end.
    var whenOpened = "success(5)"

    static let every: [AsyncOperator] = [
      AsyncOperator(
        testDescription: "asyncMap", trigger: .success(1),
        apply: { $0.asyncMap(on: $1) { [body = $2] _ in try await body() } }),
      AsyncOperator(
        testDescription: "asyncRecover", trigger: .failure(Oops()),
        apply: { $0.asyncRecover(on: $1) { [body = $2] _ in try await body() } }),
      AsyncOperator(
        testDescription: "asyncTraverse", trigger: .success(1),
        apply: { upstream, executor, body in
          upstream.flatMap { item in
            Future.asyncTraverse([item], atMost: 1, on: executor) { _ in try await body() }.map { $0[0] }
          }
        }),
      AsyncOperator(
        testDescription: "asyncRetry", trigger: .success(1),
        apply: { upstream, executor, body in
          upstream.flatMap { _ in Future.asyncRetry(.constant(attempts: 2), on: executor) { _ in try await body() } }
        }),
      AsyncOperator(
        testDescription: "asyncOnComplete, after a success", trigger: .success(1),
        apply: { $0.asyncOnComplete(on: $1) { [body = $2] _ in try await body() } }, alwaysRuns: true),
      AsyncOperator(
        testDescription: "asyncOnComplete, after a failure", trigger: .failure(Oops()),
        apply: { $0.asyncOnComplete(on: $1) { [body = $2] _ in try await body() } }, alwaysRuns: true),
      AsyncOperator(
        testDescription: "asyncOnComplete that replaces the error", trigger: .failure(Oops()),
        apply: {
          $0.asyncOnComplete(on: $1) { [body = $2] outcome -> Int in
            throw Oops("\(outcome.error ?? Oops("none")) \(try await body())")
          }
        }, alwaysRuns: true, whenOpened: "failure(oops 5)"),
      AsyncOperator(
        testDescription: "asyncOnComplete that passes a success", trigger: .success(1), apply: passing,
        alwaysRuns: true, whenCancelled: "success(1)", whenOpened: "success(1)"),
      AsyncOperator(
        testDescription: "asyncOnComplete that passes a failure", trigger: .failure(Oops()), apply: passing,
        alwaysRuns: true, whenCancelled: "failure(oops)", whenOpened: "failure(oops)"),
    ]

    /// Awaits the body, and passes the outcome of upstream whatever the body does.
    @Sendable private static func passing(
      _ upstream: Future<Int>, on executor: FutureExecutor, _ body: @escaping @Sendable () async throws -> Int
    ) -> Future<Int> {
      upstream.asyncOnComplete(on: executor) { outcome in
        _ = try? await body()
        return try outcome.get()
      }
    }
  }

  private func body() -> @Sendable () async throws -> Int {
    { [stop] in
      try await stop.wait()
      return 5
    }
  }

  @Test("A request is forwarded to the task of a body, which decides the outcome", arguments: AsyncOperator.every)
  func forwardsToBody(operation: AsyncOperator) {
    let promise = Promise<Int>()
    let future = operation.apply(promise.future, executor.executor, body())
    promise.complete(with: operation.trigger)
    executor.runAll()

    let receipt = future.cancel()
    executor.runAll()

    expectEqual(receipt.effect, .delivered)
    expectEqual(stop.log.entries, ["begins", "cancelled"])
    expectEqual(future.state, operation.whenCancelled)
  }

  @Test(
    "A body that waits for its executor does not begin after a request, except bodies that always run",
    arguments: AsyncOperator.every)
  func notBegun(operation: AsyncOperator) {
    let promise = Promise<Int>()
    let future = operation.apply(promise.future, executor.executor, body())
    promise.complete(with: operation.trigger)

    expectEqual(executor.pendingCount, 1)

    let receipt = future.cancel()
    let isRecover = operation.testDescription == "asyncRecover"
    expectEqual(future.state, (operation.alwaysRuns ? "pending" : isRecover ? "failure(oops)" : "cancelled"))
    expectEqual(receipt.handlers, 0)
    executor.runAll()

    expectEqual(stop.log.entries, operation.alwaysRuns ? ["begins", "cancelled"] : [])
    expectEqual(future.state, (isRecover ? "failure(oops)" : operation.whenCancelled))
  }

  @Test(
    "A body that waits for its executor does not begin if its future completes early, except bodies that always run",
    arguments: AsyncOperator.every,
    [.doNotForwardRequest, .forceImmediately, [.doNotForwardRequest, .forceImmediately]] as [CancellationOptions])
  func endedEarly(operation: AsyncOperator, options: CancellationOptions) {
    let promise = Promise<Int>()
    let future = operation.apply(promise.future, executor.executor, body())
    promise.complete(with: operation.trigger)

    future.cancel(options)
    expectEqual(future.state, "cancelled")
    executor.runAll()

    // These two are the inner future of a `flatMap`, which receives no request.
    let continues =
      ["asyncTraverse", "asyncRetry"].contains(operation.testDescription) && options.contains(.doNotForwardRequest)
    expectEqual(stop.log.entries, operation.alwaysRuns || continues ? ["begins"] : [])
    stop.open()
    executor.runAll()
    expectEqual(executor.pendingCount, 0)
  }

  @Test(
    "A queued body of asyncTraverse or asyncRetry does not begin after the future has completed",
    arguments: CancelEverywhere.allOptions, [true, false])
  func itemsEndedEarly(options: CancellationOptions, isTraverse: Bool) {
    let body = body()
    let ending: Ending?
    if isTraverse {
      let all = Future.asyncTraverse(1...3, atMost: 2, on: executor.executor) { _ in try await body() }
      all.cancel(options)
      ending = all.outcomeIfCompleted?.ending
    } else {
      let last = Future.asyncRetry(.constant(attempts: 2), on: executor.executor) { _ in try await body() }
      last.cancel(options)
      ending = last.outcomeIfCompleted?.ending
    }
    executor.runAll()

    expectEqual(ending, .cancelled)
    expectEqual(stop.log.entries, [])
  }

  @Test("An async body is queued once, also if its task then waits", arguments: AsyncOperator.every)
  func queuedOnce(operation: AsyncOperator) {
    let promise = Promise<Int>()
    let future = operation.apply(promise.future, executor.executor, body())
    promise.complete(with: operation.trigger)

    executor.runNext()

    expectEqual(stop.log.entries, ["begins"])
    expectEqual(executor.pendingCount, 0)
    #expect(!future.isCompleted)
    stop.open()
    executor.runAll()
    #expect(future.isCompleted)
  }

  @Test("A body that was not begun is released at the request, although its executor retains the job")
  func releasesUnbegun() {
    let census = Census()
    func mapped(_ probe: Probe) -> Future<Int> {
      Future.succeeded(1).asyncMap(on: executor.executor) { value in
        probe.touch()
        return value
      }
    }
    let future = mapped(census.probe())

    future.cancel()

    expectEqual(census.alive, 0)
    expectEqual(executor.pendingCount, 1)
    executor.runAll()
    expectEqual(future.state, "cancelled")
  }

  @Test("A request to Future.task ends it at once, or its body has begun")
  func unbegunTask() async {
    for _ in 0..<100 {
      let hasBegun = Locked(false)
      let future = Future.task { hasBegun.value = true }

      future.cancel(reason: "enough")
      let endsAtOnce = future.reason?.message == "enough"
      _ = await future.outcome

      #expect(endsAtOnce != hasBegun.value)
    }
  }

  @Test("The value of the body is the outcome without a request", arguments: AsyncOperator.every)
  func succeeds(operation: AsyncOperator) {
    let promise = Promise<Int>()
    let future = operation.apply(promise.future, executor.executor, body())
    promise.complete(with: operation.trigger)
    executor.runAll()

    stop.open()
    executor.runAll()

    expectEqual(future.state, operation.whenOpened)
  }

  @Test("asyncOnComplete after a cancellation runs its body in a task that receives no request")
  func afterCancellation() {
    let stop = stop
    let promise = Promise<Int>()
    let future = promise.future.asyncOnComplete(on: executor.executor) { outcome in
      _ = try? await stop.wait()
      return try outcome.get()
    }
    promise.completeCancelled("gone")
    executor.runAll()

    future.cancel()
    let before = future.state
    stop.open()
    executor.runAll()

    expectEqual(stop.log.entries, ["begins"])
    expectEqual([before, future.state], ["pending", "cancelled"])
    expectEqual(future.reason?.message, "gone")
  }

  @Test("Future.task completes with the value, the error or the cancellation of its body")
  func task() async {
    let stop = stop
    let value = Future.task { 1 }
    let failure = Future<Int>.task { throw Oops() }
    let waiting = Future<Int>.task {
      try await stop.wait()
      return 1
    }

    waiting.cancel(reason: "enough")

    await expectEqual(value.outcome.state, "success(1)")
    await expectEqual(failure.outcome.state, "failure(oops)")
    await expectEqual(waiting.outcome.reason?.message, "enough")
  }

  @Test("A task may ignore the request and succeed")
  func ignores() {
    let stop = stop
    let future = Future.succeeded(1).asyncMap(on: executor.executor) { value in
      try? await stop.wait()
      return value
    }
    executor.runAll()

    future.cancel()
    executor.runAll()

    expectEqual(stop.log.entries, ["begins", "cancelled"])
    expectEqual(future.state, "success(1)")
  }

  @Test("A body that throws CancellationError or FutureCancelled cancels its future, async or not")
  func throwsCancellation() async {
    let thrown: [any Error] = [CancellationError(), FutureCancelled(reason: "mine")]
    for error in thrown {
      let plain = Future<Int>.succeeded(1).map { _ -> Int in throw error }
      let inTask = Future<Int>.task { throw error }

      expectEqual(plain.state, "cancelled")
      await expectEqual(inTask.outcome.state, "cancelled")
    }
    await expectEqual(Future<Int>.task { throw FutureCancelled(reason: "mine") }.outcome.reason?.message, "mine")
  }

  @Test(
    "An executor that drops the job of a task fails its future, and the task ends",
    arguments: AsyncOperator.every.filter { $0.testDescription != "asyncRetry" })  // It tries again.
  func dropped(operation: AsyncOperator) {
    let promise = Promise<Int>()
    let future = operation.apply(promise.future, executor.executor, body())
    promise.complete(with: operation.trigger)

    executor.dropAll()

    #expect(future.outcomeIfCompleted?.error is DroppedJob)
    expectEqual(stop.log.entries, [])
  }

  @Test("An executor that drops the job of a task whose body has begun fails its future, and the task ends")
  func droppedLater() async {
    let (ended, stop) = (Promise<Void>(), stop)
    let future = Future.succeeded(1).asyncMap(on: executor.executor) { value -> Int in
      defer { ended.succeed() }
      try await stop.wait()
      return value
    }
    executor.runNext()
    stop.open()

    executor.dropAll()

    #expect(future.outcomeIfCompleted?.error is DroppedJob)
    _ = await ended.future.outcome
  }

  @Test("A completed task is released with its captures")
  func releases() async {
    let census = Census()
    let future = Future.task { [probe = census.probe()] in probe.touch() }

    _ = await future.outcome
    await Task.yield()

    spin { census.alive == 0 }
  }
}
