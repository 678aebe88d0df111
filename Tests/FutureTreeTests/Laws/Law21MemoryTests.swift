import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

/// Each test runs in a process of its own, after a warm-up, because other tests would be counted as well.
@Suite("Law 21: bounded memory, resident memory stays constant", .tags(.law21), .timeLimit(.minutes(20)))
struct Law21MemoryTests {
  @Test("Tokens taken and dropped in any order on one long-lived future leave no memory behind")
  func tokens() async {
    _ = await withTaskExecutorPreference(OwnThreads.shared) {
      await #expect(processExitsWith: .success) {
        let promise = Promise<Int>()
        let future = promise.future
        expectFlatMemory(after: LongTest.count(1_000_000, small: 100_000)) { count, random in
          var held = (0..<100).map { _ in future.cancelToken() }
          for _ in 0..<count { held[Int.random(in: 0..<100, using: &random)] = future.cancelToken() }
        }
        precondition(future.tree().entries[0].consumers == 0)
      }
    }
  }

  @Test("Observers, handlers, consumers and timers that were removed leave no memory behind")
  func registrations() async {
    _ = await withTaskExecutorPreference(OwnThreads.shared) {
      await #expect(processExitsWith: .success) {
        let (promise, clock) = (Promise<Int>(), ManualClock())
        let future = promise.future
        expectFlatMemory(after: LongTest.count(60_000, small: 10_000)) { count, _ in
          for _ in 0..<count {
            future.observe { _ in }.remove()
            promise.onRequestCancel { _ in .continue }.remove()
            future.timeout(after: .seconds(9), clock: clock).map { $0 }.cancel(.doNotForwardRequest)
            future.timeout(after: .seconds(9), clock: clock).cancel(.doNotForwardRequest)
            clock.advance(by: .seconds(1))
          }
          // Of the two timeouts the first was detached from, and still waits without a consumer.
          clock.advance(by: .seconds(9))
        }
        precondition(clock.timerCount == 0)
      }
    }
  }

  @Test("System timers that were cancelled long before they fire leave no memory behind")
  func systemTimers() async {
    _ = await withTaskExecutorPreference(OwnThreads.shared) {
      await #expect(processExitsWith: .success) {
        expectFlatMemory(after: LongTest.count(60_000, small: 10_000)) { count, _ in
          for _ in 0..<count { Future.after(.seconds(3600)).cancel() }
        }
      }
    }
  }
}

/// Warms up with a tenth of the rounds, runs them all, and ends the process if memory grows by more than a megabyte.
private func expectFlatMemory(after rounds: Int, _ work: (_ rounds: Int, inout SplitMix64) -> Void) {
  var random = SplitMix64(seed: 7)
  work(rounds / 10, &random)
  let before = residentBytes()
  work(rounds, &random)
  let growth = residentBytes() - before
  precondition(growth < 1 << 20, "memory grew by \(growth) bytes")
}
