import FutureTree
import TestSupport
import Testing

@Suite("Law 14: awaiting", .tags(.law14))
struct Law14AwaitingTests {
  private let executor = ManualTaskExecutor()
  private let log = Recorder()

  /// Starts a task that awaits `value` and logs its result. Returns when the task waits.
  private func awaitValue(_ name: String, of future: Future<Int>) -> Task<Void, Never> {
    executor.start { [log] in
      do {
        log("\(name) \(try await future.value)")
      } catch {
        log("\(name) \(type(of: error))")
      }
    }
  }

  /// Does the same for `value(cancellingWith:waitingForOutcome:)`.
  private func awaitValue(
    _ name: String, of future: Future<Int>, cancellingWith options: CancellationOptions, waiting: Bool = false
  ) -> Task<Void, Never> {
    executor.start { [log] in
      do {
        log("\(name) \(try await future.value(cancellingWith: options, waitingForOutcome: waiting))")
      } catch {
        log("\(name) \(type(of: error))")
      }
    }
  }

  @Test("An awaiting task receives the value or the error")
  func valueAndError() {
    let good = Promise<Int>()
    let bad = Promise<Int>()
    _ = awaitValue("good", of: good.future)
    _ = awaitValue("bad", of: bad.future)
    expectEqual(log.entries, [])

    good.succeed(1)
    bad.fail(Oops())
    executor.runAll()

    expectEqual(log.entries, ["good 1", "bad Oops"])
  }

  @Test("An awaiting task is one consumer until it has its value")
  func consuming() {
    let promise = Promise<Int>()
    _ = awaitValue("first", of: promise.future)
    _ = awaitValue("second", of: promise.future)

    let receipt = promise.future.cancel(.doNotForwardIfOthersWaiting)

    expectEqual(receipt.effect, .withheld(by: 2))
    promise.succeed(1)
    executor.runAll()
    expectEqual(log.entries, ["first 1", "second 1"])
  }

  @Test("The wait of a cancelled task ends at once with CancellationError")
  func endsAtOnce() {
    let promise = source(log)
    let task = awaitValue("task", of: promise.future)

    task.cancel()
    executor.runAll()

    expectEqual(log.entries, ["source: ifOthers", "task CancellationError"])
    expectEqual(promise.future.state, "pending")
  }

  // Law 3 (stopping where others wait)
  @Test("A cancelled task withdraws its interest, and other consumers keep the work in flight")
  func othersWait() {
    let promise = source(log)
    let first = awaitValue("first", of: promise.future)
    let second = awaitValue("second", of: promise.future)

    first.cancel()
    executor.runAll()
    expectEqual(log.entries, ["first CancellationError"])
    expectEqual(promise.future.state, "pending")
    second.cancel()
    executor.runAll()

    expectEqual(log.entries, ["first CancellationError", "source: ifOthers", "second CancellationError"])
  }

  @Test("The request of the last task that awaits a derived future reaches the source")
  func derived() {
    let promise = source(log)
    let derived = promise.future.map { $0 }
    let task = awaitValue("task", of: derived)

    task.cancel()
    executor.runAll()

    expectEqual(log.entries, ["source: ifOthers", "task CancellationError"])
    expectEqual(derived.state, "pending")
  }

  @Test("A task that awaits a sealed promise receives the outcome, or cancels the inner future")
  func sealed() {
    let (completed, asked) = (Promise<Int>(), Promise<Int>())
    let (good, inner) = (Promise<Int>(), source(log))
    _ = awaitValue("first", of: completed.future)
    let task = awaitValue("second", of: asked.future)

    completed.complete(.completeUsing(good.future))
    asked.complete(.completeUsing(inner.future))
    good.succeed(1)
    task.cancel()
    executor.runAll()

    expectEqual(log.entries, ["first 1", "source: ifOthers", "second CancellationError"])
    expectEqual(asked.future.tree().entries[0].consumers, 0)
  }

  @Test("A task that is cancelled before it waits makes its request and ends at once")
  func cancelledBefore() {
    let promise = source(log)
    let future = promise.future
    let task = Task(executorPreference: executor) { [log] in
      do {
        _ = try await future.value
      } catch {
        log("\(type(of: error))")
      }
    }

    task.cancel()
    executor.runAll()

    expectEqual(log.entries, ["source: ifOthers", "CancellationError"])
  }

  @Test("value(cancellingWith:) takes other options, and its wait ends at once as well")
  func otherOptions() {
    let promise = source(log)
    let other = promise.future.map { $0 }
    let task = awaitValue("task", of: promise.future, cancellingWith: [])

    task.cancel()
    executor.runAll()

    expectEqual(log.entries, ["source: plain", "task CancellationError"])
    expectEqual(other.state, "pending")
  }

  @Test("value(cancellingWith: .doNotForwardRequest) detaches a derived future")
  func doNotForward() {
    let promise = source(log)
    let derived = promise.future.map { $0 }
    let task = awaitValue("task", of: derived, cancellingWith: .doNotForwardRequest)

    task.cancel()
    executor.runAll()

    expectEqual(log.entries, ["task CancellationError"])
    expectEqual(derived.state, "cancelled")
    #expect(promise.cancelRequest == nil)
  }

  @Test("The form that waits for the outcome makes its request, and returns the outcome")
  func waitingForOutcome() {
    let promise = source(log)
    let first = awaitValue("first", of: promise.future, cancellingWith: [], waiting: true)

    first.cancel()
    executor.runAll()
    expectEqual(log.entries, ["source: plain"])
    promise.succeed(1)
    executor.runAll()

    expectEqual(log.entries, ["source: plain", "first 1"])
  }

  @Test("The form that waits for the outcome throws FutureCancelled if the future was cancelled")
  func waitingForCancelled() {
    let promise = source(log)
    let task = awaitValue("task", of: promise.future, cancellingWith: [], waiting: true)

    task.cancel()
    executor.runAll()
    promise.completeCancelled()
    executor.runAll()

    expectEqual(log.entries, ["source: plain", "task FutureCancelled"])
  }

  @Test("outcome makes the same request and waits")
  func outcome() {
    let promise = source(log)
    let future = promise.future
    let task = executor.start { [log] in log(await future.outcome.state) }

    task.cancel()
    executor.runAll()
    expectEqual(log.entries, ["source: ifOthers"])
    promise.completeCancelled()
    executor.runAll()

    expectEqual(log.entries, ["source: ifOthers", "cancelled"])
  }

  @Test("outcome returns success and failure")
  func outcomes() async {
    await expectEqual(Future.succeeded(1).outcome.state, "success(1)")
    await expectEqual(Future<Int>.failed(Oops()).outcome.state, "failure(oops)")
  }

  @Test("The value of a cancelled future throws FutureCancelled, with the reason")
  func futureCancelled() async {
    let future = Future<Int>.cancelled("gone")

    let error = await #expect(throws: FutureCancelled.self) { try await future.value }

    expectEqual(error?.reason.message, "gone")
  }

  @Test("An awaiting task that was not cancelled itself receives FutureCancelled too")
  func waitingTask() {
    let promise = source(log, answering: .complete(.cancelled))
    _ = awaitValue("task", of: promise.future)

    promise.future.cancel()
    executor.runAll()

    expectEqual(log.entries, ["source: plain", "task FutureCancelled"])
  }

  @Test("A future that has completed returns its value even in a cancelled task")
  func completedInCancelledTask() {
    let task = Task(executorPreference: executor) { [log] in
      do {
        log("\(try await Future.succeeded(1).value)")
        log("\(try await Future.succeeded(2).value(cancellingWith: []))")
        log(await Future.succeeded(3).outcome.state)
        log("\(try await Future<Int>.cancelled("gone").value)")
      } catch {
        log("\(type(of: error))")
      }
    }

    task.cancel()
    executor.runAll()

    expectEqual(log.entries, ["1", "2", "success(3)", "FutureCancelled"])
  }

  @Test("A future releases a task whose wait was cancelled")
  func released() {
    let census = Census()
    let promise = Promise<Int>()
    func start(_ probe: Probe) -> Task<Void, Never> {
      let future = promise.future
      return executor.start {
        _ = try? await future.value
        probe.touch()
      }
    }
    let task = start(census.probe())
    expectEqual(census.alive, 1)

    task.cancel()
    executor.runAll()

    expectEqual(census.alive, 0)
    expectEqual(promise.future.state, "pending")
  }

  @Test("A dropped promise resumes the awaiting task")
  func dropped() {
    func start() {
      let promise = Promise<Int>()
      _ = awaitValue("task", of: promise.future)
    }

    start()
    executor.runAll()

    expectEqual(log.entries, ["task BrokenPromise"])
  }
}
