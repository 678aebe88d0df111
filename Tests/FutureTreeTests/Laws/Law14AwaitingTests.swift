import FutureTree
import TestSupport
import Testing

@Suite("Law 14: awaiting")
struct Law14AwaitingTests {
  private let executor = ManualTaskExecutor()
  private let log = Recorder()

  /// A task that writes how `value` ended, and waits when this returns.
  private func awaitValue(_ name: String, of future: Future<Int>) -> Task<Void, Never> {
    executor.start { [log] in
      do {
        log("\(name) \(try await future.value)")
      } catch {
        log("\(name) \(type(of: error))")
      }
    }
  }

  /// The same for `value(cancellingWith:waitingForOutcome:)`.
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

  @Test("a task that waits gets the value, or the error")
  func valueAndError() {
    let good = Promise<Int>()
    let bad = Promise<Int>()
    _ = awaitValue("good", of: good.future)
    _ = awaitValue("bad", of: bad.future)
    #expect(log.entries == [])

    good.succeed(1)
    bad.fail(Oops())
    executor.runAll()

    #expect(log.entries == ["good 1", "bad Oops"])
  }

  @Test("awaiting is consuming: one task is one consumer, until it has its value")
  func consuming() {
    let promise = Promise<Int>()
    _ = awaitValue("first", of: promise.future)
    _ = awaitValue("second", of: promise.future)

    let receipt = promise.future.cancel(.doNotForwardIfOthersWaiting)

    #expect(receipt.effect == .withheld(by: 2))
    promise.succeed(1)
    executor.runAll()
    #expect(log.entries == ["first 1", "second 1"])
  }

  @Test("when the task is cancelled the wait ends at once with CancellationError")
  func endsAtOnce() {
    let promise = source(log)
    let task = awaitValue("task", of: promise.future)

    task.cancel()
    executor.runAll()

    #expect(log.entries == ["source: ifOthers", "task CancellationError"])
    #expect(promise.future.state == "pending")
  }

  @Test("its interest is withdrawn with a request under law 3: others keep the work going")
  func othersKeepIt() {
    let promise = source(log)
    let first = awaitValue("first", of: promise.future)
    let second = awaitValue("second", of: promise.future)

    first.cancel()
    executor.runAll()
    #expect(log.entries == ["first CancellationError"])
    #expect(promise.future.state == "pending")
    second.cancel()
    executor.runAll()

    #expect(log.entries == ["first CancellationError", "source: ifOthers", "second CancellationError"])
  }

  @Test("the last task that withdraws from a derived future reaches the source")
  func derived() {
    let promise = source(log)
    let derived = promise.future.map { $0 }
    let task = awaitValue("task", of: derived)

    task.cancel()
    executor.runAll()

    #expect(log.entries == ["source: ifOthers", "task CancellationError"])
    #expect(derived.state == "pending")
  }

  @Test("a task that awaits a promise receives the outcome, or cancels the inner future, after the promise is sealed")
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

    #expect(log.entries == ["first 1", "source: ifOthers", "second CancellationError"])
    #expect(asked.future.tree().entries[0].consumers == 0)
  }

  @Test("a task that is cancelled before it waits ends at once, and asks")
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

    #expect(log.entries == ["source: ifOthers", "CancellationError"])
  }

  @Test("value(cancellingWith:) takes other options, and ends at once as well")
  func otherOptions() {
    let promise = source(log)
    let other = promise.future.map { $0 }
    let task = awaitValue("task", of: promise.future, cancellingWith: [])

    task.cancel()
    executor.runAll()

    #expect(log.entries == ["source: plain", "task CancellationError"])
    #expect(other.state == "pending")
  }

  @Test("value(cancellingWith: .doNotForwardRequest) on a derived future lets it go")
  func doNotForward() {
    let promise = source(log)
    let derived = promise.future.map { $0 }
    let task = awaitValue("task", of: derived, cancellingWith: .doNotForwardRequest)

    task.cancel()
    executor.runAll()

    #expect(log.entries == ["task CancellationError"])
    #expect(derived.state == "cancelled")
    #expect(promise.cancelRequest == nil)
  }

  @Test("the form that waits for the outcome asks, and then gets what comes")
  func waitingForOutcome() {
    let promise = source(log)
    let first = awaitValue("first", of: promise.future, cancellingWith: [], waiting: true)

    first.cancel()
    executor.runAll()
    #expect(log.entries == ["source: plain"])
    promise.succeed(1)
    executor.runAll()

    #expect(log.entries == ["source: plain", "first 1"])
  }

  @Test("the form that waits throws FutureCancelled if the future was cancelled")
  func waitingForCancelled() {
    let promise = source(log)
    let task = awaitValue("task", of: promise.future, cancellingWith: [], waiting: true)

    task.cancel()
    executor.runAll()
    promise.completeCancelled()
    executor.runAll()

    #expect(log.entries == ["source: plain", "task FutureCancelled"])
  }

  @Test("outcome asks the same and waits")
  func outcome() {
    let promise = source(log)
    let future = promise.future
    let task = executor.start { [log] in log(await future.outcome.state) }

    task.cancel()
    executor.runAll()
    #expect(log.entries == ["source: ifOthers"])
    promise.completeCancelled()
    executor.runAll()

    #expect(log.entries == ["source: ifOthers", "cancelled"])
  }

  @Test("outcome gives success and failure")
  func outcomes() async {
    #expect(await Future.succeeded(1).outcome.state == "success(1)")
    #expect(await Future<Int>.failed(Oops()).outcome.state == "failure(oops)")
  }

  @Test("the value of a cancelled future throws FutureCancelled, with the reason")
  func futureCancelled() async {
    let future = Future<Int>.cancelled("gone")

    let error = await #expect(throws: FutureCancelled.self) { try await future.value }

    #expect(error?.reason.message == "gone")
  }

  @Test("a waiting task that was not cancelled itself gets FutureCancelled too")
  func waitingTask() {
    let promise = source(log, answering: .complete(.cancelled))
    _ = awaitValue("task", of: promise.future)

    promise.future.cancel()
    executor.runAll()

    #expect(log.entries == ["source: plain", "task FutureCancelled"])
  }

  @Test("a future that has completed returns its value also in a cancelled task")
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

    #expect(log.entries == ["1", "2", "success(3)", "FutureCancelled"])
  }

  @Test("a task that was withdrawn is held by the future no more")
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
    #expect(census.alive == 1)

    task.cancel()
    executor.runAll()

    #expect(census.alive == 0)
    #expect(promise.future.state == "pending")
  }

  @Test("a dropped promise wakes the task that waits")
  func dropped() {
    func start() {
      let promise = Promise<Int>()
      _ = awaitValue("task", of: promise.future)
    }

    start()
    executor.runAll()

    #expect(log.entries == ["task BrokenPromise"])
  }
}
