import FutureTree
import FutureTreeTesting
import Synchronization
import TestSupport
import Testing

@Suite("Pictures of the tree: concurrent changes") struct TreeWhileChangingTests {
  private final class Round: Sendable {
    let promise = Promise<Int>()
    let branches: [Future<Int>]
    let tree = Locked<[TreeSnapshot]>([])

    init() {
      let trunk = promise.future.map { $0 }
      branches = (0..<8).map { index in trunk.map { $0 }.named("\(index)") }
    }
  }

  @Test("Each entry is consistent while other threads complete and cancel", .timeLimit(.minutes(20)))
  func consistent() {
    let wrong = Atomic(0)
    race(
      rounds: 3_000, Round.init,
      {
        [
          { round in
            for branch in round.branches.dropLast() {
              branch.cancel(.doNotForwardIfOthersWaiting, reason: "enough")
            }
          },
          { round in round.promise.succeed(1) },
          { round in
            round.tree.value = [round.branches[7].tree(), round.branches[3].tree(), round.promise.future.tree()]
          },
        ]
      },
      check: { round, _ in
        for entry in round.tree.value.flatMap(\.entries) where !TreeWhileChangingTests.isConsistent(entry) {
          wrong.add(1, ordering: .relaxed)
        }
      })

    expectEqual(wrong.load(ordering: .relaxed), 0)
  }

  /// Whether the properties of one entry do not contradict each other.
  private static func isConsistent(_ entry: TreeSnapshot.Entry) -> Bool {
    switch entry.state {
    case .pending, .queued, .running:
      return entry.withheldRequest == nil || entry.consumers > 0
    case .succeeded:
      return entry.waiters.isEmpty && entry.upstream.isEmpty && entry.withheldRequest == nil
    case .failed:
      return false
    case .cancelled(let reason):
      return entry.waiters.isEmpty && entry.upstream.isEmpty && reason.message == "enough"
        && entry.request?.reason.message == "enough"
    }
  }

  @Test("Errors are described outside every lock and can take snapshots")
  func curiousErrors() {
    let promise = Promise<Int>()
    let future = promise.future.map { $0 }
    let depth = Atomic(0)
    let box = Locked<(promise: Promise<Int>, future: Future<Int>)?>((promise, future))
    promise.fail(
      NosyError("curious") {
        guard depth.add(1, ordering: .relaxed).newValue == 1 else { return }
        onAnotherThread { _ = box.value?.future.tree() }
        _ = box.value?.promise.future.named("renamed").tree()
        box.value?.promise.succeed(1)
      })

    expectEqual(future.tree().entries.map(\.state), [.failed("curious")])
    expectEqual(depth.load(ordering: .relaxed), 3)
    box.value = nil  // Otherwise the error retains its futures.
  }
}
