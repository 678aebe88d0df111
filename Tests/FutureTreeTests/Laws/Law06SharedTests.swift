import FutureTree
import TestSupport
import Testing

@Suite("Law 6: shared()")
struct Law06SharedTests {
  static let everyOption: [CancellationOptions] = [
    [], .doNotForwardRequest, .doNotForwardIfOthersWaiting, .forceImmediately,
    [.forceImmediately, .doNotForwardIfOthersWaiting], [.forceImmediately, .doNotForwardRequest],
  ]

  @Test("it returns the same future")
  func sameFuture() {
    let promise = Promise<Int>()

    #expect(promise.future.shared() == promise.future)
    #expect(Future.succeeded(1).shared().state == "success(1)")
  }

  @Test("while others wait it is not asked, whatever options were given to it", arguments: everyOption)
  func target(options: CancellationOptions) {
    let log = Recorder()
    let promise = source(log)
    let shared = promise.future.shared()
    let consumers = [shared.map { $0 }, shared.map { $0 }]

    let receipt = shared.cancel(options)

    #expect(receipt.effect == .withheld(by: 2))
    #expect(log.entries == [])
    #expect(shared.cancelRequest == nil)
    #expect(consumers.states() == ["pending", "pending"])
    #expect(shared.state == "pending")
  }

  @Test("nor by a token, whatever options were given", arguments: everyOption)
  func token(options: CancellationOptions) {
    let log = Recorder()
    let promise = source(log)
    let shared = promise.future.shared()
    let token = shared.cancelToken()
    let other = shared.map { $0 }

    let receipt = token.cancel(options)

    #expect(receipt.effect == .withheld(by: 1))
    #expect(log.entries == [])
    #expect([shared.state, other.state] == ["pending", "pending"])
  }

  @Test("nor through a consumer, whose branch completes cancelled at once", arguments: everyOption)
  func branch(options: CancellationOptions) {
    let log = Recorder()
    let promise = source(log)
    let shared = promise.future.shared()
    let asker = shared.map { $0 }.map { $0 }
    let other = shared.map { $0 }

    asker.cancel(options)

    #expect(asker.state == "cancelled")
    #expect(other.state == "pending")
    #expect(log.entries == [])
    #expect(shared.cancelRequest == nil)
  }

  @Test("the last consumer is delivered")
  func lastConsumer() {
    let log = Recorder()
    let promise = source(log)
    let shared = promise.future.shared()
    let only = shared.map { $0 }

    let receipt = only.cancel()

    #expect(receipt.effect == .delivered)
    #expect(log.entries == ["source: plain"])
    #expect(only.state == "pending")
  }

  @Test("when the rest withdraws, the withheld request is delivered as it was given")
  func withheldDelivered() {
    let log = Recorder()
    let promise = source(log)
    let shared = promise.future.shared()
    let first = shared.map { $0 }
    let second = shared.map { $0 }

    first.cancel(reason: "first")
    second.cancel(.doNotForwardRequest)

    #expect(log.entries == ["source: plain"])
    #expect(promise.cancelRequest?.reason.message == "first")
  }

  @Test("a force that was withheld forces when the rest withdraws")
  func withheldForce() {
    let promise = Promise<Int>()
    let shared = promise.future.shared()
    let token = shared.cancelToken()
    let other = Locked<CancelToken?>(shared.cancelToken())

    token.cancel(.forceImmediately)
    #expect(shared.state == "pending")
    other.value = nil

    #expect(shared.state == "cancelled")
  }

  @Test("it protects the future it marks, not what that depends on")
  func notItsUpstream() {
    let log = Recorder()
    let promise = source(log, answering: .complete(.cancelled))
    let shared = promise.future.map { $0 }.shared()
    let consumers = [shared.map { $0 }, shared.map { $0 }]

    promise.future.cancel()

    #expect(log.entries == ["source: plain"])
    #expect(consumers.states() == ["cancelled", "cancelled"])
  }

  @Test("a sibling of the marked future can still cancel their source")
  func sibling() {
    let log = Recorder()
    let promise = source(log)
    let shared = promise.future.map { $0 }.shared()
    let consumer = shared.map { $0 }
    let sibling = promise.future.map { $0 }

    sibling.cancel()

    #expect(log.entries == ["source: plain"])
    withExtendedLifetime(consumer) {}
  }

  @Test("marking counts from when it is done, for consumers that were there before")
  func markedLater() {
    let log = Recorder()
    let promise = source(log)
    let first = promise.future.map { $0 }
    let second = promise.future.map { $0 }

    _ = promise.future.shared()
    first.cancel()

    #expect(log.entries == [])
    #expect([first.state, second.state] == ["cancelled", "pending"])
  }

  @Test("a shared future in a join keeps its other consumer")
  func inAJoin() {
    let log = Recorder()
    let lone = source(log, "lone")
    let promise = source(log, "shared")
    let shared = promise.future.shared()
    let other = shared.map { $0 }
    let all = Future.all([lone.future, shared])

    all.cancel()

    #expect(log.entries == ["lone: plain"])
    #expect(other.state == "pending")
    // Two readings: the join is a branch that ends at once, or waits for the input that was asked. It waits on
    // something that was asked, so it waits for what comes back; that decides it.
    lone.completeCancelled()
    #expect(all.state == "cancelled")
  }

  @Test("a plain request to a future below it ends that future, also if it has a consumer of its own")
  func belowWithConsumer() {
    // Two readings: the asked future ends (a plain request goes "even where other consumers wait"), or it works on for
    // its consumer, for the branch is not the asker's alone. It was asked, and lost its upstream: it ends.
    let log = Recorder()
    let promise = source(log)
    let shared = promise.future.shared()
    let asked = shared.map { $0 }
    let consumer = asked.map { $0 }
    let other = shared.map { $0 }

    asked.cancel()

    #expect([asked.state, consumer.state, other.state] == ["cancelled", "cancelled", "pending"])
    #expect(log.entries == [])
  }

  @Test("a polite request to it is withheld by that consumer, and ends nothing")
  func belowPolitely() {
    let promise = Promise<Int>()
    let shared = promise.future.shared()
    let asked = shared.map { $0 }
    let consumer = asked.map { $0 }

    let receipt = asked.cancel(.doNotForwardIfOthersWaiting)

    #expect(receipt.effect == .withheld(by: 1))
    #expect([asked.state, consumer.state] == ["pending", "pending"])
  }
}
