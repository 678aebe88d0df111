import Dispatch
import FutureTreeTesting
import TestSupport
import Testing

@testable import FutureTree

/// Regression tests of races between threads. Each test names the law that a bug had broken.
@Suite("Regressions: races between threads", .serialized)
struct RaceRegressionTests {
  @Test(
    "The body of onCancel runs if a force races a success (law 11, bodies that have not begun)", .tags(.law11),
    .timeLimit(.minutes(20)))
  func onCancelForcedRace() {
    race(
      rounds: 5_000,
      { () -> (Promise<Int>, Future<Int>, Recorder) in
        let (promise, log) = (Promise<Int>(), Recorder())
        return (promise, promise.future.onCancel { _ in log("ran") }, log)
      }, { [{ $0.0.succeed(1) }, { $0.1.cancel(.forceImmediately) }] },
      check: { round, number in
        let expected = round.1.state == "cancelled" ? 1 : 0
        if round.2.count != expected { Issue.record("round \(number): ran \(round.2.count) times, \(round.1.state)") }
      })
  }

  @Test(
    "No consumer is counted after a token requested while another was created (law 10, one consumer, one count)",
    .tags(.law10),
    .timeLimit(.minutes(20)))
  func phantomRace() {
    struct Round: Sendable {
      let promise = Promise<Int>()
      let branch: Future<Int>
      let other: Future<Int>
      let token: CancelToken
      let taken = Locked<CancelToken?>(nil)

      init() {
        branch = promise.future.map { $0 }
        other = promise.future.map { $0 }
        token = branch.cancelToken()
      }
    }
    race(
      rounds: 5_000, { Round() },
      {
        [
          { $0.token.cancel(.doNotForwardIfOthersWaiting) },
          { $0.taken.value = $0.branch.cancelToken() },
        ]
      },
      check: { round, number in
        round.taken.value = nil
        round.other.cancel(.doNotForwardRequest)
        let effect = round.promise.future.cancel(.doNotForwardIfOthersWaiting).effect
        if case .withheld = effect { Issue.record("round \(number): a withdrawn consumer is counted") }
      })
  }

  @Test("A join can be forced while its last input succeeds", .timeLimit(.minutes(20)))
  func joinAndForce() {
    race(
      rounds: 5_000,
      { () -> (Promise<Int>, Future<[Int]>) in
        let promise = Promise<Int>()
        return (promise, Future.all([promise.future, .succeeded(2)]))
      }, { [{ $0.0.succeed(1) }, { $0.1.cancel(.forceImmediately) }] },
      check: { round, number in
        let state = round.1.state
        if state != "success([1, 2])", state != "cancelled" { Issue.record("round \(number): \(state)") }
      })
  }

  @Test("An executor can drop its jobs while their futures are cancelled", .timeLimit(.minutes(20)))
  func droppedWhileCancelled() {
    let census = Census()
    race(
      rounds: 500,
      { () -> (ManualExecutor, [Future<Int>]) in
        let executor = ManualExecutor()
        let futures = (0..<20).map { number in
          Future.succeeded(number).map(on: executor.executor) { [probe = census.probe()] value in
            probe.touch()
            return value
          }
        }
        return (executor, futures)
      }, { [{ $0.0.dropAll() }, { round in for future in round.1 { future.cancel() } }] },
      check: { round, number in
        if !round.1.allSatisfy(\.isCompleted) { Issue.record("round \(number): \(round.1.states())") }
      })
    expectEqual(census.alive, 0)
  }

  @Test("While one input decides a join, no other input counts as the last")
  func joinDecides() {
    let (decider, other) = (Promise<Int>(), Promise<Int>())
    let gathered = Locked(false)
    let join = JoinNode<Int>.future(.all, of: [decider.future.node, other.future.node]) { input in
      guard input === decider.future.node else { return .waits }
      onAnotherThread { other.succeed(1) }
      return .ends(.failure(Oops()))
    } whenNoneDecided: { _ in
      gathered.value = true
      return .success(0)
    }

    decider.fail(Oops())

    expectEqual(join.state, "failure(oops)")
    #expect(!gathered.value)
  }

  @Test(
    "The source receives a request if three consumers withdraw at once (law 3, stopping where others wait)",
    .tags(.law03),
    .timeLimit(.minutes(20)))
  func threeWithdraw() {
    race(
      rounds: 5_000,
      { () -> (Promise<Int>, [Future<Int>]) in
        let promise = Promise<Int>()
        let middle = promise.future.map { $0 }
        return (promise, [middle.map { $0 }, middle.map { $0 }, promise.future.map { $0 }])
      },
      {
        [
          { $0.1[0].cancel(.doNotForwardIfOthersWaiting) },
          { $0.1[1].cancel(.doNotForwardRequest) },
          { $0.1[2].cancel(.doNotForwardIfOthersWaiting) },
        ]
      },
      check: { round, number in
        if round.0.cancelRequest == nil { Issue.record("round \(number): the source received no request") }
      })
  }

  @Test(
    "A promise dropped during a request is broken, or its handler receives the request (law 16, a dropped promise)",
    .tags(.law16),
    .timeLimit(.minutes(20)))
  func dropWhileAsked() {
    race(
      rounds: 5_000,
      { () -> (Locked<Promise<Int>?>, Future<Int>, Recorder) in
        let (promise, log) = (Promise<Int>(), Recorder())
        promise.onRequestCancel { _ in
          log("asked")
          return .continue
        }
        return (Locked(promise), promise.future, log)
      }, { [{ $0.0.value = nil }, { $0.1.cancel() }] },
      check: { round, number in
        let expected = round.1.state == "cancelled" ? 1 : 0
        if round.2.count != expected { Issue.record("round \(number): asked \(round.2.count), \(round.1.state)") }
      })
  }

  @Test(
    "A request that races a seal reaches a handler or completes the future (law 8, no request is lost)", .tags(.law08),
    .timeLimit(.minutes(20)))
  func sealWhileAsked() {
    race(
      rounds: 5_000,
      { () -> (Promise<Int>, Promise<Int>, Recorder) in
        let (promise, log) = (Promise<Int>(), Recorder())
        promise.onRequestCancel { _ in
          log("asked")
          return .continue
        }
        return (promise, Promise<Int>(), log)
      }, { [{ $0.0.complete(.completeUsing($0.1.future)) }, { $0.0.future.cancel(.doNotForwardRequest) }] },
      check: { round, number in
        let expected = round.0.future.isCompleted ? 0 : 1
        if round.2.count != expected {
          Issue.record("round \(number): asked \(round.2.count), \(round.0.future.state)")
        }
      })
  }
}
