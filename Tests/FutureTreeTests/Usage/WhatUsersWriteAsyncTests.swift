import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

/// These tests are about what compiles without a type annotation, and means what it says.
@Suite("What users write: async bodies without annotations")
struct WhatUsersWriteAsyncTests {
  private let number = Future.succeeded(2)
  private let failure = Future<Int>.failed(Oops())

  private func fetch(_ id: Int) async throws -> String { "user \(id)" }

  private func load(_ id: Int) async -> Future<String> { .succeeded("user \(id)") }

  @Test("onSuccess awaits and returns a value, a future, a completion or nothing")
  func onSuccess() async throws {
    let log = Recorder()
    let value = number.onSuccess { try await fetch($0) }
    let future = number.onSuccess { await load($0) }
    let completion = number.onSuccess { Completion.completeUsing(await load($0)) }
    let nothing = number.onSuccess { value in
      let user = try await fetch(value)
      log(user)
    }

    let types: (Future<String>, Future<String>, Future<String>, Future<Void>) = (value, future, completion, nothing)

    #expect(try await [types.0.value, types.1.value, types.2.value] == ["user 2", "user 2", "user 2"])
    try await types.3.value
    #expect(log.entries == ["user 2"])
  }

  @Test("onSuccess with statements that await, guard and throw")
  func statements() async {
    let future = number.onSuccess { value in
      let user = try await fetch(value)
      guard user.isEmpty else { throw Oops(user) }
      return user
    }

    #expect(await future.outcome.state == "failure(user 2)")
  }

  @Test("map and flatMap, recover, mapError, onFailure, ensure and onComplete await")
  func others() async {
    let log = Recorder()
    let mapped = number.map { try await fetch($0) }
    let flat = number.flatMap { await load($0) }
    let recovered = failure.recover { _ in try await fetch(7).count }
    let renamed = failure.mapError { error in Oops("\(error) of \(try await fetch(1))") }
    let seen = failure.onFailure { error in
      _ = await load(3)
      log("\(error)")
    }
    let ensured = number.ensure {
      _ = await load(3)
      log("ensured")
    }
    let completed = number.onComplete { outcome in "\(outcome.state) by \(try await fetch(9))" }

    #expect(await [mapped.outcome.state, flat.outcome.state] == ["success(user 2)", "success(user 2)"])
    #expect(await recovered.outcome.state == "success(6)")
    #expect(await renamed.outcome.state == "failure(oops of user 1)")
    #expect(await [seen.outcome.state, ensured.outcome.state] == ["failure(oops)", "success(2)"])
    #expect(await completed.outcome.state == "success(success(2) by user 9)")
    #expect(log.entries.sorted() == ["ensured", "oops"])
  }

  @Test("a closure that awaits nothing stays a plain body, also in an async function")
  func plain() async {
    let now = number.onSuccess { $0 + 1 }.map { "\($0)" }.ensure {}.onComplete { $0.state }

    #expect(now.state == "success(success(3))")
  }

  @Test("traverse and retry take tasks")
  func many() async throws {
    let pages = Future.traverse([1, 2, 3], atMost: 2) { try await fetch($0) }
    let retried = Future.retry(.constant(attempts: 3)) { attempt in
      guard attempt == 2 else { throw Oops() }
      return try await fetch(attempt)
    }

    #expect(try await pages.value == ["user 1", "user 2", "user 3"])
    #expect(try await retried.value == "user 2")
  }

  @Test("bodies on the main actor may await") @MainActor
  func mainActor() async throws {
    let state = MainActorState()

    let shown = number.onSuccess(on: .main) { value in
      state.count += value
      let user = try await fetch(value)
      state.count += 1
      return user
    }
    let counted = number.ensure(on: .main) { state.count += 10 }
    _ = try await counted.value

    #expect(try await shown.value == "user 2")
    #expect(state.count == 13)
  }
}

@MainActor private final class MainActorState {
  var count = 0
}
