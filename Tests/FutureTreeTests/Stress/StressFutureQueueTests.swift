import FutureTree
import Synchronization
import TestSupport
import Testing

@Suite("Stress: FutureQueue")
struct StressFutureQueueTests {
  private final class Round: Sendable {
    let queue = FutureQueue()
    let gate = Promise<Int>()
    let running = Atomic(0)
    let ran = Atomic(0)
    let futures = Locked<[Future<Int>]>([])

    func add() {
      let future = queue.add { [self] in
        expectEqual(running.add(1, ordering: .acquiringAndReleasing).newValue, 1)
        ran.add(1, ordering: .acquiringAndReleasing)
        running.subtract(1, ordering: .acquiringAndReleasing)
        return .succeeded(1)
      }
      futures.withLock { $0.append(future) }
    }

    func gated() -> Round {
      _ = queue.add { [gate] in gate.future }
      add()
      return self
    }
  }

  @Test("Additions from several threads run one at a time")
  func additions() {
    race(rounds: 1_000) {
      Round()
    } _: {
      [{ for _ in 0..<5 { $0.add() } }, { for _ in 0..<5 { $0.add() } }, { for _ in 0..<5 { $0.add() } }]
    } check: { round, _ in
      expectEqual(round.ran.load(ordering: .acquiring), 15)
      #expect(round.futures.value.allSatisfy { $0.isCompleted })
    }
  }

  @Test("A cancellation that races the start of a body: the body runs, or the future is cancelled")
  func cancelsAtBegin() {
    race(rounds: 2_000) {
      Round().gated()
    } _: {
      [{ $0.gate.succeed(0) }, { $0.futures.value[0].cancel() }]
    } check: { round, _ in
      let ran = round.ran.load(ordering: .acquiring) == 1
      let state = round.futures.value[0].outcomeIfCompleted?.ending
      expectEqual(state, ran ? .succeeded : .cancelled)
      expectEqual(round.queue.waitingCount, 0)
    }
  }
}

@Suite("Stress: a long FutureQueue")
struct StressLongFutureQueueTests {
  @Test("Many bodies behind a pending one run in constant stack space", .timeLimit(.minutes(20)))
  func deep() {
    let (log, count) = (Recorder(), LongTest.count(200_000, small: 20_000))
    onSmallStack {
      let queue = FutureQueue()
      let promise = Promise<Int>()
      _ = queue.add { promise.future }
      let sum = Locked(0)
      for _ in 0..<count {
        queue.add {
          sum.withLock { $0 += 1 }
          return .succeeded(1)
        }
      }

      promise.succeed(0)

      log("\(sum.value), \(queue.waitingCount)")
    }
    expectEqual(log.entries, ["\(count), 0"])
  }

  @Test("Many queued futures are cancelled in linear time, in any order", .timeLimit(.minutes(20)))
  func cancelsInAnyOrder() {
    let queue = FutureQueue()
    let gate = Promise<Int>()
    _ = queue.add { gate.future }
    let futures = (0..<LongTest.count(100_000, small: 20_000)).map { _ in queue.add { .succeeded(1) } }

    for future in futures.shuffled() { future.cancel() }

    expectEqual(queue.waitingCount, 0)
    gate.succeed(1)
    #expect(futures.allSatisfy { $0.state == "cancelled" })
  }
}
