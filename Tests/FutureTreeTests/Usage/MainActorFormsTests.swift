import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

@MainActor
private final class Screen {
  var lines: [String] = []

  func show<Value>(_ line: String, passing value: Value) -> Value {
    lines.append(line)
    return value
  }
}

/// Each future begins on another thread while the test occupies the main actor. A body without main-actor isolation does
/// not compile. A body with that isolation on another thread terminates the process.
@Suite("Main-actor bodies: work, attempts, items, handlers and tasks")
@MainActor
struct MainActorFormsTests {
  private let screen = Screen()

  /// Makes a future on another thread.
  private func elsewhere<Value>(_ make: @escaping @Sendable () -> Future<Value>) -> Future<Value> {
    let made = Locked<Future<Value>?>(nil)
    onAnotherThread { made.value = make() }
    return made.value!
  }

  @Test("The work of a future runs on the main actor")
  func work() async throws {
    let future = elsewhere { [screen] in Future(on: .main) { screen.show("work", passing: 1) } }
    expectEqual(screen.lines, [])

    try await expectEqual(future.value, 1)
    expectEqual(screen.lines, ["work"])
  }

  @Test("Work does not begin after a request (law 11, bodies that have not begun)", .tags(.law11))
  func workNotBegun() async {
    let future = elsewhere { [screen] in Future(on: .main) { screen.show("work", passing: 1) } }

    future.cancel()

    expectEqual(future.state, "cancelled")
    await Task.yield()
    expectEqual(screen.lines, [])
  }

  @Test("The body of recoverWith runs on the main actor")
  func recoverWith() async throws {
    let future = elsewhere { [screen] in
      Future<Int>.failed(Oops()).recoverWith(on: .main) { error in screen.show("\(error)", passing: .succeeded(1)) }
    }

    try await expectEqual(future.value, 1)
    expectEqual(screen.lines, ["oops"])
  }

  @Test("The items of traverse run on the main actor")
  func traverse() async throws {
    let future = elsewhere { [screen] in
      Future.traverse([1, 2, 3], atMost: 1, on: .main) { item in screen.show("\(item)", passing: .succeeded(-item)) }
    }

    try await expectEqual(future.value, [-1, -2, -3])
    expectEqual(screen.lines, ["1", "2", "3"])
  }

  @Test("The attempts of retry run on the main actor")
  func retry() async throws {
    let future = elsewhere { [screen] in
      Future<Int>.retry(.constant(attempts: 3), on: .main) { attempt in
        screen.show("\(attempt)", passing: attempt == 2 ? .succeeded(attempt) : .failed(Oops()))
      }
    }

    try await expectEqual(future.value, 2)
    expectEqual(screen.lines, ["1", "2"])
  }

  @Test("A handler of cancellation requests runs on the main actor")
  func onRequestCancel() async {
    let promise = Promise<Int>()
    promise.onRequestCancel(on: .main) { [screen] request in
      screen.show(request.reason.message, passing: .complete(.cancelled))
    }

    onAnotherThread { promise.future.cancel(reason: "closed") }
    expectEqual(promise.future.state, "pending")

    await expectEqual(promise.future.outcome.reason?.message, "closed")
    expectEqual(screen.lines, ["closed"])
  }

  @Test("The bodies of asyncMap, asyncRecover and asyncOnComplete stay on the main actor after an await")
  func tasks() async throws {
    let mapped = elsewhere { [screen] in
      Future.succeeded(1).asyncMap(on: .main) { value in
        screen.lines.append("map")
        await Task.yield()
        return screen.show("mapped", passing: value + 1)
      }
    }
    try await expectEqual(mapped.value, 2)
    let recovered = elsewhere { [screen] in
      Future<Int>.failed(Oops()).asyncRecover(on: .main) { error in
        await Task.yield()
        return screen.show("\(error)", passing: 3)
      }
    }
    try await expectEqual(recovered.value, 3)
    let completed = elsewhere { [screen] in
      Future<Int>.cancelled("gone").asyncOnComplete(on: .main) { outcome in
        await Task.yield()
        return screen.show("completed", passing: outcome.state)
      }
    }

    try await expectEqual(completed.value, "cancelled")
    expectEqual(screen.lines, ["map", "mapped", "oops", "completed"])
  }

  @Test("The items of asyncTraverse run on the main actor, at most one at a time")
  func asyncTraverse() async throws {
    let future = elsewhere { [screen] in
      Future.asyncTraverse(["a", "b"], atMost: 1, on: .main) { item in
        screen.lines.append("\(item) begins")
        await Task.yield()
        return screen.show("\(item) ends", passing: item.uppercased())
      }
    }

    try await expectEqual(future.value, ["A", "B"])
    expectEqual(screen.lines, ["a begins", "a ends", "b begins", "b ends"])
  }

  @Test("The attempts of asyncRetry run on the main actor until one succeeds")
  func asyncRetry() async throws {
    let future = elsewhere { [screen] in
      Future.asyncRetry(.constant(attempts: 3), on: .main) { attempt in
        await Task.yield()
        guard screen.show("\(attempt)", passing: attempt) == 2 else { throw Oops() }
        return "done"
      }
    }

    try await expectEqual(future.value, "done")
    expectEqual(screen.lines, ["1", "2"])
  }

  /// The operators whose body is a task on the main actor. Each task awaits the gate.
  nonisolated static let asyncOperators: [(name: String, make: @Sendable (Future<Void>) -> Future<Void>)] = [
    ("asyncMap", { gate in Future.succeeded.asyncMap(on: .main) { try await gate.value } }),
    ("asyncRecover", { gate in Future<Void>.failed(Oops()).asyncRecover(on: .main) { _ in try await gate.value } }),
    ("asyncOnComplete", { gate in Future.succeeded.asyncOnComplete(on: .main) { _ in try await gate.value } }),
    (
      "asyncTraverse",
      { gate in Future.asyncTraverse([1], atMost: 1, on: .main) { _ in try await gate.value }.map { _ in } }
    ),
    (
      "asyncRetry",
      { gate in Future.asyncRetry(.constant(attempts: 9), on: .main) { _ in try await gate.value } }
    ),
  ]

  @Test(
    "A request is forwarded to a task on the main actor (law 15, a task as a source)", .tags(.law15),
    arguments: asyncOperators.indices
  )
  func forwards(index: Int) async {
    let gate = Promise<Void>()
    let make = Self.asyncOperators[index].make
    let future = elsewhere { make(gate.future) }
    while gate.future.tree().entries[0].consumers == 0 { await Task.yield() }

    let receipt = future.cancel(.doNotForwardIfOthersWaiting, reason: "closed")

    expectEqual(receipt.effect, .delivered)
    await expectEqual(future.outcome.state, "cancelled")
    #expect(gate.future.cancelRequest != nil)
  }

  @Test(
    "A queued task on the main actor begins after a request only if it always runs (law 11, bodies that have not begun)",
    .tags(.law11)
  )
  func notBegun() async {
    let mapped = elsewhere { [screen] in
      Future.succeeded(1).asyncMap(on: .main) { value async in screen.show("map", passing: value) }
    }
    let recovered = elsewhere { [screen] in
      Future<Int>.failed(Oops()).asyncRecover(on: .main) { _ async in screen.show("recover", passing: 1) }
    }
    let completed = elsewhere { [screen] in
      Future.succeeded(1).asyncOnComplete(on: .main) { _ async in screen.show("complete", passing: 1) }
    }

    for future in [mapped, recovered, completed] { future.cancel() }

    await expectEqual([mapped.outcome.state, recovered.outcome.state], ["cancelled", "failure(oops)"])
    _ = await completed.outcome
    expectEqual(screen.lines, ["complete"])
  }
}
