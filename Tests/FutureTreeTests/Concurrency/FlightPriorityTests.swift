import TestSupport
import Testing

@testable import FutureTree

@Suite("SingleFlight: priorities")
struct FlightPriorityTests {
  private let flights = SingleFlight<String, Int>()
  private let log = Recorder()
  private let promise = Promise<Int>()

  private func load(_ priority: TaskPriority, from promise: Promise<Int>? = nil) -> Future<Int> {
    let promise = promise ?? self.promise
    return flights.load("key", priority: priority) { [log] shared in
      log("\(shared.current.rawValue)")
      shared.onChange { log("\($0.rawValue)") }
      return promise.future
    }
  }

  @Test("The priority rises with a caller, and falls when the caller leaves", arguments: CancelEverywhereOptions.all)
  func follows(options: CancellationOptions) {
    let (low, high, other) = (load(.low), load(.high), load(.medium))

    high.cancel(options)
    other.cancel(options)

    expectEqual(log.entries, [TaskPriority.low, .high, .medium, .low].map { "\($0.rawValue)" })
    expectEqual([low, high, other].states(), ["pending", "cancelled", "cancelled"])
  }

  private enum CancelEverywhereOptions {
    static let all: [CancellationOptions] = [
      [], .doNotForwardRequest, .doNotForwardIfOthersWaiting, .forceImmediately,
    ]
  }

  @Test("Equal callers are counted, and the last caller changes nothing")
  func counted() {
    let callers = [load(.high), load(.high), load(.low)]

    callers[0].cancel()
    expectEqual(log.count, 1)
    callers[1].cancel()
    callers[2].cancel(.doNotForwardRequest)

    expectEqual(log.entries, [TaskPriority.high, .low].map { "\($0.rawValue)" })
  }

  @Test("Callers without a priority do not count, and a flight that began without one has none")
  func without() {
    let plain = flights.load("key") { promise.future }
    let joined = load(.high)
    expectEqual(log.entries, [])
    promise.succeed(1)
    expectEqual([plain, joined].states(), ["success(1)", "success(1)"])

    let second = Promise<Int>()
    let first = load(.low, from: second)
    _ = flights.load("key") { second.future }
    expectEqual(log.entries, ["\(TaskPriority.low.rawValue)"])
    second.succeed(2)
    expectEqual(first.state, "success(2)")
  }

  @Test("The priority of a flight that has ended is forgotten")
  func forgotten() {
    for number in 0..<10 {
      let promise = Promise<Int>()
      let callers = [load(.low, from: promise), load(.high, from: promise)]
      promise.succeed(number)
      #expect(callers.allSatisfy { $0.isCompleted })
    }
    #expect(flights.priorities.value.isEmpty)
    expectEqual(flights.count, 0)
  }

  @Test("A closure that throws fails the flight")
  func throwing() {
    let failed = flights.load("key", priority: .low) { _ in throw Oops() }

    expectEqual(failed.state, "failure(oops)")
    #expect(flights.priorities.value.isEmpty)
  }

  @Test("A change inside a change reports the last priority")
  func reentrant() {
    let caller = Locked<Future<Int>?>(nil)
    let low = flights.load("key", priority: .low) { [log, flights, promise] shared in
      shared.onChange { priority in
        log("\(priority.rawValue)")
        if priority == .high { caller.value = flights.load("key", priority: .background) { _ in promise.future } }
      }
      return promise.future
    }
    let high = load(.high)
    high.cancel()

    expectEqual(log.entries, [TaskPriority.high, .low].map { "\($0.rawValue)" })
    promise.succeed(1)  // The observer of the flight holds one of its callers until the flight has ended.
    expectEqual([low, caller.value].map { $0?.state }, ["success(1)", "success(1)"])
  }
}
