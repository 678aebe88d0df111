import FutureTree
import Synchronization
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
        #expect(running.add(1, ordering: .acquiringAndReleasing).newValue == 1)
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

  @Test("additions from several threads run one at a time")
  func additions() {
    race(rounds: 1_000) {
      Round()
    } _: {
      [{ for _ in 0..<5 { $0.add() } }, { for _ in 0..<5 { $0.add() } }, { for _ in 0..<5 { $0.add() } }]
    } check: { round, _ in
      #expect(round.ran.load(ordering: .acquiring) == 15)
      #expect(round.futures.value.allSatisfy { $0.isCompleted })
    }
  }

  @Test("a turn that comes while its future is cancelled: the body ran, or the future is cancelled")
  func leaves() {
    race(rounds: 2_000) {
      Round().gated()
    } _: {
      [{ $0.gate.succeed(0) }, { $0.futures.value[0].cancel() }]
    } check: { round, _ in
      let ran = round.ran.load(ordering: .acquiring) == 1
      let state = round.futures.value[0].outcomeIfCompleted?.ending
      #expect(state == (ran ? .succeeded : .cancelled))
      #expect(round.queue.waitingCount == 0)
    }
  }
}
