import FutureTreeTesting
import TestSupport
import Testing

@testable import FutureTree

@Suite("Operators: traverseSettled")
struct TraverseSettledTests {
  private let promises = (0..<4).map { _ in Promise<Int>() }
  private let log = Recorder()

  private func traverse(on executor: FutureExecutor = .immediate) -> Future<[Outcome<Int>?]> {
    let onProgress = { @Sendable [log] (finished: Int, total: Int) in log("\(finished) of \(total)") }
    return Future.traverseSettled(0..<4, atMost: 2, on: executor, onProgress: onProgress) { [promises] index in
      promises[index].future
    }
  }

  private func states(_ future: Future<[Outcome<Int>?]>) -> [String]? {
    guard case .success(let outcomes) = future.outcomeIfCompleted else { return nil }
    return outcomes.map { $0?.state ?? "not begun" }
  }

  @Test("A failed and a cancelled item do not stop the others")
  func settles() {
    let all = traverse()
    promises[1].fail(Oops())
    promises[0].succeed(0)
    promises[3].completeCancelled("gone")
    expectEqual(all.state, "pending")
    promises[2].succeed(2)

    expectEqual(states(all), ["success(0)", "failure(oops)", "success(2)", "cancelled"])
    expectEqual(log.entries, ["1 of 4", "2 of 4", "3 of 4", "4 of 4"])
  }

  @Test("A request begins no item, waits for those in flight, and loses no value")
  func cancelled() {
    let all = traverse()
    promises[0].succeed(0)
    all.cancel(reason: "closed")
    #expect(promises[1].cancelRequest?.reason.message == "closed" && promises[3].cancelRequest == nil)
    promises[2].complete(.cancelled)
    expectEqual(all.state, "pending")
    promises[1].succeed(1)

    expectEqual(states(all), ["success(0)", "success(1)", "cancelled", "not begun"])
    expectEqual(log.entries, ["1 of 4", "2 of 4", "3 of 4"])
  }

  @Test(
    "Force and a request to this future only end it early",
    arguments: [CancellationOptions.forceImmediately, .doNotForwardRequest])
  func early(options: CancellationOptions) {
    let all = traverse()
    all.cancel(options)

    #expect(all.state == "cancelled" && (promises[0].cancelRequest == nil) == (options == .doNotForwardRequest))
  }

  @Test("An item whose body waits on the executor is cancelled, and its body does not run")
  func queued() {
    let executor = ManualExecutor()
    let all = traverse(on: executor.executor)
    all.cancel()
    executor.runAll()

    expectEqual(states(all), ["cancelled", "cancelled", "not begun", "not begun"])
  }

  @Test("A body that throws fails its item")
  func throwing() {
    let all = Future<Int>.traverseSettled([1, 2], atMost: 1) { item in
      if item == 1 { throw Oops() }
      return .succeeded(item)
    }

    expectEqual(states(all), ["failure(oops)", "success(2)"])
  }

  @Test("No items succeed, and a limit below 1 is refused")
  func edges() {
    let none = Future<Int>.traverseSettled([Int](), atMost: 4) { .succeeded($0) }
    let refused = Future<Int>.traverseSettled([1], atMost: 0) { .succeeded($0) }

    expectEqual(states(none), [])
    let error = refused.outcomeIfCompleted?.error as? InvalidArgument
    expectEqual(error?.function, "traverseSettled(_:atMost:)")
    expectEqual(error?.fileID.hasSuffix("TraverseSettledTests.swift"), true)
  }

  @Test("100,000 items that complete at once, in constant stack space")
  func many() {
    let all = Future<Int>.traverseSettled(0..<100_000, atMost: 3) { .succeeded($0) }

    expectEqual(states(all)?.count, 100_000)
  }
}
