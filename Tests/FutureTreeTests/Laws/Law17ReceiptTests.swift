import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

@Suite("Law 17: receipts", .tags(.law17))
struct Law17ReceiptTests {
  @Test("The effect is delivered after a handler received the request, and every future reached is counted")
  func delivered() {
    let promise = source(Recorder())
    let derived = promise.future.map { $0 }.map { $0 }

    let receipt = derived.cancel()

    expectEqual(receipt.effect, .delivered)
    expectEqual(receipt.reached, 3)
  }

  @Test("The effect is delivered although the handler completed its future")
  func deliveredAndCompleted() {
    let promise = source(Recorder(), answering: .complete(.cancelled))

    let receipt = promise.future.cancel()

    expectEqual(receipt.effect, .delivered)
    expectEqual(receipt.reached, 1)
  }

  @Test("The effect is withheld by the number of consumers, and the withholding future is reached")
  func withheld() {
    let promise = source(Recorder())
    let consumers = (0..<3).map { _ in promise.future.map { $0 } }

    let receipt = promise.future.cancel(.doNotForwardIfOthersWaiting)

    expectEqual(receipt.effect, .withheld(by: 3))
    expectEqual(receipt.reached, 1)
    withExtendedLifetime(consumers) {}
  }

  @Test("The effect is withheld by the other consumers only, although the branch of the request ended")
  func withheldBelow() {
    // Two readings: "withheld" (the request stopped at a future with other consumers) or "completed" (the branch
    // ended). The request counts as withheld. Law 3 (stopping where others wait) ends the branch.
    let promise = source(Recorder())
    let requester = promise.future.map { $0 }
    let others = [promise.future.map { $0 }, promise.future.map { $0 }]

    let receipt = requester.cancel(.doNotForwardIfOthersWaiting)

    expectEqual(receipt.effect, .withheld(by: 2))
    withExtendedLifetime(others) {}
  }

  @Test("The effect is stored if the request finds no handler", arguments: Step.every)
  func stored(step: Step) {
    let promise = Promise<Int>()

    expectEqual(step.apply(promise.future).cancel().effect, .stored)
    expectEqual(promise.future.state, "pending")
  }

  @Test("The effect is completed if the request detaches or forces the future, or its body has not begun")
  func completed() {
    let promise = Promise<Int>()
    let executor = ManualExecutor()
    let detaching = promise.future.map { $0 }
    let forced = Promise<Int>()
    let queued = Future.succeeded(1).map(on: executor.executor) { $0 }

    expectEqual(detaching.cancel(.doNotForwardRequest).effect, .completed)
    expectEqual(forced.future.cancel(.forceImmediately).effect, .completed)
    expectEqual(queued.cancel().effect, .completed)
  }

  @Test("The effect is duplicate if the request is not stronger than the previous one")
  func duplicate() {
    let promise = source(Recorder())
    let derived = promise.future.map { $0 }
    derived.cancel()

    expectEqual(derived.cancel().effect, .duplicate)
    expectEqual(derived.cancel(.doNotForwardIfOthersWaiting).effect, .duplicate)
    expectEqual(promise.future.cancel().effect, .duplicate)
  }

  @Test("The effect is too late, with the existing outcome, after completion")
  func tooLate() {
    expectEqual(Future.succeeded(1).cancel().effect, .tooLate(.succeeded))
    expectEqual(Future<Int>.failed(Oops()).cancel().effect, .tooLate(.failed))
    expectEqual(Future<Int>.cancelled("gone").cancel().effect, .tooLate(.cancelled))
    expectEqual(Future.succeeded(1).cancel(.forceImmediately).effect, .tooLate(.succeeded))
  }

  @Test("The receipt of a join counts each of its inputs")
  func join() {
    let first = source(Recorder())
    let second = Promise<Int>()
    let all = Future.all([first.future, second.future, .succeeded(3)])

    let receipt = all.cancel()

    expectEqual(receipt.effect, .delivered)
    expectEqual(receipt.reached, 3)
  }

  @Test("The receipt of a detached future counts no other future")
  func detaching() {
    let promise = source(Recorder())

    let receipt = promise.future.map { $0 }.cancel(.doNotForwardRequest)

    expectEqual(receipt.reached, 1)
  }

  @Test("A receipt is equatable and describes itself")
  func description() {
    let promise = source(Recorder())

    let receipt = promise.future.cancel()

    expectEqual(receipt, receipt)
    #expect(!"\(receipt)".isEmpty)
  }
}
