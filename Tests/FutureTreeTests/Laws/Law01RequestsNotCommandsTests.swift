import FutureTree
import TestSupport
import Testing

@Suite("Law 1: requests, not commands", .tags(.law01))
struct Law01RequestsNotCommandsTests {
  enum Attempt: String, CaseIterable, Sendable {
    case succeed, fail, completeCancelled, completion, outcome, seal

    func run(on promise: Promise<Int>) -> Bool {
      switch self {
      case .succeed: promise.succeed(1)
      case .fail: promise.fail(Oops())
      case .completeCancelled: promise.completeCancelled()
      case .completion: promise.complete(.success(2))
      case .outcome: promise.complete(with: .failure(Oops("outcome")))
      case .seal: promise.complete(.completeUsing(.succeeded(3)))
      }
    }

    var state: String {
      switch self {
      case .succeed: "success(1)"
      case .fail: "failure(oops)"
      case .completeCancelled: "cancelled"
      case .completion: "success(2)"
      case .outcome: "failure(outcome)"
      case .seal: "success(3)"
      }
    }
  }

  @Test("The first completion wins, whatever its kind", arguments: Attempt.allCases)
  func firstWins(first: Attempt) {
    let promise = Promise<Int>()

    let won = first.run(on: promise)

    #expect(won)
    #expect(promise.future.isCompleted)
    expectEqual(promise.future.state, first.state)
  }

  @Test("Every later attempt returns false and has no effect", arguments: Attempt.allCases, Attempt.allCases)
  func laterAttempts(first: Attempt, later: Attempt) {
    let promise = Promise<Int>()
    _ = first.run(on: promise)

    let won = later.run(on: promise)

    #expect(!won)
    expectEqual(promise.future.state, first.state)
  }

  @Test("A promise sealed onto a pending future refuses every later attempt", arguments: Attempt.allCases)
  func sealedRefuses(later: Attempt) {
    let promise = Promise<Int>()
    let inner = Promise<Int>()
    promise.complete(.completeUsing(inner.future))

    let won = later.run(on: promise)

    #expect(!won)
    expectEqual(promise.future.state, "pending")
    inner.succeed(7)
    expectEqual(promise.future.state, "success(7)")
  }

  @Test("Every consumer and observer is notified exactly once")
  func notifiedOnce() {
    let log = Recorder()
    let promise = Promise<Int>()
    let mapped = promise.future.map { value in log("map \(value)") }
    promise.future.observe { log("observe \($0.state)") }

    promise.succeed(1)
    promise.succeed(2)
    promise.fail(Oops())

    expectEqual(log.entries, ["map 1", "observe success(1)"])
    #expect(mapped.isCompleted)
  }

  @Test("A request alone does not complete a future")
  func requestOnly() {
    let promise = Promise<Int>()

    promise.future.cancel()

    expectEqual(promise.future.state, "pending")
    #expect(!promise.future.isCompleted)
    #expect(promise.future.outcomeIfCompleted == nil)
    #expect(promise.succeed(1))
    expectEqual(promise.future.state, "success(1)")
  }

  @Test("A success after a request completes the source with success, and the derived future with cancelled")
  func racedSuccess() {
    let log = Recorder()
    let promise = source(log)
    let derived = promise.future.map { value in log("body \(value)") }

    derived.cancel()
    let won = promise.succeed(1)

    #expect(won)
    expectEqual(promise.future.state, "success(1)")
    expectEqual(derived.state, "cancelled")
    expectEqual(log.entries, ["source: plain"])
  }

  @Test("A request to a completed future changes nothing")
  func tooLate() {
    let log = Recorder()
    let promise = source(log)
    promise.succeed(1)

    promise.future.cancel()
    promise.future.cancel(.forceImmediately)

    expectEqual(promise.future.state, "success(1)")
    #expect(promise.future.cancelRequest == nil)
    expectEqual(log.entries, [])
  }

  @Test("A completion through the request loses to an earlier completion")
  func requestCompletesTooLate() {
    let received = Locked<ReceivedCancelRequest<Int>?>(nil)
    let promise = Promise<Int>()
    promise.onRequestCancel { request in
      received.value = request
      return .continue
    }
    promise.future.cancel()
    promise.succeed(1)

    let won = received.value?.complete(.success(2))

    expectEqual(won, false)
    expectEqual(promise.future.state, "success(1)")
  }

  @Test("An answer after a completion inside its own handler has no effect")
  func answerTooLate() {
    let promise = Promise<Int>()
    promise.onRequestCancel { request in
      request.complete(.success(1))
      return .complete(.success(2))
    }

    promise.future.cancel()

    expectEqual(promise.future.state, "success(1)")
  }

  @Test("A promise completed with its own future fails")
  func ownFuture() {
    let promise = Promise<Int>()

    let won = promise.complete(.completeUsing(promise.future))

    #expect(won)
    #expect(promise.future.outcomeIfCompleted?.error != nil)
  }

  @Test("A promise of Void succeeds without a value")
  func nothing() {
    let promise = Promise<Void>()

    #expect(promise.succeed())
    #expect(!promise.succeed())
    #expect(promise.future.isCompleted)
  }
}
