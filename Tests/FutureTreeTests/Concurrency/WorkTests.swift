import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@Suite("Operators: work")
struct WorkTests {
  /// The current thread as a number.
  private static var thread: UInt {
    #if canImport(Darwin)
      UInt(bitPattern: pthread_self())
    #else
      pthread_self()
    #endif
  }

  @Test("Work without an executor runs on another thread than the caller's")
  func offCaller() {
    let log = Recorder()
    onAnotherThread {
      let caller = Self.thread
      let future = Future { Self.thread == caller ? "on the caller" : "elsewhere" }
      let outcome = try? future.wait(for: .seconds(60))
      log(outcome?.state ?? "no outcome")
    }

    expectEqual(log.entries, ["success(elsewhere)"])
  }

  @Test("Work that waits for its caller does not block it")
  func callerGoesOn() async throws {
    let gate = Promise<Int>()
    let future = Future { try gate.future.wait(for: .seconds(60))?.get() }

    expectEqual(future.state, "pending")
    gate.succeed(1)

    try await expectEqual(future.value, 1)
  }

  @Test("`.immediate` runs the work on the caller's thread before the initializer returns")
  func immediate() {
    let log = Recorder()
    let caller = Self.thread

    let future = Future(on: .immediate) { log("work", passing: Self.thread == caller) }

    expectEqual(log.entries, ["work"])
    expectEqual(future.state, "success(true)")
  }

  @Test("An error fails the future, and CancellationError completes it cancelled")
  func throwing() async {
    let failed = Future<Int> { throw Oops() }
    let cancelled = Future<Int> { throw CancellationError() }

    await expectEqual([failed.outcome.state, cancelled.outcome.state], ["failure(oops)", "cancelled"])
  }
}
