import FutureTree
import TestSupport
import Testing

@Suite("Stress: the outcomes of several futures", .serialized)
struct StressOutcomeSequenceTests {
  static let rounds = 2_000

  @Test("Iterate ∥ complete on two threads: every outcome arrives once")
  func completes() async throws {
    for _ in 0..<Self.rounds {
      let promises = (0..<6).map { _ in Promise<Int>() }
      let futures = promises.map(\.future)
      let task = Task {
        var indices: [Int] = []
        for try await completion in Future.outcomes(of: futures) { indices.append(completion.index) }
        return indices.sorted()
      }
      async let left: Void = { for promise in promises { promise.succeed(1) } }()
      async let right: Void = { for promise in promises.reversed() { promise.succeed(2) } }()
      _ = await (left, right)
      try await expectEqual(task.value, [0, 1, 2, 3, 4, 5])
    }
  }

  @Test("Iterate ∥ cancel the task ∥ complete one: the pending future receives exactly one request")
  func cancelled() async {
    for _ in 0..<Self.rounds {
      let first = Promise<Int>()
      let second = Promise<Int>()
      let handled = Recorder()
      second.onRequestCancel { _ in
        handled("asked")
        return .continue
      }
      let futures = [first.future, second.future]
      let task = Task {
        var count = 0
        do {
          for try await _ in Future.outcomes(of: futures) { count += 1 }
          return -1
        } catch {
          return count
        }
      }
      async let cancelled: Void = task.cancel()
      async let completed: Bool = first.succeed(1)
      let count = await task.value
      _ = await (cancelled, completed)
      #expect(count == 0 || count == 1)
      expectEqual(handled.entries, ["asked"])
      withExtendedLifetime(second) {}
    }
  }
}
