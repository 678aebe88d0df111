import FutureTree
import Synchronization
import TestSupport
import Testing

/// Counts how often something happened, from any thread.
final class Tally: Sendable {
  private let number = Atomic(0)

  var count: Int { number.load(ordering: .acquiring) }

  func add() {
    number.add(1, ordering: .acquiringAndReleasing)
  }
}

/// One future, with everything that can watch it.
struct Subject: Sendable {
  let promise = Promise<Int>()
  let wins = Tally()
  let handled = Tally()
  let bodies = Tally()
  let told = Tally()

  /// An observer and a consumer: each must be called exactly once.
  func watch() -> Future<Int> {
    promise.future.observe { _ in told.add() }
    return promise.future.ensure { bodies.add() }
  }

  func handle(_ answer: CancelRequestResponse<Int> = .continue) {
    promise.onRequestCancel { _ in
      handled.add()
      return answer
    }
  }
}

@Suite("Stress: real threads behind a barrier", .serialized)
struct StressTests {
  static let rounds = 3_000

  @Test("complete ∥ complete ∥ complete: one wins, every consumer is told once")
  func completions() {
    race(rounds: Self.rounds) { () -> (Subject, Future<Int>) in
      let subject = Subject()
      return (subject, subject.watch())
    } _: {
      [
        { if $0.0.promise.succeed(1) { $0.0.wins.add() } },
        { if $0.0.promise.fail(Oops()) { $0.0.wins.add() } },
        { if $0.0.promise.complete(.completeUsing(.succeeded(2))) { $0.0.wins.add() } },
      ]
    } check: { round, _ in
      #expect(round.0.wins.count == 1)
      #expect(round.0.told.count == 1)
      #expect(round.0.bodies.count == 1)
      #expect(round.0.promise.future.state == round.1.state)
    }
  }

  @Test("complete ∥ cancel: a handler runs at most once, the future has the value or is cancelled")
  func completeAndCancel() {
    race(rounds: Self.rounds) { () -> (Subject, Future<Int>) in
      let subject = Subject()
      subject.handle(.complete(.cancelled))
      return (subject, subject.watch())
    } _: {
      [
        { if $0.0.promise.succeed(1) { $0.0.wins.add() } },
        { $0.1.cancel() },
      ]
    } check: { round, _ in
      let state = round.0.promise.future.state
      #expect(state == (round.0.wins.count == 1 ? "success(1)" : "cancelled"))
      #expect(round.1.state == state)
      #expect(round.0.handled.count <= 1)
      #expect(round.0.told.count == 1)
      #expect(round.0.bodies.count == 1)
    }
  }

  @Test("complete ∥ force: one of the two, for everybody")
  func completeAndForce() {
    race(rounds: Self.rounds) { () -> (Subject, Future<Int>) in
      let subject = Subject()
      subject.handle()
      return (subject, subject.watch())
    } _: {
      [
        { if $0.0.promise.succeed(1) { $0.0.wins.add() } },
        { $0.0.promise.future.cancel(.forceImmediately) },
        { $0.0.promise.future.cancel() },
      ]
    } check: { round, _ in
      let state = round.0.promise.future.state
      #expect(state == (round.0.wins.count == 1 ? "success(1)" : "cancelled"))
      #expect(round.1.state == state)
      #expect(round.0.handled.count <= 1)
      #expect(round.0.bodies.count == 1)
    }
  }

  @Test("complete ∥ attach ∥ attach: no consumer is lost")
  func completeAndAttach() {
    race(rounds: Self.rounds) { () -> (Subject, Locked<[Future<Int>]>) in
      (Subject(), Locked([]))
    } _: {
      [
        { $0.0.promise.succeed(1) },
        { round in
          let future = round.0.watch()
          round.1.withLock { $0.append(future) }
        },
        { round in
          let future = round.0.promise.future.map { $0 + 1 }.flatMap { .succeeded($0 - 1) }
          round.1.withLock { $0.append(future) }
        },
      ]
    } check: { round, _ in
      #expect(round.1.value.states() == ["success(1)", "success(1)"])
      #expect(round.0.told.count == 1)
      #expect(round.0.bodies.count == 1)
    }
  }

  @Test("cancel ∥ install a handler: the request finds it, before or after")
  func cancelAndInstall() {
    race(rounds: Self.rounds) {
      Subject()
    } _: {
      [
        { $0.promise.future.cancel() },
        { $0.handle(.complete(.cancelled)) },
      ]
    } check: { round, _ in
      #expect(round.handled.count == 1)
      #expect(round.promise.future.state == "cancelled")
    }
  }

  @Test("cancel ∥ install ∥ end: a handler that was ended runs once or never")
  func cancelAndEnd() {
    race(rounds: Self.rounds) { () -> (Subject, CancelHandler) in
      let subject = Subject()
      let handled = subject.handled
      let handler = subject.promise.onRequestCancel { _ in
        handled.add()
        return .continue
      }
      return (subject, handler)
    } _: {
      [
        { $0.0.promise.future.cancel() },
        { $0.1.remove() },
      ]
    } check: { round, _ in
      #expect(round.0.handled.count <= 1)
      #expect(round.0.promise.future.state == "pending")
    }
  }

  @Test("two tokens ask politely at once: delivered exactly once, by the later")
  func tokens() {
    race(rounds: Self.rounds) { () -> (Subject, CancelToken, CancelToken) in
      let subject = Subject()
      subject.handle()
      return (subject, subject.promise.future.cancelToken(), subject.promise.future.cancelToken())
    } _: {
      [
        { if $0.1.cancel(.doNotForwardIfOthersWaiting).effect == .delivered { $0.0.wins.add() } },
        { if $0.2.cancel(.doNotForwardIfOthersWaiting).effect == .delivered { $0.0.wins.add() } },
      ]
    } check: { round, _ in
      #expect(round.0.handled.count == 1)
      #expect(round.0.wins.count == 1)
    }
  }

  @Test("a token is dropped ∥ the other asks politely: delivered exactly once")
  func tokenDrop() {
    race(rounds: Self.rounds) { () -> (Subject, Locked<CancelToken?>, CancelToken) in
      let subject = Subject()
      subject.handle()
      return (subject, Locked(subject.promise.future.cancelToken()), subject.promise.future.cancelToken())
    } _: {
      [
        { round in
          let dropped = round.1.withLock { $0.take() }
          _ = consume dropped
        },
        { $0.2.cancel(.doNotForwardIfOthersWaiting) },
      ]
    } check: { round, _ in
      #expect(round.0.handled.count == 1)
    }
  }

  @Test("two branches of one source ask politely at once: the source is asked exactly once")
  func branches() {
    race(rounds: Self.rounds) { () -> (Subject, Future<Int>, Future<Int>) in
      let subject = Subject()
      subject.handle(.complete(.cancelled))
      return (subject, subject.promise.future.map { $0 }.map { $0 }, subject.promise.future.map { $0 })
    } _: {
      [
        { $0.1.cancel(.doNotForwardIfOthersWaiting) },
        { $0.2.cancel(.doNotForwardIfOthersWaiting) },
      ]
    } check: { round, _ in
      #expect(round.0.handled.count == 1)
      #expect([round.0.promise.future, round.1, round.2].states() == ["cancelled", "cancelled", "cancelled"])
    }
  }
}
