import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

@Suite("FutureQueue: work that waits for its own queue")
struct FutureQueueCycleTests {
  private typealias Body = @Sendable (FutureQueue) -> Future<Int>

  private static let direct: Body = { queue in queue.add { .succeeded(1) }.named("inner") }

  private static let bodies: [(name: String, body: Body)] = [
    ("direct", direct),
    ("after an operator", { queue in direct(queue).map { $0 + 1 }.recover { _ in 0 } }),
    ("in a later body", { queue in Future.succeeded(1).flatMap { _ in direct(queue) } }),
    ("in a join", { queue in Future.all([.succeeded(1), direct(queue)]).map { $0.count } }),
    (
      "by a promise",
      { queue in
        let promise = Promise<Int>()
        promise.complete(.completeUsing(direct(queue)))
        return promise.future
      }
    ),
  ]

  @Test("The outer work fails, and its error names the cycle", arguments: bodies.map(\.name))
  func fails(name: String) throws {
    let queue = FutureQueue()
    let body = try #require(Self.bodies.first { $0.name == name }?.body)

    let outer = queue.add { body(queue) }.named("outer")

    let text = outer.state
    #expect(text.contains("\"inner\" waits in a FutureQueue for a slot"), "\(text)")
    expectEqual(queue.runningCount, 0)
    expectEqual(queue.waitingCount, 0)
  }

  @Test("A body that closes the cycle after its work began fails")
  func later() {
    let queue = FutureQueue()
    let promise = Promise<Int>()
    let inner = Locked<Future<Int>?>(nil)
    let outer = queue.add {
      promise.future.flatMap { _ in
        let future = queue.add { .succeeded(2) }
        inner.value = future
        return future
      }
    }

    promise.succeed(1)

    #expect(outer.state.contains("waits in a FutureQueue"))
    expectEqual(inner.value?.state, "success(2)")
  }

  @Test("With two slots, the work that takes the last one fails")
  func twoSlots() {
    let queue = FutureQueue(atMost: 2)
    let promises = [Promise<Int>(), Promise<Int>()]
    let outers = promises.map { promise in
      queue.add { promise.future.flatMap { _ in queue.add { .succeeded(2) } } }
    }
    // Both work waits for its promise. The first adds its inner work, which waits for a slot that the second can free.
    promises[0].succeed(1)
    expectEqual(outers.states(), ["pending", "pending"])

    promises[1].succeed(1)

    #expect(outers[1].state.contains("have all, and wait"))
    expectEqual(outers[0].state, "success(2)")
    expectEqual(queue.runningCount, 0)
    expectEqual(queue.waitingCount, 0)
  }

  @Test("Two queues whose work waits for each other: one fails")
  func twoQueues() {
    let queues = [FutureQueue(), FutureQueue()]
    let promises = [Promise<Int>(), Promise<Int>()]
    let outers = [0, 1].map { index in
      queues[index].add { promises[index].future.flatMap { _ in queues[1 - index].add { .succeeded(2) } } }
    }

    promises[0].succeed(1)
    expectEqual(outers.states(), ["pending", "pending"])
    promises[1].succeed(1)

    #expect(outers[1].state.contains("waits in a FutureQueue"))
    expectEqual(outers[0].state, "success(2)")
  }

  @Test("Work that waits for a full key of its own fails, and for another key succeeds", arguments: ["own", "other"])
  func keys(key: String) {
    let queue = FutureQueue(atMost: 3, perKey: 1)

    let outer = queue.add(key: "own") { queue.add(key: key) { .succeeded(1) } }

    #expect(outer.state.contains(key == "own" ? "waits in a FutureQueue" : "success(1)"))
  }

  @Test("Work that waits for work that runs, or for a free slot, is no cycle")
  func noCycle() {
    let queue = FutureQueue(atMost: 2)
    let promise = Promise<Int>()
    let other = queue.add { promise.future }
    let waiting = queue.add { other.map { $0 + 1 } }
    let last = queue.add { queue.add { .succeeded(5) } }

    promise.succeed(1)

    expectEqual([other, waiting, last].states(), ["success(1)", "success(2)", "success(5)"])
  }

  @Test("Work that another input of a race can end is no cycle")
  func races() {
    let queue = FutureQueue()
    let fallback = Promise<Int>()
    let inner = Locked<[Future<Int>]>([])
    let add: @Sendable () -> Future<Int> = {
      let future = queue.add { .succeeded(1) }
      inner.withLock { $0.append(future) }
      return future
    }
    let race = queue.add { Future.race([add(), fallback.future]) }
    let any = queue.add { Future.any([fallback.future, add()]) }
    expectEqual([race, any].states(), ["pending", "pending"])

    fallback.succeed(2)

    // The race withdraws from the queued work, which leaves the queue.
    expectEqual([race, any].states(), ["success(2)", "success(2)"])
    expectEqual(inner.value.states(), ["cancelled", "cancelled"])
    let both = queue.add { Future.race([add(), add()]) }
    #expect(both.state.contains("waits in a FutureQueue"))
  }

  @Test("Work that a timeout can end is no cycle")
  func timeouts() {
    let (queue, clock) = (FutureQueue(), ManualClock())

    let outer = queue.add {
      queue.add { .succeeded(1) }.timeout(after: .seconds(1), clock: clock).recover { _ in 0 }
    }
    let later = queue.add {
      Future.succeeded(1).flatMap { _ in queue.add { .succeeded(1) } }.timeout(after: .seconds(1), clock: clock)
    }
    expectEqual([outer, later].states(), ["pending", "pending"])
    clock.advance(by: .seconds(1))
    clock.advance(by: .seconds(1))

    expectEqual(outer.state, "success(0)")
    #expect(later.state.contains("did not complete") || later.state.contains("failure"))
    expectEqual(queue.runningCount, 0)
    expectEqual(queue.waitingCount, 0)
  }

  @Test("Queued work that others wait for, outside the queue, is no cycle")
  func outside() {
    let queue = FutureQueue()
    let promise = Promise<Int>()
    _ = queue.add { promise.future }
    let chained = Future.succeeded(1).flatMap { _ in queue.add { .succeeded(2) } }

    promise.succeed(0)

    expectEqual(chained.state, "success(2)")
  }
}
