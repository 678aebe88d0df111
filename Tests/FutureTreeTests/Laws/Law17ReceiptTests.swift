import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

@Suite("Law 17: a receipt")
struct Law17ReceiptTests {
  @Test("delivered: a handler was given the request; every future it reached is counted, the target included")
  func delivered() {
    let promise = source(Recorder())
    let derived = promise.future.map { $0 }.map { $0 }

    let receipt = derived.cancel()

    #expect(receipt.effect == .delivered)
    #expect(receipt.reached == 3)
  }

  @Test("delivered, also if the handler completed its future")
  func deliveredAndCompleted() {
    let promise = source(Recorder(), answering: .complete(.cancelled))

    let receipt = promise.future.cancel()

    #expect(receipt.effect == .delivered)
    #expect(receipt.reached == 1)
  }

  @Test("withheld, and by how many; the future that holds it back was reached")
  func withheld() {
    let promise = source(Recorder())
    let consumers = (0..<3).map { _ in promise.future.map { $0 } }

    let receipt = promise.future.cancel(.doNotForwardIfOthersWaiting)

    #expect(receipt.effect == .withheld(by: 3))
    #expect(receipt.reached == 1)
    withExtendedLifetime(consumers) {}
  }

  @Test("withheld, by the others only, when a branch ended for it")
  func withheldBelow() {
    // Two readings: "withheld" (it stopped at a future that others want) or "completed" (the branch ended). The table
    // of words says what withheld is; that the branch ends is law 3.
    let promise = source(Recorder())
    let asker = promise.future.map { $0 }
    let others = [promise.future.map { $0 }, promise.future.map { $0 }]

    let receipt = asker.cancel(.doNotForwardIfOthersWaiting)

    #expect(receipt.effect == .withheld(by: 2))
    withExtendedLifetime(others) {}
  }

  @Test("stored: no handler, no answer", arguments: Step.every)
  func stored(step: Step) {
    let promise = Promise<Int>()

    #expect(step.apply(promise.future).cancel().effect == .stored)
    #expect(promise.future.state == "pending")
  }

  @Test("completed: the request itself ended the future, by letting go, by force, or before its body began")
  func completed() {
    let promise = Promise<Int>()
    let executor = ManualExecutor()
    let lettingGo = promise.future.map { $0 }
    let forced = Promise<Int>()
    let queued = Future.succeeded(1).map(on: executor.executor) { $0 }

    #expect(lettingGo.cancel(.doNotForwardRequest).effect == .completed)
    #expect(forced.future.cancel(.forceImmediately).effect == .completed)
    #expect(queued.cancel().effect == .completed)
  }

  @Test("duplicate: not stronger than what was asked before")
  func duplicate() {
    let promise = source(Recorder())
    let derived = promise.future.map { $0 }
    derived.cancel()

    #expect(derived.cancel().effect == .duplicate)
    #expect(derived.cancel(.doNotForwardIfOthersWaiting).effect == .duplicate)
    #expect(promise.future.cancel().effect == .duplicate)
  }

  @Test("too late, with how it had ended")
  func tooLate() {
    #expect(Future.succeeded(1).cancel().effect == .tooLate(.succeeded))
    #expect(Future<Int>.failed(Oops()).cancel().effect == .tooLate(.failed))
    #expect(Future<Int>.cancelled("gone").cancel().effect == .tooLate(.cancelled))
    #expect(Future.succeeded(1).cancel(.forceImmediately).effect == .tooLate(.succeeded))
  }

  @Test("a join reaches each of its inputs")
  func join() {
    let first = source(Recorder())
    let second = Promise<Int>()
    let all = Future.all([first.future, second.future, .succeeded(3)])

    let receipt = all.cancel()

    #expect(receipt.effect == .delivered)
    #expect(receipt.reached == 3)
  }

  @Test("letting go reaches nobody else")
  func lettingGo() {
    let promise = source(Recorder())

    let receipt = promise.future.map { $0 }.cancel(.doNotForwardRequest)

    #expect(receipt.reached == 1)
  }

  @Test("a receipt is equatable and describes itself")
  func description() {
    let promise = source(Recorder())

    let receipt = promise.future.cancel()

    #expect(receipt == receipt)
    #expect(!"\(receipt)".isEmpty)
  }
}
