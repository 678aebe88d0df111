import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

@Suite("Futures of completions and outcomes")
struct ResultFutureTests {
  static let outcomes: [Outcome<Int>] = [.success(1), .failure(Oops()), .cancelled("gone")]

  @Test("The future of an outcome, and of its completion, has completed with it", arguments: outcomes)
  func completed(outcome: Outcome<Int>) {
    let futures = [outcome.future, Completion(outcome).future]

    expectEqual(futures.states(), [outcome.state, outcome.state])
    #expect(futures.allSatisfy { $0.reason?.message == outcome.reason?.message })
  }

  @Test("The future of completeUsing is that future")
  func completeUsing() {
    let promise = Promise<Int>()

    expectEqual(Completion.completeUsing(promise.future).future, promise.future)
  }

  @Test("A body of onSuccess that returns the future of a completion takes its outcome", arguments: outcomes)
  func returned(outcome: Outcome<Int>) {
    let promise = Promise<Int>()
    let direct = Future.succeeded.onSuccess { Completion(outcome).future }
    let linked = Future.succeeded.onSuccess { Completion.completeUsing(promise.future).future }
    expectEqual(linked.state, "pending")

    promise.complete(with: outcome)

    expectEqual([direct, linked].states(), [outcome.state, outcome.state])
    #expect([direct, linked].allSatisfy { $0.reason?.message == outcome.reason?.message })
  }

  @Test("The future of a completion that is cancelled without a reason is cancelled")
  func withoutReason() {
    expectEqual(Completion<Int>.cancelled.future.state, "cancelled")
  }

  @Test("A body of onComplete that forwards the outcome passes it", arguments: outcomes)
  func forwarded(outcome: Outcome<Int>) {
    let promise = Promise<Int>()
    let future = promise.future.onComplete { Completion($0) }

    promise.complete(with: outcome)

    expectEqual(future.state, outcome.state)
    expectEqual(future.reason?.message, outcome.reason?.message)
  }

  @Test(
    "The result of a body is ignored after its branch ended early (law 11, bodies that have not begun)", .tags(.law11))
  func ignored() {
    let promise = Promise<Int>()
    let future = promise.future.onComplete { _ in .success(5) }

    future.cancel(.forceImmediately)

    expectEqual(future.state, "cancelled")
  }
}
