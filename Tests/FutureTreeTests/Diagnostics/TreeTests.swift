import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

@Suite("Pictures of the tree") struct TreeTests {
  @Test("A source is at the left, and its waiters are below it")
  func branches() {
    let promise = Promise<Int>()
    let trunk = promise.future.named("load").map { $0 }.named("trunk")
    let branches = [trunk.map { $0 }.named("left"), trunk.onFailure { _ in }]

    let tree = trunk.tree()

    expectEqual(
      tree.description,
      """
      load             pending, 1 consumer
      └─ trunk         pending, 2 consumers  ← here
         ├─ left       pending
         └─ onFailure  pending
      """)
    expectEqual(branches[0].tree().entries.count, 4)
    promise.succeed(1)
  }

  @Test("A join is drawn once and referred to from its other inputs")
  func joins() {
    let promises = [Promise<Int>(), Promise<Int>()]
    let all = Future.all(promises.map(\.future))

    expectEqual(
      all.tree().description,
      """
      promise  pending, 1 consumer
      └─ all   pending  ← here
      promise  pending, 1 consumer
      └─ all   (see above)
      """)
    for promise in promises { promise.succeed(1) }
  }

  @Test("The text shows requests, withheld requests and outcomes")
  func requests() {
    let promise = Promise<Int>()
    let future = promise.future.named("work").shared()
    let (first, second) = (future.cancelToken(), future.cancelToken())
    let reason = CancellationReason("enough", fileID: "App/Page.swift", line: 7)

    first.cancel(reason: reason)
    let withheld = future.tree().description
    second.cancel(reason: reason)
    let asked = future.tree().description
    promise.completeCancelled()

    expectEqual(withheld, "work  pending, 1 consumer, shared, withheld: enough (App/Page.swift:7)")
    expectEqual(asked, "work  pending, shared, asked to cancel: enough (App/Page.swift:7)")
    expectEqual(future.tree().description, "work  cancelled: enough (App/Page.swift:7)")
    #expect(Future<Int>.failed(DroppedJob()).tree().description.hasPrefix("promise  failed: An executor dropped"))
  }

  @Test("A future whose body waits for its executor is queued")
  func queued() {
    let executor = ManualExecutor()
    let future = Future.succeeded(1).map(on: executor.executor) { $0 }

    expectEqual(future.tree().entries[0].state, .queued)
    expectEqual(executor.runAll(), 1)
  }

  @Test("A cycle of promises is drawn once")
  func circle() {
    let promises = (0..<10).map { _ in Promise<Int>() }  // Shorter cycles are refused.
    for (index, promise) in promises.enumerated() {
      promise.future.named("\(index)")
      promise.complete(.completeUsing(promises[(index + 1) % 10].future))
    }

    let lines = "\(promises[0].future.tree())".split(separator: "\n")
    expectEqual(lines.count, 11)
    expectEqual(lines.first?.hasPrefix("0 "), true)
    expectEqual(lines.first?.hasSuffix("pending, 1 consumer  ← here"), true)
    expectEqual(lines.last?.hasSuffix("└─ 0  (see above)"), true)
    promises[0].future.cancel(.forceImmediately)  // Breaks the cycle to release its futures.
  }
}
