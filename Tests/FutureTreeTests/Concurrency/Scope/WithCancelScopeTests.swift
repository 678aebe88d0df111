import FutureTreeTesting
import TestSupport
import Testing

@testable import FutureTree

@Suite("Scopes: withCancelScope")
struct WithCancelScopeTests {
  private let log = Recorder()

  @Test("It waits for the work that the body began, and returns the result")
  func waits() async throws {
    let promise = source(log)
    let (began, result) = (Promise<Void>(), Locked<Int?>(nil))
    let task = Task {
      result.value = try await withCancelScope { scope in
        scope.run { promise.future }
        began.succeed(())
        return 7
      }
    }
    try await began.future.value
    #expect(result.value == nil)
    promise.succeed(1)
    try await task.value

    expectEqual(result.value, 7)
    expectEqual(log.entries, [])
  }

  @Test("A body that throws cancels the work, and its error is thrown when the work and the undos have completed")
  func throwing() async {
    let promise = source(log, answering: .complete(.cancelled))

    await #expect(throws: Oops()) {
      try await withCancelScope { [log] scope in
        scope.run { promise.future }
        scope.undo(of: Future.succeeded(1)) { _ in log("undone", passing: Future.succeeded) }
        throw Oops()
      }
    }
    expectEqual(log.entries, ["source: plain", "undone"])
    expectEqual(promise.cancelRequest?.reason.message, "the body of the scope threw Oops")
  }

  @Test("A commit keeps the steps")
  func commits() async throws {
    let value = try await withCancelScope { [log] scope in
      let step = scope.undo(of: Future.succeeded(1)) { _ in log("undone", passing: Future.succeeded) }
      try scope.commit()
      return try await step.value
    }
    expectEqual(value, 1)
    expectEqual(log.entries, [])
  }

  @Test("Failed undos are reported with the error of the body")
  func undoFails() async throws {
    let error = await #expect(throws: UndoFailed.self) {
      try await withCancelScope { scope in
        scope.undo(of: Future.succeeded(1), named: "order") { _ in Future<Int>.failed(Oops("undo")) }
        throw Oops("body")
      }
    }
    expectEqual(error?.cause as? Oops, Oops("body"))
    expectEqual(error?.failures.map(\.name), ["order"])
  }

  @Test("A scope that was cancelled throws, unless it committed", arguments: [true, false])
  func cancelled(commits: Bool) async throws {
    let body = { @Sendable in
      try await withCancelScope { scope in
        if commits { try scope.commit() }
        scope.cancel(reason: "closed")
        return 7
      }
    }
    if commits {
      try await expectEqual(body(), 7)
    } else {
      await #expect(throws: FutureCancelled.self) { try await body() }
    }
  }

  @Test("A cancelled task cancels the work that the body awaits")
  func task() async throws {
    let promise = source(log, answering: .complete(.cancelled))
    let began = Promise<Void>()
    let task = Task {
      try await withCancelScope { scope in
        let work = scope.run { promise.future }
        began.succeed(())
        return try await work.value
      }
    }
    try await began.future.value
    task.cancel()

    await #expect(throws: CancellationError.self) { try await task.value }
    expectEqual(log.count, 1)
  }

  @Test("A task that is cancelled while it waits for the end cancels the work")
  func taskAtEnd() async throws {
    let promise = source(log, answering: .complete(.cancelled))
    let began = Promise<Void>()
    let task = Task {
      try await withCancelScope { scope in
        scope.run { promise.future }
        began.succeed(())
      }
    }
    try await began.future.value
    task.cancel()

    await #expect(throws: FutureCancelled.self) { try await task.value }
    expectEqual(log.entries, ["source: ifOthers"])
  }

  @Test("It stays on the actor of its caller")
  @MainActor func isolation() async throws {
    try await withCancelScope { _ in MainActor.assertIsolated() }
  }
}
