import FutureTreeTesting
import TestSupport
import Testing

@testable import FutureTree

@Suite("Operators: SingleFlight")
struct SingleFlightTests {
  private let log = Recorder()
  private let flights = SingleFlight<String, Int>()

  /// Loads from a source that logs its requests.
  private func load(_ key: String = "key", from promise: Promise<Int>) -> Future<Int> {
    flights.load(key) {
      log("start \(key)")
      return promise.future
    }
  }

  @Test("Callers of one key share one flight and get separate futures")
  func shares() {
    let promise = source(log)

    let callers = (1...3).map { _ in load(from: promise) }
    promise.succeed(1)

    expectEqual(log.entries, ["start key"])
    expectEqual(Set(callers).count, 3)
    expectEqual(callers.states(), ["success(1)", "success(1)", "success(1)"])
  }

  @Test("Two keys have two flights")
  func keys() {
    let promises = ["a": source(log, "a"), "b": source(log, "b")]

    let callers = promises.keys.sorted().map { key in flights.load(key) { promises[key]?.future ?? .succeeded(0) } }
    expectEqual(flights.count, 2)
    promises["a"]?.succeed(1)

    expectEqual(callers.states(), ["success(1)", "pending"])
    withExtendedLifetime(promises) { expectEqual(flights.count, 1) }
  }

  @Test(
    "The outcome passes to all callers",
    arguments: [.success(1), .failure(Oops()), .cancelled("gone")] as [Outcome<Int>])
  func outcomes(outcome: Outcome<Int>) {
    let promise = source(log)
    let callers = [load(from: promise), load(from: promise)]

    promise.complete(with: outcome)

    expectEqual(callers.states(), [outcome.state, outcome.state])
    expectEqual(flights.count, 0)
  }

  @Test(
    "Cancelling one caller does not affect the others, with any options",
    arguments: [[], .doNotForwardIfOthersWaiting, .forceImmediately, .doNotForwardRequest] as [CancellationOptions])
  func oneDetaches(options: CancellationOptions) {
    let promise = source(log)
    let first = load(from: promise)
    let second = load(from: promise)

    first.cancel(options)

    expectEqual([first, second].states(), ["cancelled", "pending"])
    expectEqual(log.entries, ["start key"])
    promise.succeed(1)
    expectEqual(second.state, "success(1)")
  }

  @Test("The source receives the withheld request when the last caller detaches")
  func lastDetaches() {
    let promise = source(log)
    let first = load(from: promise)
    let second = load(from: promise)

    first.cancel(reason: "first")
    second.cancel(reason: "second")

    expectEqual(log.entries, ["start key", "source: plain"])
    expectEqual(promise.cancelRequest?.reason.message, "first")
    expectEqual(second.state, "pending")
    promise.completeCancelled()
    expectEqual(second.state, "cancelled")
  }

  @Test("A success after the request of the last caller is kept")
  func racedSuccess() {
    let promise = source(log)
    let caller = load(from: promise)

    caller.cancel()
    promise.succeed(1)

    expectEqual(caller.state, "success(1)")
  }

  @Test("A caller that arrives while the flight is being cancelled starts a new one")
  func whileEnding() {
    let ending = source(log, "ending")
    let fresh = source(log, "fresh")
    let first = load(from: ending)
    first.cancel()

    let second = load(from: fresh)
    let third = load(from: fresh)
    ending.succeed(1)

    expectEqual(log.entries, ["start key", "ending: plain", "start key"])
    expectEqual([first, second, third].states(), ["success(1)", "pending", "pending"])
    expectEqual(flights.count, 1)
    fresh.succeed(2)
    expectEqual([second, third].states(), ["success(2)", "success(2)"])
  }

  @Test("A flight abandoned without a request continues and can be joined")
  func abandonedWithoutRequest() {
    let promise = source(log)
    load(from: promise).cancel(.doNotForwardRequest)

    let caller = load(from: promise)
    promise.succeed(1)

    expectEqual(log.entries, ["start key"])
    expectEqual(caller.state, "success(1)")
  }

  @Test("The key of a completed flight is free, even inside its notifications")
  func keyIsFree() {
    let promise = source(log)
    let again = Locked<Future<Int>?>(nil)
    load(from: promise).observe { [flights] _ in again.value = flights.load("key") { .succeeded(2) } }

    promise.succeed(1)

    expectEqual(again.value?.state, "success(2)")
    expectEqual(flights.count, 0)
  }

  @Test("A flight that completed in the running callback has ended")
  func completedInCallback() {
    let callers = Locked<[Future<Int>]>([])

    Future.succeeded(0).observe { [flights] _ in
      for value in 1...2 {
        let caller = flights.load("key") { .succeeded(value) }
        callers.withLock { $0.append(caller) }
      }
    }

    expectEqual(callers.value.states(), ["success(1)", "success(2)"])
    expectEqual(flights.count, 0)
    expectEqual(flights.load("key") { .succeeded(3) }.state, "success(3)")
  }

  @Test(
    "An error that `start` throws completes the flight",
    arguments: [
      (Oops(), "failure(oops)"), (CancellationError(), "cancelled"), (FutureCancelled(reason: "no"), "cancelled"),
    ] as [(any Error & Sendable, String)])
  func throwing(error: any Error & Sendable, state: String) {
    let joined = Locked<Future<Int>?>(nil)

    let caller = flights.load("key") {
      joined.value = flights.load("key") { .succeeded(1) }
      throw error
    }

    expectEqual(caller.state, state)
    expectEqual(joined.value?.state, state)
    expectEqual(flights.count, 0)
  }

  @Test("A caller that joins and detaches while `start` runs does not affect the first caller")
  func detachesWhileStarting() {
    let promise = source(log)

    let caller = flights.load("key") {
      let joined = flights.load("key") { .succeeded(1) }
      joined.cancel()
      expectEqual(joined.state, "cancelled")
      return promise.future
    }

    expectEqual(caller.state, "pending")
    expectEqual(log.entries, [])
  }

  @Test("`start` runs outside the lock, and other threads can load at the same time")
  func unlocked() {
    let caller = flights.load("key") {
      onAnotherThread { [flights, log] in log("\(flights.count), \(flights.load("other") { .succeeded(2) }.state)") }
      return .succeeded(1)
    }

    expectEqual(log.entries, ["1, success(2)"])
    expectEqual(caller.state, "success(1)")
  }

  @Test("Keys are released outside the lock when the flight completes")
  func freed() {
    struct Key: Hashable {
      let probe: Probe
      static func == (left: Key, right: Key) -> Bool { true }
      func hash(into hasher: inout Hasher) {}
    }
    let flights = SingleFlight<Key, Int>()
    let promises = (1...2).map { _ in Promise<Int>() }
    func load(_ index: Int) -> Future<Int> {
      let probe = Probe { [log] in onAnotherThread { log("\(index) freed, \(flights.count)") } }
      return flights.load(Key(probe: probe)) { promises[index].future }
    }
    load(0).cancel()
    _ = load(1)  // Replaces the first flight, whose key is deallocated.

    for promise in promises { promise.succeed(1) }

    expectEqual(log.entries.sorted(), ["0 freed, 1", "1 freed, 0"])
  }

  @Test("A dropped SingleFlight cancels no flight")
  func dropped() {
    let promise = source(log)
    let flights = Locked<SingleFlight<String, Int>?>(SingleFlight())
    let caller = flights.value?.load("key") { promise.future }

    flights.value = nil
    promise.succeed(1)

    expectEqual(caller?.state, "success(1)")
    expectEqual(log.entries, [])
  }

  @Test("10,000 cancelled callers leave nothing in a flight")
  func flat() {
    let census = Census()
    let promise = source(log)
    let stays = load(from: promise)
    func join(_ probe: Probe) { load(from: promise).ensure { probe.touch() }.cancel() }

    for _ in 0..<10_000 { join(census.probe()) }

    expectEqual(census.alive, 0)
    expectEqual(stays.state, "pending")
    expectEqual(flights.count, 1)
  }

  // MARK: - Linger

  @Test("With a linger, the next caller joins the flight of the last one. Law 24 (lingering)")
  func linger() {
    let clock = ManualClock()
    let flights = SingleFlight<String, Int>(linger: .seconds(5), clock: clock)
    let promise = source(log)
    let first = flights.load("key") { promise.future }

    expectEqual(first.cancel().effect, .lingering)
    expectEqual(first.state, "cancelled")
    expectEqual(flights.count, 1)
    let second = flights.load("key") { Future.failed(Oops("a second load")) }
    promise.succeed(1)

    expectEqual(second.state, "success(1)")
    expectEqual(log.entries, [])
    expectEqual(clock.timerCount, 0)
    expectEqual(flights.count, 0)
  }

  @Test("After the linger, the load is asked, and the next caller starts a new flight")
  func lingerEnds() {
    let clock = ManualClock()
    let flights = SingleFlight<String, Int>(linger: .seconds(5), clock: clock)
    let promise = source(log)
    flights.load("key") { promise.future }.cancel()

    clock.advance(by: .seconds(5))
    expectEqual(log.entries, ["source: plain"])
    expectEqual(flights.load("key") { .succeeded(2) }.state, "success(2)")
    withExtendedLifetime(promise) { expectEqual(flights.count, 0) }
  }
}
