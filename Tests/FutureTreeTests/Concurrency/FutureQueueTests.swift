import FutureTreeTesting
import TestSupport
import Testing

@testable import FutureTree

@Suite("Operators: FutureQueue")
struct FutureQueueTests {
  private let log = Recorder()
  private let queue = FutureQueue()

  /// Adds work that a promise completes, and logs its begin.
  private func add(_ name: String, _ promise: Promise<Int>? = nil) -> (promise: Promise<Int>, future: Future<Int>) {
    let promise = promise ?? source(log, name)
    let future = queue.add { [log] in
      log("begin \(name)")
      return promise.future
    }
    return (promise, future)
  }

  @Test("Bodies run one at a time in the order of addition")
  func order() {
    let (first, firstFuture) = add("first")
    let (second, secondFuture) = add("second")
    let (third, thirdFuture) = add("third")
    expectEqual(log.entries, ["begin first"])
    expectEqual(queue.waitingCount, 2)

    first.succeed(1)
    expectEqual(log.entries, ["begin first", "begin second"])
    second.succeed(2)
    third.succeed(3)

    expectEqual(log.entries, ["begin first", "begin second", "begin third"])
    expectEqual([firstFuture, secondFuture, thirdFuture].states(), ["success(1)", "success(2)", "success(3)"])
    expectEqual(queue.waitingCount, 0)
  }

  @Test(
    "The next body begins after any outcome of the previous one",
    arguments: [.success(1), .failure(Oops()), .cancelled("gone")] as [Outcome<Int>])
  func endings(outcome: Outcome<Int>) {
    let (first, future) = add("first")
    _ = add("second")

    first.complete(with: outcome)

    expectEqual(future.state, outcome.state)
    expectEqual(log.entries, ["begin first", "begin second"])
  }

  @Test("An idle queue begins a body at once")
  func idle() {
    let states = (1...3).map { number in queue.add { .succeeded(number) }.state }

    expectEqual(states, ["success(1)", "success(2)", "success(3)"])
  }

  @Test(
    "A queued future that is asked to cancel completes at once, and its body does not run",
    arguments: [[], .doNotForwardRequest, .doNotForwardIfOthersWaiting, .forceImmediately] as [CancellationOptions])
  func cancelsQueued(options: CancellationOptions) {
    let (first, _) = add("first")
    let (_, second) = add("second")
    let (last, third) = add("third")

    second.cancel(options, reason: "not needed")

    expectEqual(second.reason?.message, "not needed")
    expectEqual(queue.waitingCount, 1)
    first.succeed(1)
    expectEqual(log.entries, ["begin first", "begin third"])
    last.succeed(3)
    expectEqual(third.state, "success(3)")
  }

  @Test("A request after the body began is forwarded to the future that it returned")
  func forwards() {
    let (promise, future) = add("first")

    future.cancel()

    expectEqual(log.entries, ["begin first", "first: plain"])
    expectEqual(future.state, "pending")
    promise.succeed(1)
    expectEqual(future.state, "success(1)")
  }

  @Test("A request while the body runs is forwarded to the future that it returns")
  func askedInBody() {
    let gate = Promise<Int>()
    _ = add("gate", gate)
    let own = Locked<Future<Int>?>(nil)
    let promise = source(log, "source")
    own.value = queue.add {
      own.value?.cancel()
      return promise.future
    }

    gate.succeed(0)

    expectEqual(log.entries, ["begin gate", "source: plain"])
    expectEqual(own.value?.state, "pending")
  }

  @Test("A future forced while its body runs completes, and the returned future receives the request without force")
  func forcedInBody() {
    let gate = Promise<Int>()
    _ = add("gate", gate)
    let own = Locked<Future<Int>?>(nil)
    let promise = source(log, "source")
    own.value = queue.add {
      own.value?.cancel(.forceImmediately)
      return promise.future
    }
    _ = add("next")

    gate.succeed(0)

    expectEqual(own.value?.state, "cancelled")
    expectEqual(log.entries, ["begin gate", "source: plain"])
    promise.completeCancelled()
    expectEqual(log.entries, ["begin gate", "source: plain", "begin next"])
  }

  @Test("A future that detaches while its body runs completes without a request to the returned future")
  func detachesInBody() {
    let gate = Promise<Int>()
    _ = add("gate", gate)
    let own = Locked<Future<Int>?>(nil)
    let promise = source(log, "source")
    own.value = queue.add {
      own.value?.cancel(.doNotForwardRequest)
      return promise.future
    }

    gate.succeed(0)

    expectEqual(own.value?.state, "cancelled")
    expectEqual(log.entries, ["begin gate"])
  }

  @Test("The next body waits for the work, even if its future ended early")
  func endedEarly() {
    let (promise, future) = add("first")
    _ = add("second")

    future.cancel(.forceImmediately)
    expectEqual(future.state, "cancelled")
    expectEqual(log.entries, ["begin first", "first: plain"])
    promise.completeCancelled()

    expectEqual(log.entries, ["begin first", "first: plain", "begin second"])
  }

  @Test("Consumers are notified before the next body begins")
  func notifiedFirst() {
    let (first, future) = add("first")
    future.observe { [log] in log("heard \($0.state)") }
    _ = add("second")

    first.succeed(1)

    expectEqual(log.entries, ["begin first", "heard success(1)", "begin second"])
  }

  @Test(
    "A body that throws completes its future, and the next body begins",
    arguments: [
      (Oops(), "failure(oops)"), (CancellationError(), "cancelled"), (FutureCancelled(reason: "no"), "cancelled"),
    ] as [(any Error & Sendable, String)])
  func throwing(error: any Error & Sendable, state: String) {
    let (gate, _) = add("gate")
    let future: Future<Int> = queue.add { throw error }
    _ = add("next")

    gate.succeed(1)

    expectEqual(future.state, state)
    expectEqual(log.entries, ["begin gate", "begin next"])
  }

  @Test("Work that a body adds to its queue runs after the body")
  func addsInBody() {
    let inner = Locked<Future<Int>?>(nil)

    let outer = queue.add { [queue, log] in
      inner.value = queue.add {
        log("inner")
        return .succeeded(2)
      }
      log("outer")
      return .succeeded(1)
    }

    expectEqual(log.entries, ["outer", "inner"])
    expectEqual([outer, inner.value].map { $0?.state }, ["success(1)", "success(2)"])
  }

  @Test("Bodies run and are released outside the lock")
  func unlocked() {
    let (gate, _) = add("gate")
    func enqueue(_ probe: Probe) -> Future<Int> {
      queue.add { [queue, log] in
        probe.touch()
        onAnotherThread { log("waiting: \(queue.waitingCount)") }
        return .succeeded(1)
      }
    }
    let probe = { [queue, log] in Probe { onAnotherThread { log("freed: \(queue.waitingCount)") } } }
    _ = enqueue(probe())
    let leaver = enqueue(probe())

    leaver.cancel()
    expectEqual(log.entries, ["begin gate", "freed: 1"])
    gate.succeed(1)

    expectEqual(log.entries, ["begin gate", "freed: 1", "waiting: 0", "freed: 0"])
  }

  @Test("A dropped queue still runs the added work")
  func dropped() {
    let queue = Locked<FutureQueue?>(FutureQueue())
    let promise = Promise<Int>()
    _ = queue.value?.add { promise.future }
    let second = queue.value?.add { .succeeded(2) }

    queue.value = nil
    expectEqual(second?.state, "pending")
    promise.succeed(1)

    expectEqual(second?.state, "success(2)")
  }

  @Test("A queue retains nothing of completed or cancelled work")
  func released() {
    let census = Census()
    let (gate, _) = add("gate")
    func enqueue(_ probe: Probe) -> Future<Int> {
      queue.add {
        probe.touch()
        return .succeeded(1)
      }
    }
    for _ in 0..<1_000 { enqueue(census.probe()).cancel() }
    expectEqual(census.alive, 0)
    _ = enqueue(census.probe())

    gate.succeed(1)

    expectEqual(census.alive, 0)
  }
}

@Suite("FutureQueue: limits, priorities and keys")
struct FutureQueueLimitTests {
  private let log = Recorder()
  private let clock = ManualClock()
  private let promises = Locked<[String: Promise<Int>]>([:])

  /// Adds work that `end` completes, and logs its begin.
  @discardableResult
  private func add(
    _ name: String, to queue: FutureQueue, _ priority: TaskPriority = .medium, key: String? = nil
  ) -> Future<Int> {
    let promise = Promise<Int>()
    promises.withLock { $0[name] = promise }
    return queue.add(priority: priority, key: key) { [log] in
      log(name)
      return promise.future
    }
    .named("\(name)")
  }

  private func end(_ names: String...) {
    for name in names { promises.withLock { $0[name] }?.succeed(1) }
  }

  @Test("At most the given number of works run, and each end begins the next")
  func atMost() {
    let queue = FutureQueue(atMost: 2)
    for name in ["a", "b", "c", "d"] { add(name, to: queue) }

    expectEqual(log.entries, ["a", "b"])
    expectEqual(queue.runningCount, 2)
    expectEqual(queue.waitingCount, 2)
    end("b")
    expectEqual(log.entries, ["a", "b", "c"])
    end("a", "c", "d")
    expectEqual(log.entries, ["a", "b", "c", "d"])
    expectEqual(queue.runningCount, 0)
    expectEqual(queue.waitingCount, 0)
  }

  @Test("A raised limit begins queued work, a lowered one stops no work, and 0 holds all")
  func changes() {
    let queue = FutureQueue(atMost: -1)
    expectEqual(queue.limit, 0)
    for name in ["a", "b", "c", "d"] { add(name, to: queue) }
    expectEqual(log.entries, [])

    queue.limit = 3
    expectEqual(log.entries, ["a", "b", "c"])
    queue.limit = 1
    end("a", "b")
    expectEqual(log.entries, ["a", "b", "c"])
    expectEqual(queue.runningCount, 1)
    end("c")
    expectEqual(log.entries, ["a", "b", "c", "d"])
  }

  @Test("The highest priority is first, and among equals the earliest work")
  func priorities() {
    let queue = FutureQueue(clock: clock)
    add("gate", to: queue)
    let works: [(String, TaskPriority)] = [
      ("medium", .medium), ("background", .background), ("high", .high), ("low", .low), ("high 2", .high),
      ("user", .userInitiated),
      ("between", TaskPriority(rawValue: 24)), ("above", TaskPriority(rawValue: 255)),
    ]
    for (name, priority) in works { add(name, to: queue, priority) }

    end("gate")
    for _ in works { end(log.entries.last!) }

    let order = ["high", "high 2", "user", "above", "medium", "between", "low", "background"]
    expectEqual(log.entries, ["gate"] + order)
  }

  @Test(
    "Work that has waited for the aging duration longer counts as one priority higher",
    arguments: [(9, ["high", "medium"]), (10, ["medium", "high"])])
  func aging(seconds: Int, order: [String]) {
    let queue = FutureQueue(clock: clock)
    add("gate", to: queue)
    add("medium", to: queue)
    clock.advance(by: .seconds(seconds))
    add("high", to: queue, .high)

    end("gate")
    end(order[0])

    expectEqual(log.entries, ["gate"] + order)
  }

  @Test("Without aging, no clock is read, and the higher priority is first after any time")
  func noAging() {
    let queue = FutureQueue(aging: nil, clock: clock)
    add("gate", to: queue)
    add("medium", to: queue)
    clock.advance(by: .seconds(1_000_000))
    add("high", to: queue, .high)

    end("gate", "high")

    expectEqual(log.entries, ["gate", "high", "medium"])
  }

  @Test("Extreme aging durations do not overflow", arguments: [.zero, .seconds(-1), .seconds(Int64.max)] as [Duration])
  func absurdAging(aging: Duration) {
    let queue = FutureQueue(aging: aging, clock: clock)
    add("gate", to: queue)
    add("low", to: queue, .low)
    add("high", to: queue, .high)

    end("gate", "low", "high")

    expectEqual(log.entries, ["gate"] + (aging > .zero ? ["high", "low"] : ["low", "high"]))
  }

  @Test("A full key delays no other work, and work without a key is not limited by keys")
  func keys() {
    let queue = FutureQueue(atMost: 4, perKey: 1)
    add("a1", to: queue, key: "a")
    add("a2", to: queue, .high, key: "a")
    add("b1", to: queue, key: "b")
    add("none 1", to: queue)
    add("none 2", to: queue)
    add("none 3", to: queue)
    expectEqual(log.entries, ["a1", "b1", "none 1", "none 2"])

    end("b1")
    expectEqual(log.entries.last, "none 3")
    end("a1")
    expectEqual(log.entries.last, "a2")
    expectEqual(queue.runningCount, 4)
    expectEqual(queue.waitingCount, 0)
  }

  @Test("Keys without `perKey` have no effect")
  func keysWithoutLimit() {
    let queue = FutureQueue(atMost: 2)
    for name in ["a", "b", "c"] { add(name, to: queue, key: "same") }

    end("a")

    expectEqual(log.entries, ["a", "b", "c"])
  }

  @Test("`waiting` has the names, the priorities and the keys, in the order of their begin")
  func preview() {
    let queue = FutureQueue(clock: clock)
    add("gate", to: queue)
    add("late", to: queue, .low, key: "disk")
    let gone = add("gone", to: queue)
    add("soon", to: queue, .high)
    _ = queue.add { .succeeded(1) }

    gone.cancel()

    expectEqual(queue.waiting.map(\.name), ["soon", "futureQueue", "late"])
    expectEqual(queue.waiting.map(\.priority), [.high, .medium, .low])
    expectEqual(queue.waiting.map(\.key), [nil, nil, "disk"])
  }

  @Test("Queued work follows the live callers of its flight")
  func following() {
    let queue = FutureQueue(clock: clock)
    let flights = SingleFlight<String, Int>()
    add("gate", to: queue)
    let load = { [log] (key: String, priority: TaskPriority) in
      flights.load(key, priority: priority) { priority in
        queue.add(following: priority) {
          log(key)
          return .succeeded(1)
        }
      }
    }
    let callers = [load("a", .low), load("b", .medium), load("c", .medium), load("a", .high), load("c", .high)]
    expectEqual(queue.waiting.map(\.priority), [.high, .high, .medium])

    callers[4].cancel()
    expectEqual(queue.waiting.map(\.priority), [.high, .medium, .medium])
    end("gate")

    expectEqual(log.entries, ["gate", "a", "b", "c"])
    _ = load("a", .low)
    expectEqual(log.entries.last, "a")
  }

  @Test("Work whose executor drops its job frees its slot")
  func lost() {
    let queue = FutureQueue()
    let jobs = Locked<[@Sendable () -> Void]>([])
    let executor = FutureExecutor.custom { job in jobs.withLock { $0.append(job) } }
    let first = queue.add { Future.succeeded(1).map(on: executor) { $0 } }
    add("next", to: queue)
    expectEqual(log.entries, [])

    jobs.value = []

    expectEqual(log.entries, ["next"])
    withExtendedLifetime(first) {}
  }

  @Test("Work that waits in a dropped queue whose limit is 0 fails")
  func droppedWhilePaused() {
    let queue = Locked<FutureQueue?>(FutureQueue(atMost: 0))
    let future = queue.value?.add { .succeeded(1) }

    queue.value = nil

    expectEqual(future?.state.contains("deallocated before it was completed"), true)
  }
}
