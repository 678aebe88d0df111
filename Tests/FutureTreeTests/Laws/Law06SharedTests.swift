import FutureTree
import TestSupport
import Testing

@Suite("Law 6: shared futures", .tags(.law06))
struct Law06SharedTests {
  static let everyOption: [CancellationOptions] = [
    [], .doNotForwardRequest, .doNotForwardIfOthersWaiting, .forceImmediately,
    [.forceImmediately, .doNotForwardIfOthersWaiting], [.forceImmediately, .doNotForwardRequest],
  ]

  @Test("shared() returns the same future")
  func sameFuture() {
    let promise = Promise<Int>()

    expectEqual(promise.future.shared(), promise.future)
    expectEqual(Future.succeeded(1).shared().state, "success(1)")
  }

  @Test("A request to a shared future with other consumers is withheld, whatever its options", arguments: everyOption)
  func target(options: CancellationOptions) {
    let log = Recorder()
    let promise = source(log)
    let shared = promise.future.shared()
    let consumers = [shared.map { $0 }, shared.map { $0 }]

    let receipt = shared.cancel(options)

    expectEqual(receipt.effect, .withheld(by: 2))
    expectEqual(log.entries, [])
    #expect(shared.cancelRequest == nil)
    expectEqual(consumers.states(), ["pending", "pending"])
    expectEqual(shared.state, "pending")
  }

  @Test("A request by a token of a shared future is withheld, whatever its options", arguments: everyOption)
  func token(options: CancellationOptions) {
    let log = Recorder()
    let promise = source(log)
    let shared = promise.future.shared()
    let token = shared.cancelToken()
    let other = shared.map { $0 }

    let receipt = token.cancel(options)

    expectEqual(receipt.effect, .withheld(by: 1))
    expectEqual(log.entries, [])
    expectEqual([shared.state, other.state], ["pending", "pending"])
  }

  @Test("A request through a consumer is withheld, and its branch ends, whatever its options", arguments: everyOption)
  func branch(options: CancellationOptions) {
    let log = Recorder()
    let promise = source(log)
    let shared = promise.future.shared()
    let requester = shared.map { $0 }.map { $0 }
    let other = shared.map { $0 }

    requester.cancel(options)

    expectEqual(requester.state, "cancelled")
    expectEqual(other.state, "pending")
    expectEqual(log.entries, [])
    #expect(shared.cancelRequest == nil)
  }

  @Test("The request of the last consumer is delivered")
  func lastConsumer() {
    let log = Recorder()
    let promise = source(log)
    let shared = promise.future.shared()
    let only = shared.map { $0 }

    let receipt = only.cancel()

    expectEqual(receipt.effect, .delivered)
    expectEqual(log.entries, ["source: plain"])
    expectEqual(only.state, "pending")
  }

  @Test("A withheld request is delivered with its own options when the other consumers withdraw")
  func withheldDelivered() {
    let log = Recorder()
    let promise = source(log)
    let shared = promise.future.shared()
    let first = shared.map { $0 }
    let second = shared.map { $0 }

    first.cancel(reason: "first")
    second.cancel(.doNotForwardRequest)

    expectEqual(log.entries, ["source: plain"])
    expectEqual(promise.cancelRequest?.reason.message, "first")
  }

  @Test("A withheld force is applied when the other consumers withdraw")
  func withheldForce() {
    let promise = Promise<Int>()
    let shared = promise.future.shared()
    let token = shared.cancelToken()
    let other = Locked<CancelToken?>(shared.cancelToken())

    token.cancel(.forceImmediately)
    expectEqual(shared.state, "pending")
    other.value = nil

    expectEqual(shared.state, "cancelled")
  }

  @Test("shared() protects the marked future, not its upstream")
  func notItsUpstream() {
    let log = Recorder()
    let promise = source(log, answering: .complete(.cancelled))
    let shared = promise.future.map { $0 }.shared()
    let consumers = [shared.map { $0 }, shared.map { $0 }]

    promise.future.cancel()

    expectEqual(log.entries, ["source: plain"])
    expectEqual(consumers.states(), ["cancelled", "cancelled"])
  }

  @Test("A sibling of the marked future can still cancel their source")
  func sibling() {
    let log = Recorder()
    let promise = source(log)
    let shared = promise.future.map { $0 }.shared()
    let consumer = shared.map { $0 }
    let sibling = promise.future.map { $0 }

    sibling.cancel()

    expectEqual(log.entries, ["source: plain"])
    withExtendedLifetime(consumer) {}
  }

  @Test("shared() applies to consumers that subscribed before it was called")
  func markedLater() {
    let log = Recorder()
    let promise = source(log)
    let first = promise.future.map { $0 }
    let second = promise.future.map { $0 }

    _ = promise.future.shared()
    first.cancel()

    expectEqual(log.entries, [])
    expectEqual([first.state, second.state], ["cancelled", "pending"])
  }

  @Test("A request through a join leaves a shared input to its other consumer")
  func inAJoin() {
    let log = Recorder()
    let lone = source(log, "lone")
    let promise = source(log, "shared")
    let shared = promise.future.shared()
    let other = shared.map { $0 }
    let all = Future.all([lone.future, shared])

    all.cancel()

    expectEqual(log.entries, ["lone: plain"])
    expectEqual(other.state, "pending")
    // Two readings: the join is a branch that ends at once, or it waits for the input that was asked. One of its inputs
    // was asked, so the join waits for the outcome of that input.
    lone.completeCancelled()
    expectEqual(all.state, "cancelled")
  }

  @Test("A plain request to a consumer of a shared future completes it, even if it has a consumer of its own")
  func belowWithConsumer() {
    // Two readings: the consumer completes (a plain request is forwarded even where other consumers wait), or it
    // continues for its own consumer. It was asked, and detached from its upstream: it completes.
    let log = Recorder()
    let promise = source(log)
    let shared = promise.future.shared()
    let asked = shared.map { $0 }
    let consumer = asked.map { $0 }
    let other = shared.map { $0 }

    asked.cancel()

    expectEqual([asked.state, consumer.state, other.state], ["cancelled", "cancelled", "pending"])
    expectEqual(log.entries, [])
  }

  @Test("A request with doNotForwardIfOthersWaiting to a consumer of a shared future completes no future")
  func belowWithOption() {
    let promise = Promise<Int>()
    let shared = promise.future.shared()
    let asked = shared.map { $0 }
    let consumer = asked.map { $0 }

    let receipt = asked.cancel(.doNotForwardIfOthersWaiting)

    expectEqual(receipt.effect, .withheld(by: 1))
    expectEqual([asked.state, consumer.state], ["pending", "pending"])
  }
}
