import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

/// A user's type that is convertible to a future.
private struct Page: FutureConvertible {
  let title: Completion<String>
  var log = Recorder()

  var completion: Completion<String> { log("read", passing: title) }
}

@Suite("Operators: results of the bodies of onSuccess and onComplete")
struct FutureConvertibleTests {
  static let outcomes: [Outcome<Int>] = [.success(1), .failure(Oops()), .cancelled("gone")]

  @Test("onSuccess takes the outcome of a returned future, completion or outcome", arguments: outcomes)
  func onSuccess(outcome: Outcome<Int>) {
    let (upstream, inner) = (Promise<Void>(), Promise<Int>())
    let futures = [
      upstream.future.onSuccess { _ in inner.future },
      upstream.future.onSuccess { _ in Completion.completeUsing(inner.future) },
      upstream.future.onSuccess { _ in Completion(outcome) },
      upstream.future.onSuccess { _ in outcome },
    ]

    upstream.succeed()
    #expect(futures.states() == ["pending", "pending", outcome.state, outcome.state])
    inner.complete(with: outcome)

    #expect(futures.states() == Array(repeating: outcome.state, count: 4))
    #expect(futures.allSatisfy { $0.reason?.message == outcome.reason?.message })
  }

  @Test("onComplete takes the outcome of a returned future, completion or outcome", arguments: outcomes, outcomes)
  func onComplete(first: Outcome<Int>, outcome: Outcome<Int>) {
    let (upstream, inner) = (Promise<Int>(), Promise<Int>())
    let futures = [
      upstream.future.onComplete { _ in inner.future },
      upstream.future.onComplete { _ in Completion.completeUsing(inner.future) },
      upstream.future.onComplete { _ in Completion(outcome) },
      upstream.future.onComplete { _ in outcome },
    ]

    upstream.complete(with: first)
    #expect(futures.states() == ["pending", "pending", outcome.state, outcome.state])
    inner.complete(with: outcome)

    #expect(futures.states() == Array(repeating: outcome.state, count: 4))
    #expect(futures.allSatisfy { $0.reason?.message == outcome.reason?.message })
  }

  @Test("A body can return a user's type, whose completion is read once on the body's executor")
  func ownType() {
    let (log, executor) = (Recorder(), ManualExecutor())
    let page = Page(title: .success("news"), log: log)

    let found = Future.succeeded(1).onSuccess(on: executor.executor) { _ in page }
    let instead = Future<Int>.failed(Oops()).onComplete(on: executor.executor) { _ in page }
    #expect(log.entries == [])
    executor.runAll()

    #expect([found, instead].states() == ["success(news)", "success(news)"])
    #expect(log.entries == ["read", "read"])
  }

  @Test("A request is forwarded to the future of a user's type")
  func ownTypeIsAsked() {
    let promise = Promise<String>()
    promise.onRequestCancel { _ in .complete(.cancelled) }
    let future = Future.succeeded(1).onSuccess { _ in Page(title: .completeUsing(promise.future)) }

    let receipt = future.cancel(reason: "closed")

    #expect(receipt.effect == .delivered)
    #expect(future.reason?.message == "closed")
  }

  @Test("The completion of a body that does not begin is not read (law 11, bodies that have not begun)")
  func notRead() {
    let (log, promise) = (Recorder(), Promise<Int>())
    let future = promise.future.onSuccess { _ in Page(title: .success("news"), log: log) }

    future.cancel()
    promise.succeed(1)

    #expect(future.state == "cancelled")
    #expect(log.entries == [])
  }

  @Test("The result of a body is ignored after its branch ended early (law 11, bodies that have not begun)")
  func ignored() {
    let promise = Promise<Int>()
    let future = promise.future.onComplete { _ in Outcome.success(5) }

    future.cancel(.forceImmediately)

    #expect(future.state == "cancelled")
  }
}

/// These tests prove which code compiles without type annotations, and its meaning.
@Suite("Type inference: bodies that return a future by its outcome")
struct FutureByOutcomeTests {
  private let number = Future.succeeded(2)
  private let failure = Future<Int>.failed(Oops())

  private func fetch(_ id: Int) -> Future<String> { .succeeded("user \(id)") }

  @Test("A body can return .succeeded with and without a value")
  func succeeded() {
    let value = number.onSuccess { .succeeded($0 * 2) }
    let nothing = number.onSuccess { _ in .succeeded }
    let completed = failure.onComplete { outcome in .succeeded(outcome.state) }
    let completedWithNothing = failure.onComplete { _ in .succeeded }

    let types: (Future<Int>, Future<Void>, Future<String>, Future<Void>) = (
      value, nothing, completed, completedWithNothing
    )

    #expect([types.0.state, types.2.state] == ["success(4)", "success(failure(oops))"])
    #expect([types.1, types.3].states() == ["success(())", "success(())"])
  }

  @Test("A body can return .failed and .cancelled where the context or the other branch has the type")
  func endings() {
    let failed: Future<String> = number.onSuccess { _ in .failed(Oops("small")) }
    let cancelled: Future<String> = number.onComplete { _ in .cancelled("not needed") }
    let either = number.onSuccess { value in value > 5 ? fetch(value) : .failed(Oops("small")) }
    let other = number.onSuccess { value in value < 5 ? fetch(value) : .cancelled("large") }

    #expect([failed, cancelled].states() == ["failure(small)", "cancelled"])
    #expect([either, other].states() == ["failure(small)", "success(user 2)"])
    #expect(cancelled.reason?.message == "not needed")
  }

  @Test("A body with a throwing guard needs no type annotation")
  func guardThrows() {
    let found = number.onSuccess { value in
      guard value > 1 else { throw Oops("small") }
      return fetch(value)
    }
    let missing = number.onSuccess { value in
      guard value > 5 else { throw Oops("small") }
      return fetch(value)
    }
    let recovered = failure.onComplete { outcome in
      guard case .failure = outcome else { return fetch(0) }
      throw FutureCancelled(reason: "no user")
    }

    #expect([found, missing].states() == ["success(user 2)", "failure(small)"])
    #expect(recovered.reason?.message == "no user")
  }

  @Test("A body of several statements that returns .failed names its result type")
  func guardReturns() {
    let future = number.onSuccess { value -> Future<String> in
      guard value > 5 else { return .failed(Oops("small")) }
      return fetch(value)
    }
    let switched = failure.onComplete { outcome -> Future<String> in
      switch outcome {
      case .success(let value): fetch(value)
      case .failure(let error): .succeeded("failed: \(error)")
      case .cancelled(let reason): .cancelled(reason)
      }
    }

    #expect([future, switched].states() == ["failure(small)", "success(failed: oops)"])
  }

  @Test("Functions with convertible results can replace closures")
  func functions() {
    let passed = failure.onComplete { $0 }
    let fetched = number.onSuccess(fetch)
    let made = number.onSuccess(Completion.success)
    let promised = number.onComplete(Completion.init)

    #expect([passed, made, promised].states() == ["failure(oops)", "success(2)", "success(2)"])
    #expect(fetched.state == "success(user 2)")
  }
}
