import FutureTree
import TestSupport
import Testing

@Suite("Stress: SingleFlight")
struct StressSingleFlightTests {
  private struct Round: Sendable {
    let flights = SingleFlight<Int, Int>()
    let starts = Recorder()
    let promises = Locked<[Promise<Int>]>([])
    let callers = Locked<[Future<Int>]>([])

    func start() -> Future<Int> {
      starts("start")
      let promise = Promise<Int>()
      promise.onRequestCancel { _ in .complete(.cancelled) }
      promises.withLock { $0.append(promise) }
      return promise.future
    }

    func load() -> Future<Int> {
      let caller = flights.load(0) { start() }
      callers.withLock { $0.append(caller) }
      return caller
    }

    func loading() -> Round {
      _ = load()
      return self
    }
  }

  @Test("Two concurrent callers share one flight")
  func twoCallers() {
    race(rounds: 2_000) {
      Round()
    } _: {
      [{ _ = $0.load() }, { _ = $0.load() }]
    } check: { round, number in
      round.promises.value[0].succeed(number)
      expectEqual(round.starts.count, 1)
      expectEqual(round.callers.value.states(), ["success(\(number))", "success(\(number))"])
      expectEqual(round.flights.count, 0)
    }
  }

  @Test("A caller joins and detaches while the first one starts the flight: the first one gets its value")
  func startsAndDetaches() {
    race(rounds: LongTest.count(20_000, small: 2_000)) {
      Round()
    } _: {
      [{ _ = $0.load() }, { round in for _ in 0..<4 { round.flights.load(0) { round.start() }.cancel() } }]
    } check: { round, number in
      for promise in round.promises.value { promise.succeed(number) }
      expectEqual(round.callers.value.states(), ["success(\(number))"])
      expectEqual(round.flights.count, 0)
    }
  }

  @Test("A caller arrives while the last one detaches: it gets a value")
  func arrivesAndDetaches() {
    race(rounds: 2_000) {
      Round().loading()
    } _: {
      [{ $0.callers.value[0].cancel() }, { _ = $0.load() }]
    } check: { round, number in
      for promise in round.promises.value { promise.succeed(number) }
      expectEqual(round.callers.value.states(), ["cancelled", "success(\(number))"])
      expectEqual(round.flights.count, 0)
    }
  }

  @Test("A caller arrives while the flight completes: every caller gets an outcome")
  func arrivesAndCompletes() {
    race(rounds: 2_000) {
      Round().loading()
    } _: {
      [{ $0.promises.value[0].succeed(1) }, { _ = $0.load() }]
    } check: { round, _ in
      for promise in round.promises.value { promise.succeed(2) }
      #expect(round.callers.value.allSatisfy { $0.isCompleted })
      expectEqual(round.flights.count, 0)
    }
  }
}
