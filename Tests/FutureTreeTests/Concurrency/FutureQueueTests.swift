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
    #expect(log.entries == ["begin first"])
    #expect(queue.waitingCount == 2)

    first.succeed(1)
    #expect(log.entries == ["begin first", "begin second"])
    second.succeed(2)
    third.succeed(3)

    #expect(log.entries == ["begin first", "begin second", "begin third"])
    #expect([firstFuture, secondFuture, thirdFuture].states() == ["success(1)", "success(2)", "success(3)"])
    #expect(queue.waitingCount == 0)
  }

  @Test(
    "The next body begins after any outcome of the previous one",
    arguments: [.success(1), .failure(Oops()), .cancelled("gone")] as [Outcome<Int>])
  func endings(outcome: Outcome<Int>) {
    let (first, future) = add("first")
    _ = add("second")

    first.complete(with: outcome)

    #expect(future.state == outcome.state)
    #expect(log.entries == ["begin first", "begin second"])
  }

  @Test("An idle queue begins a body at once")
  func idle() {
    let states = (1...3).map { number in queue.add { .succeeded(number) }.state }

    #expect(states == ["success(1)", "success(2)", "success(3)"])
  }

  @Test(
    "A queued future that is asked to cancel completes at once, and its body does not run",
    arguments: [[], .doNotForwardRequest, .doNotForwardIfOthersWaiting, .forceImmediately] as [CancellationOptions])
  func cancelsQueued(options: CancellationOptions) {
    let (first, _) = add("first")
    let (_, second) = add("second")
    let (last, third) = add("third")

    second.cancel(options, reason: "not needed")

    #expect(second.reason?.message == "not needed")
    #expect(queue.waitingCount == 1)
    first.succeed(1)
    #expect(log.entries == ["begin first", "begin third"])
    last.succeed(3)
    #expect(third.state == "success(3)")
  }

  @Test("A request after the body began is forwarded to the future that it returned")
  func forwards() {
    let (promise, future) = add("first")

    future.cancel()

    #expect(log.entries == ["begin first", "first: plain"])
    #expect(future.state == "pending")
    promise.succeed(1)
    #expect(future.state == "success(1)")
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

    #expect(log.entries == ["begin gate", "source: plain"])
    #expect(own.value?.state == "pending")
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

    #expect(own.value?.state == "cancelled")
    #expect(log.entries == ["begin gate", "source: plain"])
    promise.completeCancelled()
    #expect(log.entries == ["begin gate", "source: plain", "begin next"])
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

    #expect(own.value?.state == "cancelled")
    #expect(log.entries == ["begin gate"])
  }

  @Test("The next body waits for the work, even if its future ended early")
  func endedEarly() {
    let (promise, future) = add("first")
    _ = add("second")

    future.cancel(.forceImmediately)
    #expect(future.state == "cancelled")
    #expect(log.entries == ["begin first", "first: plain"])
    promise.completeCancelled()

    #expect(log.entries == ["begin first", "first: plain", "begin second"])
  }

  @Test("Consumers are notified before the next body begins")
  func notifiedFirst() {
    let (first, future) = add("first")
    future.observe { [log] in log("heard \($0.state)") }
    _ = add("second")

    first.succeed(1)

    #expect(log.entries == ["begin first", "heard success(1)", "begin second"])
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

    #expect(future.state == state)
    #expect(log.entries == ["begin gate", "begin next"])
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

    #expect(log.entries == ["outer", "inner"])
    #expect([outer, inner.value].map { $0?.state } == ["success(1)", "success(2)"])
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
    #expect(log.entries == ["begin gate", "freed: 1"])
    gate.succeed(1)

    #expect(log.entries == ["begin gate", "freed: 1", "waiting: 0", "freed: 0"])
  }

  @Test("A dropped queue still runs the added work")
  func dropped() {
    let queue = Locked<FutureQueue?>(FutureQueue())
    let promise = Promise<Int>()
    _ = queue.value?.add { promise.future }
    let second = queue.value?.add { .succeeded(2) }

    queue.value = nil
    #expect(second?.state == "pending")
    promise.succeed(1)

    #expect(second?.state == "success(2)")
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
    #expect(census.alive == 0)
    _ = enqueue(census.probe())

    gate.succeed(1)

    #expect(census.alive == 0)
  }
}
