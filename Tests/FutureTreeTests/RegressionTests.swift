import Dispatch
import FutureTreeTesting
import Testing

@testable import FutureTree

/// What a review found broken once. Each is named after the law that it broke.
@Suite("What was broken once", .serialized)
struct RegressionTests {
  @Test("law 11: the body of onCancel runs if a force meets a success that is passing")
  func onCancelForced() {
    let log = Recorder()
    let promise = Promise<Int>()
    let box = Locked<Future<Int>?>(nil)
    let probe = Locked<Probe?>(Probe { box.value?.cancel(.forceImmediately) })
    box.value = promise.future.onCancel { [probe = probe.value!] _ in
      probe.touch()
      log("onCancel")
    }
    probe.value = nil

    promise.succeed(1)

    let state = box.value!.state
    #expect(log.entries == (state == "cancelled" ? ["onCancel"] : []))
    box.value = nil
  }

  @Test("law 11: the same between threads", .timeLimit(.minutes(10)))
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
    "laws 12 and 17: who loses interest in a wide join pays for its edges, not for their square",
    .timeLimit(.minutes(10)))
  func wideJoin() {
    let promises = (0..<30_000).map { _ in Promise<Int>() }
    let all = Future.all(promises.map(\.future))

    all.cancelToken().cancel()

    #expect(promises.allSatisfy { $0.cancelRequest != nil })
    for promise in promises { promise.completeCancelled() }
  }

  @Test("law 10: nobody wants the source of a diamond whose only token asked politely")
  func diamondToken() {
    let promise = Promise<Int>()
    let shared = promise.future.map { $0 }.shared()
    let all = Future.all([shared.map { $0 }, shared.map { $0 }])
    all.cancelToken().cancel(.doNotForwardIfOthersWaiting)

    let receipt = shared.cancel()

    #expect(receipt.effect == .stored)
    #expect(promise.cancelRequest?.options == [])
  }

  @Test("law 10: nobody wants the source of a diamond whose join was decided")
  func diamondJoin() {
    let (promise, trigger) = (Promise<Int>(), Promise<Int>())
    let shared = promise.future.map { $0 }.shared()
    let all = Future.all([trigger.future, shared.map { $0 }, shared.map { $0 }])
    trigger.fail(Oops())

    let receipt = shared.cancel()

    #expect(receipt.effect == .stored)
    #expect(promise.cancelRequest?.options == [])
    withExtendedLifetime(all) {}
  }

  @Test("a body runs inside the job that its executor runs, also when that runs it at once inside a callback")
  func insideJob() {
    let log = Recorder()
    let isInside = Locked(false)
    let executor = FutureExecutor.custom { job in
      isInside.value = true
      job()
      isInside.value = false
    }
    let promise = Promise<Int>()
    let mapped = promise.future.map(on: executor) { _ in log("map \(isInside.value)") }
    promise.future.observe(on: executor) { _ in log("observe \(isInside.value)") }

    promise.succeed(1)
    let work = Future(on: executor) { log("work \(isInside.value)") }

    #expect(log.entries == ["map true", "observe true", "work true"])
    #expect(mapped.isCompleted && work.isCompleted)
  }

  @Test("law 21: a queued body that will not run is released when its future is forced")
  func queuedBody() {
    let census = Census()
    let executor = ManualExecutor()
    let future = Future<Int>.failed(Oops()).onFailure(on: executor.executor) { [probe = census.probe()] _ in
      probe.touch()
    }

    future.cancel(.forceImmediately)

    #expect(future.state == "cancelled")
    #expect(census.alive == 0)
    executor.runAll()
  }

  @Test("law 10: an unwanted future that links another takes no interest from it")
  func unwantedLink() {
    let (promise, outer) = (Promise<Int>(), Promise<Int>())
    let inner = promise.future.map { $0 }  // Has wanted `promise` since it was made.
    let derived = outer.future.flatMap { _ in inner }
    derived.map { $0 }.cancel(.doNotForwardRequest)  // `derived` wants no more.
    let receipt = promise.future.cancel(.doNotForwardIfOthersWaiting)

    outer.succeed(1)

    #expect(receipt.effect == .withheld(by: 1))
    #expect(promise.cancelRequest == nil)
    withExtendedLifetime((inner, derived)) {}
  }

  @Test(
    "law 8: a request stored for an inner future is neither lost nor weakened by a later force",
    arguments: [.doNotForwardRequest, .doNotForwardIfOthersWaiting] as [CancellationOptions])
  func storedRequest(weaker: CancellationOptions) {
    let log = Recorder()
    let inner = source(log, "inner")
    let other = inner.future.map { $0 }
    let box = Locked<Future<Int>?>(nil)
    let executor = ManualExecutor()
    box.value = Future.succeeded(1).flatMap(on: executor.executor) { _ in
      box.value?.cancel()
      box.value?.cancel(weaker.union(.forceImmediately))
      return inner.future
    }

    executor.runAll()

    #expect(log.entries == ["inner: plain"])
    withExtendedLifetime(other) {}
  }

  @Test("law 17: a receipt counts each future once, also one that was withheld on one path and reached on another")
  func receiptCount() {
    let promise = Promise<Int>()
    let all = Future.all([promise.future, promise.future.map { $0 }])

    let receipt = all.cancel([.forceImmediately, .doNotForwardIfOthersWaiting])

    #expect(receipt.reached == 3)
  }

  @Test("law 12: a withheld request that the wave delivers reaches further than the wave's own, and still in one wave")
  func withheldGoesFurther() {
    let log = Recorder()
    let promise = source(log, "source")
    let first = promise.future.map { $0 }
    let second = first.map { $0 }
    let third = second.map { $0 }.shared()
    let race = Future.race([third, first])
    third.cancel(reason: "withheld by the race")
    let (other, mine) = (second.cancelToken(), race.cancelToken())

    let receipt = mine.cancel(.doNotForwardIfOthersWaiting)

    #expect(receipt.effect == .delivered && receipt.reached == 5)
    #expect(log.entries == ["source: plain"])
    withExtendedLifetime((promise, other)) {}
  }

  @Test("law 3: the branch ends at once down to the future that was asked before it was linked")
  func branchOfStoredRequest() {
    let log = Recorder()
    let promise = Promise<Int>()
    let middle = promise.future.shared().map { $0 }
    let other = Future.race([middle, promise.future]).onComplete { _ in log("other") }
    let outer = Promise<Int>()
    let ensured = outer.future.ensure { log("outer") }
    outer.future.cancel()

    outer.complete(.completeUsing(middle.map { $0 }))

    #expect(log.entries == ["outer", "other"])
    withExtendedLifetime((promise, other, ensured)) {}
  }

  @Test("law 20: handlers that hold the next promise are released in constant stack")
  func handlersHoldPromises() {
    let log = Recorder()
    onSmallStack {
      var promise = Promise<Int>()
      for _ in 0..<50_000 {
        let next = promise
        promise = Promise<Int>()
        promise.onRequestCancel { [next] _ in
          _ = next.future
          return .continue
        }
      }

      promise.succeed(1)

      log("released")
    }
    #expect(log.entries == ["released"])
  }

  @Test(
    "law 10: a token asks politely while another is taken: nobody is counted when all have gone",
    .timeLimit(.minutes(10)))
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
        if case .withheld = effect { Issue.record("round \(number): somebody is counted who has gone") }
      })
  }

  @Test("memory: the last input of a join succeeds while the join is forced", .timeLimit(.minutes(10)))
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

  @Test("memory: an executor drops its jobs while their futures are cancelled", .timeLimit(.minutes(10)))
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
    #expect(census.alive == 0)
  }

  @Test("memory: while one input of a join decides, no other takes itself for the last")
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

    #expect(join.state == "failure(oops)" && !gathered.value)
  }

  @Test("law 8: a promise is sealed while it is asked: its handler is called, or the inner future is asked")
  func sealedWhileAsked() {
    race(
      rounds: 5_000,
      { () -> (Promise<Int>, Promise<Int>, Locked<Int>) in
        let (outer, inner, calls) = (Promise<Int>(), Promise<Int>(), Locked(0))
        outer.onRequestCancel { _ in
          calls.withLock { $0 += 1 }
          return .continue
        }
        return (outer, inner, calls)
      },
      {
        [
          { $0.0.future.cancel(.doNotForwardRequest) },
          { $0.0.complete(.completeUsing($0.1.future)) },
        ]
      },
      check: { round, number in
        // Asked first: the handler was called. Sealed first: the future has let go of the inner one (law 4).
        let isLost = round.2.value == 0 && !round.0.future.isCompleted
        if isLost { Issue.record("round \(number): the request was lost") }
      })
  }

  @Test("law 3: three leave at once, two of them ask: the source is asked", .timeLimit(.minutes(10)))
  func threeLeave() {
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
        if round.0.cancelRequest == nil { Issue.record("round \(number): nobody asked the source") }
      })
  }

  @Test("law 9: all handlers run, also if one that is installed meanwhile answers")
  func handlersOfAnswered() {
    let log = Recorder()
    let (first, second) = (Promise<Int>(), Promise<Int>())
    first.onRequestCancel { _ in
      log("first")
      return .continue
    }
    second.onRequestCancel { _ in
      first.onRequestCancel { _ in .complete(.cancelled) }
      return .continue
    }
    let both = Future.all([first.future, second.future])

    both.cancel()

    #expect(first.future.state == "cancelled" && log.entries == ["first"])
    withExtendedLifetime(second) {}
  }

  @Test("law 16: a promise that is dropped while its future is asked is broken or asked", .timeLimit(.minutes(10)))
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

  @Test("law 8: a request that meets a seal is given to a handler, or ends the future", .timeLimit(.minutes(10)))
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
