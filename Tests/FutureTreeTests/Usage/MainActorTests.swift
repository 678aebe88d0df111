import FutureTree
import TestSupport
import Testing

@MainActor
private final class Screen {
  var lines: [String] = []

  func show(_ line: String) {
    lines.append(line)
  }
}

@Suite("Main-actor bodies: operators and observers")
@MainActor
struct MainActorTests {
  @Test("Bodies with `on: .main` access main-actor state directly")
  func bodies() async throws {
    let screen = Screen()
    let number = Future(on: .global()) { 2 }

    let mapped = number.map(on: .main) { value in
      screen.show("map")
      return value + 1
    }
    let flat = mapped.flatMap(on: .main) { value in
      screen.show("flatMap")
      return Future.succeeded(value)
    }
    let nothing = flat.onSuccess(on: .main) { value in .succeeded(screen.show("onSuccess \(value)")) }
    let future = flat.onSuccess(on: .main) { value in
      screen.show("onSuccess future")
      return Future.succeeded("\(value)")
    }
    let ended = flat.ensure(on: .main) { screen.show("ensure") }
    _ = try await nothing.value
    _ = try await future.value
    _ = try await ended.value

    expectEqual(screen.lines, ["map", "flatMap", "onSuccess 3", "onSuccess future", "ensure"])
  }

  @Test("Bodies for failure, cancellation and every outcome access main-actor state directly")
  func otherBodies() async throws {
    let screen = Screen()
    let failed = Future<Int>(on: .global()) { throw Oops() }

    let recovered = failed.recover(on: .main) { error in
      screen.show("recover \(error)")
      return 1
    }
    let noticed = failed.onFailure(on: .main) { error in screen.show("onFailure \(error)") }
    let cancelled = Future<Int>.cancelled("gone").onCancel(on: .main) { screen.show("onCancel \($0.message)") }
    let completed = failed.onComplete(on: .main) { outcome in
      screen.show("onComplete")
      return Completion(outcome)
    }
    _ = try await recovered.value
    _ = await (noticed.outcome, cancelled.outcome, completed.outcome)

    let expected = ["onCancel gone", "onComplete", "onFailure oops", "recover oops"]
    expectEqual(screen.lines.sorted(), expected)
  }

  @Test("An observer on the main actor receives the outcome")
  func observer() async throws {
    let screen = Screen()
    let promise = Promise<Int>()
    let notified = Promise<Void>()
    promise.future.observe(on: .main) { outcome in
      screen.show(outcome.state)
      notified.succeed()
    }

    let completing = Future(on: .global()) { promise.succeed(1) }
    _ = try await (completing.value, notified.future.value)

    expectEqual(screen.lines, ["success(1)"])
  }

  @Test("A body runs without a hop if it is on the main actor already")
  func noHop() {
    let screen = Screen()

    let future = Future.succeeded(1).map(on: .main) { value in
      screen.show("body")
      return value
    }

    expectEqual(screen.lines, ["body"])
    expectEqual(future.state, "success(1)")
  }

  @Test("A body queued on the main actor does not begin after a request")
  func notBegun() async {
    let screen = Screen()
    let queued = Promise<Int>()
    let derived = queued.future.map(on: .main) { value in
      screen.show("body")
      return value
    }
    // Completes from another thread. The body cannot begin before the test releases the main actor.
    onAnotherThread { queued.succeed(1) }
    expectEqual(derived.state, "pending")

    derived.cancel()

    expectEqual(derived.state, "cancelled")
    await Task.yield()
    expectEqual(screen.lines, [])
  }
}
