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

@Suite("Law 15: a task as a source")
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

    #expect(receipt.effect == .delivered)
    #expect(stop.log.entries == ["begins", "cancelled"])
    #expect(future.state == operation.whenCancelled)
  }

  @Test(
    "A body that waits for its executor does not begin after a request, except bodies that always run",
    arguments: AsyncOperator.every)
  func notBegun(operation: AsyncOperator) {
    let promise = Promise<Int>()
    let future = operation.apply(promise.future, executor.executor, body())
    promise.complete(with: operation.trigger)

    future.cancel()
    executor.runAll()

    #expect(stop.log.entries == (operation.alwaysRuns ? ["begins", "cancelled"] : []))
    #expect(future.isCompleted)
  }

  @Test(
    "A task that has not begun does not run its body after a request, except bodies that always run",
    arguments: AsyncOperator.every)
  func taskNotBegun(operation: AsyncOperator) {
    let promise = Promise<Int>()
    let future = operation.apply(promise.future, executor.executor, body())
    promise.complete(with: operation.trigger)
    executor.runNext()

    future.cancel()
    executor.runAll()

    #expect(stop.log.entries == (operation.alwaysRuns ? ["begins", "cancelled"] : []))
    let isRecover = operation.testDescription == "asyncRecover"
    #expect(future.state == (isRecover ? "failure(oops)" : operation.whenCancelled))
  }

  @Test("The value of the body is the outcome without a request", arguments: AsyncOperator.every)
  func succeeds(operation: AsyncOperator) {
    let promise = Promise<Int>()
    let future = operation.apply(promise.future, executor.executor, body())
    promise.complete(with: operation.trigger)
    executor.runAll()

    stop.open()
    executor.runAll()

    #expect(future.state == operation.whenOpened)
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

    #expect(stop.log.entries == ["begins"])
    #expect([before, future.state] == ["pending", "cancelled"])
    #expect(future.reason?.message == "gone")
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

    #expect(await value.outcome.state == "success(1)")
    #expect(await failure.outcome.state == "failure(oops)")
    #expect(await waiting.outcome.reason?.message == "enough")
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

    #expect(stop.log.entries == ["begins", "cancelled"])
    #expect(future.state == "success(1)")
  }

  @Test("A body that throws CancellationError or FutureCancelled cancels its future, async or not")
  func throwsCancellation() async {
    let thrown: [any Error] = [CancellationError(), FutureCancelled(reason: "mine")]
    for error in thrown {
      let plain = Future<Int>.succeeded(1).map { _ -> Int in throw error }
      let inTask = Future<Int>.task { throw error }

      #expect(plain.state == "cancelled")
      #expect(await inTask.outcome.state == "cancelled")
    }
    #expect(await Future<Int>.task { throw FutureCancelled(reason: "mine") }.outcome.reason?.message == "mine")
  }

  @Test("An executor that drops the job of a task fails its future, and the task ends")
  func dropped() async {
    let ended = Promise<Void>()
    let executor = ManualExecutor()
    let future = Future.succeeded(1).asyncMap(on: executor.executor) { value -> Int in
      defer { ended.succeed() }
      try? await Task.sleep(for: .zero)
      return value
    }
    executor.runNext()

    executor.dropAll()

    #expect(future.outcomeIfCompleted?.error is DroppedJob)
    _ = await future.outcome
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
