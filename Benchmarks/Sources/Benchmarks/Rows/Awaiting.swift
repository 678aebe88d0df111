import FutureTree
import Works

extension Row {
  /// Chain: makes 1,000 `map` of a pending future and a task that completes it, and awaits the tail. The peer is 1,000 tasks,
  /// each of which awaits the previous task and adds 1, and a task that starts the first of them. Both sides run on the pool,
  /// and then both on one actor.
  ///
  /// One wait: makes a promise, awaits its future, and completes the promise when the task is suspended. The peer is a
  /// continuation in a cancellation handler, resumed when the task is suspended. Both sides run on one thread.
  static let awaiting = [
    Row("chain of 1,000 awaited", against: "1,000 `Task` on the pool", ours: chainOnPool, theirs: tasksOnPool),
    Row("chain of 1,000 awaited", against: "1,000 `Task` on one actor", ours: chainOnActor, theirs: tasksOnActor),
    Row(
      "`try await future.value`, pending", against: "a bare continuation", .timesTheCost, ours: OurWorks.value,
      theirs: OurWorks.continuation),
  ]

  private static let chainOnPool = Work("link", operations: 1000) { repetitions in
    waited { await elapsed(repetitions) { await awaitChain { promise in Task { promise.succeed(1) } } } }
  }

  private static let tasksOnPool = Work("link", operations: 1000) { repetitions in
    waited {
      await elapsed(repetitions) {
        let gate = Gate()
        var tail = Task {
          await gate.wait()
          return 1
        }
        for _ in 0..<1000 { tail = Task { [tail] in await tail.value &+ 1 } }
        Task { gate.open() }
        consume(await tail.value)
      }
    }
  }

  private static let chainOnActor = Work("link", operations: 1000) { repetitions in
    waited {
      await elapsedOnStage(repetitions) { await awaitChain { promise in Task { @Stage in promise.succeed(1) } } }
    }
  }

  private static let tasksOnActor = Work("link", operations: 1000) { repetitions in
    waited {
      await elapsedOnStage(repetitions) {
        let gate = Gate()
        var tail = Task { @Stage in
          await gate.wait()
          return 1
        }
        for _ in 0..<1000 { tail = Task { @Stage [tail] in await tail.value &+ 1 } }
        Task { @Stage in gate.open() }
        consume(await tail.value)
      }
    }
  }

  /// The actor of all tasks.
  @globalActor private actor Stage {
    static let shared = Stage()
  }

  private static nonisolated(nonsending) func awaitChain(completedBy complete: (Promise<Int>) -> Void) async {
    let promise = Promise<Int>()
    var tail = promise.future
    for _ in 0..<1000 { tail = tail.map { $0 &+ 1 } }
    complete(promise)
    if let value = try? await tail.value { consume(value) }
  }

  private static func elapsed(_ repetitions: Int, _ body: @Sendable () async -> Void) async -> Double {
    let start = ContinuousClock.now
    for _ in 0..<repetitions { await body() }
    return (ContinuousClock.now - start).nanoseconds
  }

  @Stage private static func elapsedOnStage(_ repetitions: Int, _ body: @Stage () async -> Void) async -> Double {
    let start = ContinuousClock.now
    for _ in 0..<repetitions { await body() }
    return (ContinuousClock.now - start).nanoseconds
  }
}
