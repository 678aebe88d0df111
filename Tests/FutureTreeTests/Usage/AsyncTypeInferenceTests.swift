import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

/// These tests prove which code compiles without type annotations, and its meaning.
@Suite("Type inference: async bodies without annotations")
struct AsyncTypeInferenceTests {
  private let number = Future.succeeded(2)
  private let failure = Future<Int>.failed(Oops())

  private func fetch(_ id: Int) async throws -> String { "user \(id)" }

  private func load(_ id: Int) async -> Future<String> { .succeeded("user \(id)") }

  @Test("asyncMap awaits and returns a value or nothing")
  func asyncMap() async throws {
    let log = Recorder()
    let value = number.asyncMap { try await fetch($0) }
    let ofFuture = number.asyncMap { try await load($0).value }
    let function = number.asyncMap(fetch)
    let nothing = number.asyncMap { value in
      let user = try await fetch(value)
      log(user)
    }

    let types: (Future<String>, Future<String>, Future<String>, Future<Void>) = (value, ofFuture, function, nothing)

    try await expectEqual([types.0.value, types.1.value, types.2.value], ["user 2", "user 2", "user 2"])
    try await types.3.value
    expectEqual(log.entries, ["user 2"])
  }

  @Test("flatMap flattens the future that an async body returns")
  func followedByFuture() async throws {
    let future = number.asyncMap { await load($0) }.flatMap { $0 }

    try await expectEqual(future.value, "user 2")
  }

  @Test("asyncMap accepts statements that await, guard and throw")
  func statements() async {
    let future = number.asyncMap { value in
      let user = try await fetch(value)
      guard user.isEmpty else { throw Oops(user) }
      return user
    }

    await expectEqual(future.outcome.state, "failure(user 2)")
  }

  @Test("asyncRecover and asyncOnComplete can replace, rethrow and observe an outcome")
  func others() async {
    let log = Recorder()
    let recovered = failure.asyncRecover { _ in try await fetch(7).count }
    let renamed = failure.asyncRecover { error in throw Oops("\(error) of \(try await fetch(1))") }
    let seen = failure.asyncRecover { error in
      _ = await load(3)
      log("\(error)")
      throw error
    }
    let ensured = number.asyncOnComplete { outcome in
      _ = await load(3)
      log("ensured")
      return try outcome.get()
    }
    let completed = number.asyncOnComplete { outcome in "\(outcome.state) by \(try await fetch(9))" }

    await expectEqual(recovered.outcome.state, "success(6)")
    await expectEqual(renamed.outcome.state, "failure(oops of user 1)")
    await expectEqual([seen.outcome.state, ensured.outcome.state], ["failure(oops)", "success(2)"])
    await expectEqual(completed.outcome.state, "success(success(2) by user 9)")
    expectEqual(log.entries.sorted(), ["ensured", "oops"])
  }

  @Test("A closure without await is a synchronous body, even in an async function")
  func plain() async {
    let now = number.map { $0 + 1 }.map { "\($0)" }.ensure {}.onComplete { .success($0.state) }

    expectEqual(now.state, "success(success(3))")
  }

  @Test("asyncTraverse and asyncRetry accept async bodies")
  func many() async throws {
    let pages = Future.asyncTraverse([1, 2, 3], atMost: 2) { try await fetch($0) }
    let retried = Future.asyncRetry(.constant(attempts: 3)) { attempt in
      guard attempt == 2 else { throw Oops() }
      return try await fetch(attempt)
    }

    try await expectEqual(pages.value, ["user 1", "user 2", "user 3"])
    try await expectEqual(retried.value, "user 2")
  }

  @Test("Bodies on the main actor can await") @MainActor
  func mainActor() async throws {
    let state = MainActorState()

    let shown = number.asyncMap(on: .main) { value in
      state.count += value
      let user = try await fetch(value)
      state.count += 1
      return user
    }
    let counted = number.ensure(on: .main) { state.count += 10 }
    _ = try await counted.value

    try await expectEqual(shown.value, "user 2")
    expectEqual(state.count, 13)
  }
}

@MainActor private final class MainActorState {
  var count = 0
}
