import FutureTree
import TestSupport
import Testing

@Suite("Stress: links, drops and interest", .serialized)
struct StressLinkTests {
  static let rounds = 3_000

  @Test("Link an inner future ∥ cancel: the request reaches it, or the body did not begin")
  func link() {
    struct Round: Sendable {
      let outer = Promise<Int>()
      let inner = Subject()
      let bodies = Tally()
      let derived: Future<Int>

      init() {
        inner.handle(.complete(.cancelled))
        derived = outer.future.flatMap { [inner, bodies] _ in
          bodies.add()
          return inner.promise.future
        }
      }
    }
    race(rounds: Self.rounds) {
      Round()
    } _: {
      [
        { $0.outer.succeed(1) },
        { $0.derived.cancel() },
      ]
    } check: { round, _ in
      expectEqual(round.derived.state, "cancelled")
      expectEqual(round.inner.handled.count, round.bodies.count)
    }
  }

  @Test("Seal a promise ∥ cancel: the request reaches the inner future")
  func seal() {
    race(rounds: Self.rounds) { () -> (Promise<Int>, Subject) in
      let inner = Subject()
      inner.handle(.complete(.cancelled))
      return (Promise<Int>(), inner)
    } _: {
      [
        { round in round.0.complete(.completeUsing(round.1.promise.future)) },
        { $0.0.future.cancel() },
      ]
    } check: { round, _ in
      expectEqual(round.1.handled.count, 1)
      expectEqual(round.0.future.state, "cancelled")
    }
  }

  @Test("Drop a promise ∥ attach ∥ cancel: every future completes")
  func drop() {
    race(rounds: Self.rounds) { () -> (Locked<Promise<Int>?>, Future<Int>, Tally) in
      let promise = Promise<Int>()
      return (Locked(promise), promise.future, Tally())
    } _: {
      [
        { round in
          let dropped = round.0.withLock { $0.take() }
          _ = consume dropped
        },
        { round in _ = round.1.ensure { round.2.add() } },
        { $0.1.cancel() },
      ]
    } check: { round, _ in
      expectEqual(round.2.count, 1)
      #expect(round.1.isCompleted)
    }
  }

  @Test("Force a branch ∥ complete its source: a body of `ensure` runs once")
  func forceBranch() {
    race(rounds: Self.rounds) { () -> (Promise<Int>, Future<Int>, Tally) in
      let promise = Promise<Int>()
      let runs = Tally()
      return (promise, promise.future.ensure { runs.add() }, runs)
    } _: {
      [
        { $0.0.succeed(1) },
        { $0.1.cancel(.forceImmediately) },
      ]
    } check: { round, _ in
      expectEqual(round.2.count, 1)
      #expect(round.1.state == "success(1)" || round.1.state == "cancelled")
    }
  }

  @Test("Begin a body ∥ cancel: the body runs once, or its future is cancelled")
  func begin() {
    race(rounds: Self.rounds) { () -> (Promise<Int>, Future<Int>, Tally) in
      let promise = Promise<Int>()
      let runs = Tally()
      let derived = promise.future.map { value in
        runs.add()
        return value
      }
      return (promise, derived, runs)
    } _: {
      [
        { $0.0.succeed(1) },
        { $0.1.cancel() },
      ]
    } check: { round, _ in
      expectEqual(round.1.state, (round.2.count == 1 ? "success(1)" : "cancelled"))
    }
  }

  @Test("Complete inputs of a join ∥ fail one ∥ cancel: the join completes once")
  func join() {
    race(rounds: Self.rounds) { () -> (Promise<Int>, Promise<Int>, Future<[Int]>, Tally) in
      let (first, second, runs) = (Promise<Int>(), Promise<Int>(), Tally())
      second.onRequestCancel { _ in .complete(.cancelled) }
      let all = Future.all([first.future, second.future])
      all.observe { _ in runs.add() }
      return (first, second, all, runs)
    } _: {
      [
        { $0.0.fail(Oops()) },
        { $0.1.succeed(1) },
        { $0.2.cancel() },
      ]
    } check: { round, _ in
      expectEqual(round.3.count, 1)
      #expect(["failure(oops)", "cancelled"].contains(round.2.state))
    }
  }

  @Test("Remove an observer ∥ complete: the observer is called at most once, then released")
  func endObservation() {
    let census = Census()
    race(rounds: Self.rounds) { () -> (Promise<Int>, FutureObservation, Tally) in
      let (promise, calls) = (Promise<Int>(), Tally())
      let observation = promise.future.observe { [probe = census.probe()] _ in
        probe.touch()
        calls.add()
      }
      return (promise, observation, calls)
    } _: {
      [
        { $0.0.succeed(1) },
        { $0.1.remove() },
      ]
    } check: { round, _ in
      #expect(round.2.count <= 1)
    }
    expectEqual(census.alive, 0)
  }

  @Test("Three threads cancel the branches of a diamond: every outcome is delivered once")
  func tree() {
    struct Round: Sendable {
      let source = Subject()
      let tails: [Future<Int>]
      let notified = Tally()

      init() {
        source.handle(.complete(.cancelled))
        let shared = source.promise.future.map { $0 }.shared()
        let left = shared.flatMap { .succeeded($0) }
        let right = Future.all([left, shared]).map { $0[0] }
        tails = [left, right, shared.ensure {}]
        for tail in tails { tail.observe { [notified] _ in notified.add() } }
      }
    }
    race(rounds: Self.rounds) {
      Round()
    } _: {
      [
        { $0.tails[0].cancel() },
        { $0.tails[1].cancel(.doNotForwardIfOthersWaiting) },
        { $0.tails[2].cancel() },
      ]
    } check: { round, number in
      // Every consumer withdrew: the withheld request was delivered, and all futures have completed.
      expectEqual(round.notified.count, 3, "round \(number): \(round.tails.states())")
      expectEqual(round.source.handled.count, 1)
    }
  }

  @Test("Detach the last consumer ∥ create a token: the source has a consumer in the end")
  func renewedInterest() {
    race(rounds: Self.rounds) { () -> (Promise<Int>, Future<Int>, Future<Int>, Locked<CancelToken?>) in
      let promise = Promise<Int>()
      // A long chain makes it likely that the two threads meet on it.
      let middle = (0..<40).reduce(promise.future) { future, _ in future.map { $0 } }
      return (promise, middle, middle.map { $0 }, Locked(nil))
    } _: {
      [
        { $0.2.cancel(.doNotForwardRequest) },
        { round in
          let token = round.1.cancelToken()
          round.3.value = token
        },
      ]
    } check: { round, number in
      let effect = round.0.future.cancel(.doNotForwardIfOthersWaiting).effect
      expectEqual(effect, .withheld(by: 1), "round \(number)")
    }
  }

  @Test("Consumers attach and detach on three threads: the source has no consumer in the end")
  func noConsumer() {
    race(rounds: Self.rounds) { () -> (Promise<Int>, Future<Int>, Future<Int>) in
      let promise = Promise<Int>()
      let middle = promise.future.map { $0 }.map { $0 }
      return (promise, middle, middle.map { $0 })
    } _: {
      [
        { $0.2.cancel(.doNotForwardRequest) },
        { $0.1.map { $0 }.cancel(.doNotForwardRequest) },
        { _ = $0.1.cancelToken() },
      ]
    } check: { round, number in
      let effect = round.0.future.cancel(.doNotForwardIfOthersWaiting).effect
      expectEqual(effect, .stored, "round \(number)")
    }
  }
}
