import FutureTree
import TestSupport
import Testing

@Suite("Stress: tasks", .serialized)
struct StressTaskTests {
  static let rounds = 3_000

  @Test("Await ∥ cancel the task ∥ complete: every wait ends with the value or CancellationError")
  func awaiting() async {
    for _ in 0..<Self.rounds {
      let promise = Promise<Int>()
      let future = promise.future
      let task = Task {
        do {
          return "\(try await future.value)"
        } catch {
          return "\(type(of: error))"
        }
      }
      async let cancelled: Void = task.cancel()
      async let completed: Bool = promise.succeed(1)
      let end = await task.value
      _ = await (cancelled, completed)
      #expect(end == "1" || end == "CancellationError")
      expectEqual(future.state, "success(1)")
    }
  }

  @Test("Await `outcome` ∥ cancel the task: the wait ends with the outcome of the future")
  func awaitingOutcome() async {
    for _ in 0..<Self.rounds {
      let promise = Promise<Int>()
      let handled = Tally()
      promise.onRequestCancel { _ in
        handled.add()
        return .complete(.cancelled)
      }
      let future = promise.future
      let task = Task { await future.outcome.state }
      async let cancelled: Void = task.cancel()
      let end = await task.value
      await cancelled
      expectEqual(end, "cancelled")
      expectEqual(handled.count, 1)
      withExtendedLifetime(promise) {}
    }
  }

  @Test("cancel two awaiting tasks: the source receives exactly one request")
  func twoTasks() async {
    for _ in 0..<Self.rounds {
      let promise = Promise<Int>()
      let handled = Tally()
      promise.onRequestCancel { _ in
        handled.add()
        return .continue
      }
      let future = promise.future
      let executor = ManualTaskExecutor()
      let first = executor.start { _ = try? await future.value }
      let second = executor.start { _ = try? await future.value }
      async let left: Void = first.cancel()
      async let right: Void = second.cancel()
      _ = await (left, right)
      executor.runAll()
      expectEqual(handled.count, 1)
      withExtendedLifetime(promise) {}
    }
  }
}
