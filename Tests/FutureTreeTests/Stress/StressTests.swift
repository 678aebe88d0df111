import FutureTree
import Synchronization
import TestSupport
import Testing

/// A counter for any thread.
final class Tally: Sendable {
  private let number = Atomic(0)

  var count: Int { number.load(ordering: .acquiring) }

  func add() {
    number.add(1, ordering: .acquiringAndReleasing)
  }
}

/// One future with counters of its notifications.
struct Subject: Sendable {
  let promise = Promise<Int>()
  let wins = Tally()
  let handled = Tally()
  let bodies = Tally()
  let notified = Tally()

  /// Adds an observer and a consumer. Each must be notified exactly once.
  func watch() -> Future<Int> {
    promise.future.observe { _ in notified.add() }
    return promise.future.ensure { bodies.add() }
  }

  func handle(_ answer: CancelRequestResponse<Int> = .continue) {
    promise.onRequestCancel { _ in
      handled.add()
      return answer
    }
  }
}

@Suite("Stress: completions, requests and tokens", .serialized)
struct StressTests {
  static let rounds = 3_000

  @Test("Complete ∥ complete ∥ complete: one completion wins, and every consumer is notified once")
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
      expectEqual(round.0.wins.count, 1)
      expectEqual(round.0.notified.count, 1)
      expectEqual(round.0.bodies.count, 1)
      expectEqual(round.0.promise.future.state, round.1.state)
    }
  }

  @Test("Complete ∥ cancel: a handler runs at most once, and the future has the value or is cancelled")
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
      expectEqual(state, (round.0.wins.count == 1 ? "success(1)" : "cancelled"))
      expectEqual(round.1.state, state)
      #expect(round.0.handled.count <= 1)
      expectEqual(round.0.notified.count, 1)
      expectEqual(round.0.bodies.count, 1)
    }
  }

  @Test("Complete ∥ force: all futures have the same outcome")
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
      expectEqual(state, (round.0.wins.count == 1 ? "success(1)" : "cancelled"))
      expectEqual(round.1.state, state)
      #expect(round.0.handled.count <= 1)
      expectEqual(round.0.bodies.count, 1)
    }
  }

  @Test("Complete ∥ attach ∥ attach: every consumer is notified")
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
      expectEqual(round.1.value.states(), ["success(1)", "success(1)"])
      expectEqual(round.0.notified.count, 1)
      expectEqual(round.0.bodies.count, 1)
    }
  }

  @Test("cancel ∥ install a handler: the handler receives the request")
  func cancelAndInstall() {
    race(rounds: Self.rounds) {
      Subject()
    } _: {
      [
        { $0.promise.future.cancel() },
        { $0.handle(.complete(.cancelled)) },
      ]
    } check: { round, _ in
      expectEqual(round.handled.count, 1)
      expectEqual(round.promise.future.state, "cancelled")
    }
  }

  @Test("cancel ∥ remove a handler: the handler runs at most once")
  func cancelAndRemove() {
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
      expectEqual(round.0.promise.future.state, "pending")
    }
  }

  @Test("Two tokens request with `.doNotForwardIfOthersWaiting`: exactly one request is delivered")
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
      expectEqual(round.0.handled.count, 1)
      expectEqual(round.0.wins.count, 1)
    }
  }

  @Test("Drop a token ∥ request with the other: exactly one request is delivered")
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
      expectEqual(round.0.handled.count, 1)
    }
  }

  @Test("Two branches of one source are cancelled: the source receives exactly one request")
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
      expectEqual(round.0.handled.count, 1)
      expectEqual([round.0.promise.future, round.1, round.2].states(), ["cancelled", "cancelled", "cancelled"])
    }
  }
}
