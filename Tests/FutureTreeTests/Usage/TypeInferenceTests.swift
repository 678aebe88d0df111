import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

/// These tests prove which code compiles without type annotations, and its meaning.
@Suite("Type inference: closures without annotations")
struct TypeInferenceTests {
  private let number = Future.succeeded(2)
  private let failure = Future<Int>.failed(Oops())

  private func fetch(_ id: Int) -> Future<String> {
    .succeeded("user \(id)")
  }

  @Test("map accepts a value, and onSuccess accepts .succeeded")
  func value() {
    let future = number.map { value in value * 2 }
    let short = number.onSuccess { .succeeded($0 * 2) }

    let typed: Future<Int> = future

    expectEqual([typed.state, short.state], ["success(4)", "success(4)"])
  }

  @Test("onSuccess accepts a future")
  func future() {
    let future = number.onSuccess { value in fetch(value) }
    let short = number.onSuccess { fetch($0) }

    let typed: Future<String> = future

    expectEqual([typed.state, short.state], ["success(user 2)", "success(user 2)"])
  }

  @Test("onSuccess accepts .succeeded without a value, and .failed and .cancelled where a branch has the type")
  func completed() {
    let nothing = number.onSuccess { _ in .succeeded }
    let failed = number.onSuccess { $0 > 5 ? fetch($0) : .failed(Oops("small")) }
    let cancelled = number.onSuccess { $0 > 5 ? .cancelled("large") : fetch($0) }
    let typed: Future<String> = number.onSuccess { _ in .failed(Oops("typed")) }

    let types: (Future<Void>, Future<String>, Future<String>) = (nothing, failed, cancelled)

    expectEqual(types.0.state, "success(())")
    expectEqual([types.1, types.2, typed].states(), ["failure(small)", "success(user 2)", "failure(typed)"])
  }

  @Test("onSuccess accepts the future of a completion and of an outcome")
  func results() {
    let completion = number.onSuccess { Completion.success($0).future }
    let outcome = number.onSuccess { Outcome.success($0).future }

    expectEqual([completion, outcome].states(), ["success(2)", "success(2)"])
  }

  @Test("map accepts a body without result")
  func nothing() {
    let log = Recorder()
    let future = number.map { value in log("got \(value)") }

    let typed: Future<Void> = future

    expectEqual(log.entries, ["got 2"])
    #expect(typed.isCompleted)
  }

  @Test("map and onSuccess accept several statements with each kind of result")
  func statements() {
    let log = Recorder()
    let value = number.map { value in
      let doubled = value * 2
      return doubled + 1
    }
    let future = number.onSuccess { value in
      log("fetching \(value)")
      return fetch(value)
    }
    let either = number.onSuccess { value in
      if value > 1 { return fetch(value) }
      return .failed(Oops())
    }
    let nothing = number.map { value in
      log("first \(value)")
      log("second \(value)")
    }

    let types: (Future<Int>, Future<String>, Future<String>, Future<Void>) = (value, future, either, nothing)

    expectEqual(types.0.state, "success(5)")
    expectEqual(types.1.state, "success(user 2)")
    expectEqual(types.2.state, "success(user 2)")
    #expect(types.3.isCompleted)
    expectEqual(log.entries, ["fetching 2", "first 2", "second 2"])
  }

  @Test("map and onSuccess accept statements that throw, guard and branch")
  func throwing() {
    let value = number.map { value in
      guard value > 10 else { throw Oops("small") }
      return value
    }
    let future = number.onSuccess { value in
      if value > 10 { throw Oops("large") }
      return fetch(value)
    }

    expectEqual(value.state, "failure(small)")
    expectEqual(future.state, "success(user 2)")
  }

  @Test("A chain can end with a body that returns nothing")
  func discarded() {
    let log = Recorder()
    _ = number.map { $0 + 1 }.map { log("\($0)") }

    expectEqual(log.entries, ["3"])
  }

  @Test("recover and recoverWith accept values, futures and throws")
  func recover() {
    let rethrown = failure.recover { error in throw error }
    let replaced = failure.recover { _ in throw Oops("other") }
    let value = failure.recover { _ in 0 }
    let future = failure.recoverWith { _ in number }
    let succeeded = failure.recoverWith { _ in .succeeded(7) }
    let failed = failure.recoverWith { error in .failed(error) }
    let thrown = failure.recoverWith { error in throw error }

    expectEqual(rethrown.state, "failure(oops)")
    expectEqual(replaced.state, "failure(other)")
    expectEqual([value.state, future.state], ["success(0)", "success(2)"])
    expectEqual([succeeded, failed, thrown].states(), ["success(7)", "failure(oops)", "failure(oops)"])
  }

  @Test("recover and recoverWith accept several statements")
  func recoverStatements() {
    let log = Recorder()
    let value = failure.recover { error in
      log("\(error)")
      return 1
    }
    let future = failure.recoverWith { error in
      guard error is Oops else { throw error }
      return number
    }
    let thrown = failure.recover { error in
      log("throwing")
      throw error
    }

    expectEqual([value.state, future.state, thrown.state], ["success(1)", "success(2)", "failure(oops)"])
    expectEqual(log.entries, ["oops", "throwing"])
  }

  @Test("onComplete accepts each kind of completion, and a switch without types")
  func onComplete() {
    let log = Recorder()
    let value = number.onComplete { outcome in .success(outcome.state) }
    let future = number.onComplete { _ in .completeUsing(fetch(1)) }
    let done = number.onComplete { _ in .success }
    let nothing = number.onComplete { outcome in .success(log(outcome.state)) }
    let passed = number.onComplete { Completion($0) }
    let switched = failure.onComplete { outcome in
      switch outcome {
      case .success(let value): .success("\(value)")
      case .failure(let error): .success("failed \(error)")
      case .cancelled(let reason): .success("cancelled \(reason.message)")
      }
    }

    let types: (Future<String>, Future<String>, Future<Void>, Future<Void>, Future<Int>, Future<String>) = (
      value, future, done, nothing, passed, switched
    )

    expectEqual(types.0.state, "success(success(2))")
    expectEqual([types.1.state, types.2.state, types.3.state], ["success(user 1)", "success(())", "success(())"])
    expectEqual(types.4.state, "success(2)")
    expectEqual(types.5.state, "success(failed oops)")
    expectEqual(log.entries, ["success(2)"])
  }

  @Test("A body of several statements that returns .failed, .cancelled or .success names its result type")
  func resultTypes() {
    let fetched = number.onSuccess { value -> Future<String> in
      guard value > 5 else { return .failed(Oops("small")) }
      return fetch(value)
    }
    let completed = number.onComplete { outcome -> Completion<String> in
      guard case .success(let value) = outcome else { return .cancelled }
      return .completeUsing(fetch(value))
    }

    expectEqual([fetched, completed].states(), ["failure(small)", "success(user 2)"])
  }

  @Test("onComplete infers its result from the first return that contains the value's type")
  func firstReturn() {
    let failed = failure.onComplete { outcome in
      guard case .success(let value) = outcome else { return Completion(outcome) }
      return .success(value + 1)
    }
    let replaced = failure.onComplete { outcome in
      if case .success(let value) = outcome { return .completeUsing(fetch(value)) }
      return .success("none")
    }

    let types: (Future<Int>, Future<String>) = (failed, replaced)

    expectEqual([types.0.state, types.1.state], ["failure(oops)", "success(none)"])
  }

  @Test("Functions and key paths can replace closures")
  func functions() {
    let fetched = number.flatMap(fetch)
    let succeeded = number.onSuccess(fetch)
    let described = number.map(\.description)
    let made = number.map(String.init)
    let passed = failure.onComplete(Completion.init)

    expectEqual(passed.state, "failure(oops)")
    expectEqual([fetched.state, succeeded.state], ["success(user 2)", "success(user 2)"])
    expectEqual([described.state, made.state], ["success(2)", "success(2)"])
  }

  @Test("An optional, an array, a tuple and a nested future are values")
  func otherValues() {
    let optional: Future<Int?> = number.map { $0 > 1 ? $0 : nil }
    let array = number.map { [$0] }
    let tuple = number.map { ($0, "x") }
    let nested: Future<Future<String>> = number.map { fetch($0) }

    expectEqual(optional.state, "success(Optional(2))")
    expectEqual(array.state, "success([2])")
    #expect(tuple.isCompleted)
    #expect(nested.isCompleted)
  }

  @Test("Futures are hashable by identity")
  func identity() {
    let first = Future.succeeded(1)
    let second = Future.succeeded(1)

    let set: Set<Future<Int>> = [first, first, second]

    expectEqual(set.count, 2)
    expectEqual(first, first)
    #expect(first != second)
    expectEqual(first.named("first"), first)
  }

  @Test("Bodies run on custom and global executors")
  func executors() async throws {
    let custom = FutureExecutor.custom { job in job() }

    let local = number.map(on: custom) { $0 + 1 }
    let away = try await number.map(on: .global()) { $0 + 1 }.map(on: .global(qos: .utility)) { $0 + 1 }.value
    let work = try await Future(on: .global()) { 5 }.value

    expectEqual(local.state, "success(3)")
    expectEqual([away, work], [4, 5])
  }

  @Test("An unused token, observation or receipt causes no warning")
  func discardable() {
    let promise = Promise<Int>()
    promise.future.observe { _ in }
    promise.onRequestCancel { _ in .continue }
    promise.future.cancel()
    promise.future.cancelToken().cancel()
    promise.succeed(1)

    expectEqual(promise.future.state, "success(1)")
  }

  @Test("tree() describes a future in text")
  func tree() {
    let promise = Promise<Int>()
    let future = promise.future.named("source").map { $0 }.named("derived")

    let text = "\(future.tree())"

    #expect(text.contains("source"))
    #expect(text.contains("derived"))
  }
}
