import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

@Suite("Operators: observe")
struct ObserveTests {
  static let outcomes: [Outcome<Int>] = [.success(1), .failure(Oops()), .cancelled("gone")]

  @Test("An observer is called once with any outcome", arguments: outcomes)
  func called(outcome: Outcome<Int>) {
    let log = Recorder()
    let promise = Promise<Int>()
    promise.future.observe { log("before \($0.state)") }

    promise.complete(with: outcome)
    promise.succeed(9)
    promise.future.observe { log("after \($0.state)") }

    expectEqual(log.entries, ["before \(outcome.state)", "after \(outcome.state)"])
  }

  @Test("An observer is not a consumer and withholds no request")
  func noConsumer() {
    let log = Recorder()
    let promise = source(log)
    promise.future.observe { _ in }

    let receipt = promise.future.cancel(.doNotForwardIfOthersWaiting)

    expectEqual(receipt.effect, .delivered)
    expectEqual(log.entries, ["source: ifOthers"])
  }

  @Test("An observer receives the outcome after a request", arguments: outcomes)
  func asked(outcome: Outcome<Int>) {
    let log = Recorder()
    let promise = Promise<Int>()
    promise.future.observe { log($0.state) }

    promise.future.cancel()
    expectEqual(log.entries, [])
    promise.complete(with: outcome)

    expectEqual(log.entries, [outcome.state])
  }

  @Test("An observer receives the outcome of a forced future")
  func forced() {
    let log = Recorder()
    let promise = Promise<Int>()
    promise.future.observe { log($0.reason?.message ?? $0.state) }

    promise.future.cancel(.forceImmediately, reason: "now")

    expectEqual(log.entries, ["now"])
  }

  @Test("A removed observer is not called and releases its captures", arguments: [true, false])
  func ended(isFirst: Bool) {
    let log = Recorder()
    let census = Census()
    let promise = Promise<Int>()
    if !isFirst { promise.future.observe { _ in } }
    func observe(_ probe: Probe) -> FutureObservation {
      promise.future.observe { _ in
        probe.touch()
        log("called")
      }
    }
    let observation = observe(census.probe())

    #expect(observation.remove() && !observation.remove())
    expectEqual(census.alive, 0)
    promise.succeed(1)

    expectEqual(log.entries, [])
    #expect(!observation.remove())
  }

  @Test("Dropping an observation does not remove the observer")
  func dropped() {
    let log = Recorder()
    let promise = Promise<Int>()
    do {
      _ = promise.future.observe { log($0.state) }
    }

    promise.succeed(1)

    expectEqual(log.entries, ["success(1)"])
  }

  @Test("Removing an observer after completion has no effect", arguments: [true, false])
  func endedLate(isFirst: Bool) {
    let log = Recorder()
    let promise = Promise<Int>()
    if !isFirst { promise.future.observe { _ in } }
    let observation = promise.future.observe { log($0.state) }
    promise.succeed(1)

    #expect(!observation.remove())

    expectEqual(log.entries, ["success(1)"])
  }

  @Test("An observer runs on its executor")
  func onExecutor() {
    let log = Recorder()
    let executor = ManualExecutor()
    let promise = Promise<Int>()
    promise.future.observe(on: executor.executor) { log($0.state) }

    promise.succeed(1)
    expectEqual(log.entries, [])
    executor.runAll()

    expectEqual(log.entries, ["success(1)"])
  }

  @Test("An observer that is queued on its executor or was dropped by it can be removed")
  func endedOnExecutor() {
    let (log, executor, census) = (Recorder(), ManualExecutor(), Census())
    func observed() -> FutureObservation {
      let promise = Promise<Int>()
      let observation = promise.future.observe(on: executor.executor) { [probe = census.probe()] _ in
        probe.touch()
        log("called")
      }
      promise.succeed(1)
      return observation
    }

    let dropped = observed()
    executor.dropAll()
    #expect(dropped.remove())
    let queued = observed()
    #expect(queued.remove() && !queued.remove())
    executor.runAll()

    expectEqual(log.entries, [])
    expectEqual(census.alive, 0)
  }

  @Test("An observer does not renew its future's interest in the upstream")
  func renewsNoInterest() {
    let log = Recorder()
    let promise = source(log)
    let middle = promise.future.map { $0 }
    middle.map { $0 }.cancel(.doNotForwardRequest)
    middle.observe { log("observed \($0.state)") }

    promise.future.cancel(.doNotForwardIfOthersWaiting)

    expectEqual(log.entries, ["source: ifOthers"])
    promise.completeCancelled()
    expectEqual(log.entries, ["source: ifOthers", "observed cancelled"])
  }
}
