import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

/// Races on the operators with state of their own. Each round ends with a check of the result.
@Suite("Stress: operators", .timeLimit(.minutes(20)))
struct StressOperatorsTests {
  private static let rounds = 2_000

  @Test("A timeout races a completion and a force: the future completes once, and no timer remains")
  func timeout() {
    struct Round: Sendable {
      let clock = ManualClock()
      let promise = Promise<Int>()
      let timed: Future<Int>
      let log = Recorder()

      init() {
        timed = promise.future.timeout(after: .seconds(1), clock: clock)
        timed.observe { [log] outcome in log(outcome.state) }
      }
    }
    race(
      rounds: Self.rounds, { Round() },
      {
        [
          { $0.clock.advance(by: .seconds(1)) },
          { $0.promise.succeed(1) },
          { $0.timed.cancel(.forceImmediately) },
        ]
      },
      check: { round, number in
        if round.log.count != 1 || round.clock.timerCount != 0 {
          Issue.record("round \(number): \(round.log.entries), \(round.clock.timerCount) timers")
        }
      })
  }

  @Test(
    "A traversal advances on two threads while it is cancelled: each item begins at most once")
  func traverse() {
    struct Round: Sendable {
      let executor = ManualExecutor()
      let begun = Locked<[Int]>([])
      let promises = (0..<8).map { _ in Promise<Int>() }
      let all: Future<[Int]>

      init() {
        all = Future.traverse(0..<8, atMost: 2) { [begun, promises] index in
          begun.withLock { $0.append(index) }
          return promises[index].future
        }
      }
    }
    race(
      rounds: Self.rounds, { Round() },
      {
        [
          { round in for index in [0, 2, 4, 6] { round.promises[index].succeed(index) } },
          { round in for index in [1, 3, 5, 7] { round.promises[index].succeed(index) } },
          { $0.all.cancel() },
        ]
      },
      check: { round, number in
        let state = round.all.state
        let isWhole = state == "success([0, 1, 2, 3, 4, 5, 6, 7])"
        if !isWhole && state != "cancelled" || Set(round.begun.value).count != round.begun.value.count {
          Issue.record("round \(number): \(state), began \(round.begun.value)")
        }
      })
  }

  @Test("A retry is cancelled while its delay ends: the request is delivered, and no timer remains")
  func retry() {
    struct Round: Sendable {
      let clock = ManualClock()
      let promise = Promise<Int>()
      let retried: Future<Int>

      init() {
        retried = Future.retry(.constant(attempts: 2, delay: .seconds(1)), clock: clock) { [promise] attempt in
          attempt == 1 ? .failed(Oops()) : promise.future
        }
      }
    }
    race(
      rounds: Self.rounds, { Round() }, { [{ $0.clock.advance(by: .seconds(1)) }, { $0.retried.cancel() }] },
      check: { round, number in
        // Either the delay was cancelled, or the second attempt began and received the request.
        let isAsked = round.promise.cancelRequest != nil
        if (round.retried.state == "cancelled") == isAsked || round.clock.timerCount != 0 {
          Issue.record("round \(number): \(round.retried.state), second attempt asked: \(isAsked)")
        }
      })
  }

  @Test("Joins whose inputs complete on two threads complete once")
  func joins() {
    struct Round: Sendable {
      let promises = (0..<4).map { _ in Promise<Int>() }
      let joins: [Future<String>]
      let log = Recorder()

      init() {
        joins = JoinUnderTest.every.map { [promises] in $0.apply(promises.map(\.future)) }
        for join in joins { join.observe { [log] outcome in log(outcome.state) } }
      }
    }
    race(
      rounds: Self.rounds, { Round() },
      {
        [
          { round in for index in [0, 2] { round.promises[index].succeed(index) } },
          { round in for index in [1, 3] { round.promises[index].succeed(index) } },
          { $0.joins[2].cancel(.doNotForwardRequest) },
        ]
      },
      check: { round, number in
        if round.log.count != JoinUnderTest.every.count || round.joins[0].state != "success([0, 1, 2, 3])" {
          Issue.record("round \(number): \(round.joins.states())")
        }
      })
  }

  @Test("A blocked thread is woken by a completion, a cancellation or a dropped promise")
  func waiting() {
    struct Round: Sendable {
      let promise = Locked<Promise<Int>?>(Promise())
      let future: Future<Int>
      let outcome = Locked<String?>(nil)

      init() {
        future = promise.value!.future.map { $0 }
      }
    }
    for wake: @Sendable (Round) -> Void in [
      { $0.promise.value!.succeed(1) }, { $0.future.cancel(.forceImmediately) }, { $0.promise.value = nil },
    ] {
      race(
        rounds: Self.rounds / 4, { Round() },
        { [{ $0.outcome.value = (try? $0.future.wait(for: .seconds(60)))??.state }, wake] },
        check: { round, number in
          if round.outcome.value == nil || round.outcome.value != round.future.state {
            Issue.record("round \(number): \(round.outcome.value ?? "nil"), \(round.future.state)")
          }
        })
    }
  }

  @Test("Previews during a cancellation have no side effects")
  func preview() {
    struct Round: Sendable {
      let promise = Promise<Int>()
      let left: Future<Int>
      let right: Future<Int>
      let joined: Future<[Int]>

      init() {
        promise.onRequestCancel { _ in .complete(.cancelled) }
        left = promise.future.map { $0 }
        right = promise.future.map { $0 }
        joined = Future.all([left, right])
      }
    }
    race(
      rounds: Self.rounds, { Round() },
      {
        [
          { _ = $0.joined.previewCancel() },
          { _ = $0.left.previewCancel(.forceImmediately) },
          { $0.joined.cancel(.doNotForwardIfOthersWaiting) },
        ]
      },
      check: { round, number in
        if round.joined.state != "cancelled" || round.promise.future.state != "cancelled" {
          Issue.record("round \(number): \(round.joined.state), \(round.promise.future.state)")
        }
      })
  }

  @Test("Tasks are cancelled while they begin and end: each future completes")
  func tasks() async {
    for number in 0..<Self.rounds / 4 {
      let future = Future.succeeded(1).asyncMap { value in
        await Task.yield()
        return value
      }
      let thread = JoinedThread(stackSize: 1024 * 1024) { future.cancel() }
      let state = await future.outcome.state
      thread.join()
      if state != "success(1)", state != "cancelled" { Issue.record("round \(number): \(state)") }
    }
  }
}
