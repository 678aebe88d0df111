import FutureTree
import TestSupport
import Testing

@Suite("Law 3: stopping where others wait", .tags(.law03))
struct Law03OthersWaitingTests {
  @Test("A request stops at a future with another consumer, and its work continues")
  func stopsAtSharedFuture() {
    let log = Recorder()
    let promise = source(log)
    let requester = promise.future.map { $0 }
    let other = promise.future.map { $0 + 1 }

    requester.cancel(.doNotForwardIfOthersWaiting)

    expectEqual(log.entries, [])
    #expect(promise.future.cancelRequest == nil)
    promise.succeed(1)
    expectEqual(other.state, "success(2)")
  }

  @Test("The branch with no consumer but the requester completes cancelled at once, with the reason")
  func branchEnds() {
    let promise = Promise<Int>()
    let first = promise.future.map { $0 }
    let second = first.flatMap { .succeeded($0) }
    let third = second.recover { error in throw error }
    let other = promise.future.map { $0 }

    third.cancel(.doNotForwardIfOthersWaiting, reason: "left")

    expectEqual([first.state, second.state, third.state], ["cancelled", "cancelled", "cancelled"])
    expectEqual(third.reason?.message, "left")
    expectEqual(other.state, "pending")
    expectEqual(promise.future.state, "pending")
  }

  @Test("The branch of every operator ends at once if its upstream has another consumer", arguments: Step.every)
  func everyOperator(step: Step) {
    let log = Recorder()
    let promise = source(log)
    let requester = step.apply(promise.future)
    let other = promise.future.map { $0 }

    requester.cancel(.doNotForwardIfOthersWaiting)

    expectEqual(requester.state, "cancelled")
    expectEqual(other.state, "pending")
    expectEqual(log.entries, [])
  }

  @Test("A request is forwarded as usual where no other consumer waits", arguments: Step.every)
  func noOtherConsumer(step: Step) {
    let log = Recorder()
    let promise = source(log)
    let requester = step.apply(promise.future)

    requester.cancel(.doNotForwardIfOthersWaiting)

    expectEqual(log.entries, ["source: ifOthers"])
    expectEqual(requester.state, "pending")
  }

  @Test("A request stops at its target if the target has a consumer")
  func targetIncluded() {
    let log = Recorder()
    let promise = source(log)
    let consumer = promise.future.map { $0 }

    let receipt = promise.future.cancel(.doNotForwardIfOthersWaiting)

    expectEqual(receipt.effect, .withheld(by: 1))
    expectEqual(log.entries, [])
    expectEqual([promise.future.state, consumer.state], ["pending", "pending"])
  }

  @Test("A request stops at the first future on its path that has another consumer")
  func stopsInTheMiddle() {
    let log = Recorder()
    let promise = source(log)
    let middle = promise.future.map { $0 }
    let requester = middle.map { $0 }
    let other = middle.map { $0 }

    requester.cancel(.doNotForwardIfOthersWaiting)

    expectEqual(log.entries, [])
    #expect(middle.cancelRequest == nil)
    expectEqual([middle.state, requester.state, other.state], ["pending", "cancelled", "pending"])
  }

  @Test("The option takes precedence over force: a future with another consumer is not forced")
  func beforeForce() {
    let log = Recorder()
    let promise = source(log)
    let consumer = promise.future.map { $0 }

    let receipt = promise.future.cancel([.doNotForwardIfOthersWaiting, .forceImmediately])

    expectEqual(receipt.effect, .withheld(by: 1))
    expectEqual(log.entries, [])
    expectEqual([promise.future.state, consumer.state], ["pending", "pending"])
  }

  @Test("A request with force completes a target without consumers")
  func forceWithoutConsumers() {
    let log = Recorder()
    let promise = source(log)

    promise.future.cancel([.doNotForwardIfOthersWaiting, .forceImmediately])

    expectEqual(promise.future.state, "cancelled")
    expectEqual(log.entries, ["source: ifOthers+force"])
  }

  @Test("A token requests cancellation as itself: the request of the only token is delivered")
  func tokenRequestsAsItself() {
    let log = Recorder()
    let promise = source(log)
    let token = promise.future.cancelToken()

    let receipt = token.cancel(.doNotForwardIfOthersWaiting)

    expectEqual(receipt.effect, .delivered)
    expectEqual(log.entries, ["source: ifOthers"])
  }

  @Test("The request of a token is withheld by another token and by a derived future")
  func tokenAmongOthers() {
    let log = Recorder()
    let promise = source(log)
    let requester = promise.future.cancelToken()
    let token = promise.future.cancelToken()
    let derived = promise.future.map { $0 }

    let receipt = requester.cancel(.doNotForwardIfOthersWaiting)

    expectEqual(receipt.effect, .withheld(by: 2))
    expectEqual(log.entries, [])
    withExtendedLifetime((token, derived)) {}
  }

  @Test("A request by the future itself is not attributed to a consumer: every consumer withholds it")
  func futureIsNoConsumer() {
    let log = Recorder()
    let promise = source(log)
    let token = promise.future.cancelToken()

    let receipt = promise.future.cancel(.doNotForwardIfOthersWaiting)

    expectEqual(receipt.effect, .withheld(by: 1))
    expectEqual(log.entries, [])
    withExtendedLifetime(token) {}
  }

  @Test("A token that requested has no interest")
  func tokenThatRequested() {
    let log = Recorder()
    let promise = source(log)
    let first = promise.future.cancelToken()
    let second = promise.future.cancelToken()
    first.cancel(.doNotForwardIfOthersWaiting)

    let receipt = second.cancel(.doNotForwardIfOthersWaiting)

    expectEqual(receipt.effect, .delivered)
    expectEqual(log.entries, ["source: ifOthers"])
    withExtendedLifetime(first) {}
  }

  @Test("An awaiting task requests cancellation as itself")
  func taskRequestsAsItself() {
    let log = Recorder()
    let promise = source(log)
    let executor = ManualTaskExecutor()
    let task = executor.start { _ = try? await promise.future.value }

    task.cancel()
    executor.runAll()

    expectEqual(log.entries, ["source: ifOthers"])
  }
}
