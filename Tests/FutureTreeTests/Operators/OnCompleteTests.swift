import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

@Suite("Operators: onComplete")
struct OnCompleteTests {
  static let outcomes: [Outcome<Int>] = [.success(1), .failure(Oops()), .cancelled("gone")]

  @Test("The body receives any outcome, and its value is the result", arguments: outcomes)
  func value(outcome: Outcome<Int>) {
    let promise = Promise<Int>()
    let derived = promise.future.onComplete { .success($0.state) }

    promise.complete(with: outcome)

    expectEqual(derived.state, "success(\(outcome.state))")
  }

  @Test("The outcome of the body's future is the result", arguments: outcomes)
  func future(outcome: Outcome<Int>) {
    let promise = Promise<Int>()
    let inner = Promise<String>()
    let derived = promise.future.onComplete { _ in .completeUsing(inner.future) }
    promise.complete(with: outcome)
    expectEqual(derived.state, "pending")

    inner.succeed("inner")

    expectEqual(derived.state, "success(inner)")
  }

  @Test("The body's completion is the result", arguments: outcomes)
  func completion(outcome: Outcome<Int>) {
    let promise = Promise<Int>()
    let derived = promise.future.onComplete { _ in Completion<String>.cancelled("given up") }

    promise.complete(with: outcome)

    expectEqual(derived.reason?.message, "given up")
  }

  @Test("The body's error is the result", arguments: outcomes)
  func error(outcome: Outcome<Int>) {
    let promise = Promise<Int>()
    let derived = promise.future.onComplete { _ -> Completion<Int> in throw Oops("thrown") }

    promise.complete(with: outcome)

    expectEqual(derived.state, "failure(thrown)")
  }

  @Test("A body that returns the outcome or calls get() on it passes every outcome", arguments: outcomes)
  func passingOn(outcome: Outcome<Int>) {
    let promise = Promise<Int>()
    let returned = promise.future.onComplete { Completion($0) }
    let got = promise.future.onComplete { .success(try $0.get()) }

    promise.complete(with: outcome)

    expectEqual([returned, got].states(), [outcome.state, outcome.state])
    expectEqual([returned, got].map { $0.reason?.message }, [outcome.reason?.message, outcome.reason?.message])
  }

  @Test("A request is forwarded, and the body runs with the outcome of the upstream", arguments: outcomes)
  func asked(outcome: Outcome<Int>) {
    let log = Recorder()
    let promise = source(log)
    let derived = promise.future.onComplete { .success($0.state) }

    derived.cancel()
    promise.complete(with: outcome)

    expectEqual(log.entries, ["source: plain"])
    expectEqual(derived.state, "success(\(outcome.state))")
  }

  @Test("A request is forwarded to the future that the body returned")
  func askedInner() {
    let log = Recorder()
    let inner = source(log, "inner")
    let derived = Future.succeeded(1).onComplete { _ in .completeUsing(inner.future) }

    derived.cancel()

    expectEqual(log.entries, ["inner: plain"])
  }

  @Test("The body runs on its executor, for every outcome", arguments: outcomes)
  func onExecutor(outcome: Outcome<Int>) {
    let executor = ManualExecutor()
    let promise = Promise<Int>()
    let derived = promise.future.onComplete(on: executor.executor) { .success($0.state) }

    promise.complete(with: outcome)
    expectEqual(derived.state, "pending")
    executor.runAll()

    expectEqual(derived.state, "success(\(outcome.state))")
  }
}
