import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

@Suite("ManualExecutor") struct ManualExecutorTests {
  @Test("A body is queued until the executor runs it")
  func runsQueuedBody() {
    let executor = ManualExecutor()

    let length = Future.succeeded("name").map(on: executor.executor) { $0.count }

    expectEqual(executor.pendingCount, 1)
    #expect(!length.isCompleted)
    expectEqual(executor.runAll(), 1)
    expectEqual(length.outcomeIfCompleted, .success(4))
  }

  @Test("A dropped job fails its future instead of leaving it pending")
  func dropped() {
    let executor = ManualExecutor()
    let length = Future.succeeded("name").map(on: executor.executor) { $0.count }

    executor.dropAll()

    expectEqual(length.outcomeIfCompleted, .failure(DroppedJob()))
  }

  @Test("A deallocated executor drops its jobs, and their futures fail")
  func gone() {
    var executor: ManualExecutor? = ManualExecutor()
    let future = executor.map { Future.succeeded(1).map(on: $0.executor) { $0 } }
    weak let observed = executor

    executor = nil

    #expect(observed == nil)
    expectEqual(future?.outcomeIfCompleted, .failure(DroppedJob()))
  }
}
