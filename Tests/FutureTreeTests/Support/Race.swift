import Foundation
import FutureTree
import Synchronization

/// Real threads that begin each round together, so that the thread sanitizer sees what overlaps.
///
/// ```swift
/// Race.run(rounds: 2_000) { round in
///   let promise = Promise<Int>()
///   return [{ promise.succeed(1) }, { promise.future.cancel() }]
/// }
/// ```
enum Race {
  /// Runs the actions of each round at the same time, each on a thread of its own, and waits for all of them.
  ///
  /// - Parameters:
  ///   - threads: how many actions a round has.
  ///   - prepare: makes the actions of a round, and is called on the calling thread.
  ///   - check: looks at what came of a round, on the calling thread.
  static func run(
    rounds: Int, threads: Int = 2, prepare: (Int) -> [@Sendable () -> Void], check: (Int) -> Void = { _ in }
  ) {
    let gate = Gate(threads: threads)
    let runners = (0..<threads).map { index in
      let runner = Foundation.Thread {
        for round in 0..<rounds { gate.run(index, inRound: round) }
      }
      runner.start()
      return runner
    }
    for round in 0..<rounds {
      let actions = prepare(round)
      precondition(actions.count == threads, "A round has one action a thread: \(threads), not \(actions.count)")
      gate.open(actions, round: round)
      check(round)
    }
    withExtendedLifetime(runners) {}
  }

  private final class Gate: Sendable {
    private struct State {
      var round = -1
      var actions: [@Sendable () -> Void] = []
    }

    private let state = Locked(State())
    private let arrived = Atomic<Int>(0)
    private let finished = Atomic<Int>(0)
    private let threads: Int

    init(threads: Int) { self.threads = threads }

    func open(_ actions: [@Sendable () -> Void], round: Int) {
      arrived.store(0, ordering: .sequentiallyConsistent)
      finished.store(0, ordering: .sequentiallyConsistent)
      state.withLock { $0 = State(round: round, actions: actions) }
      while finished.load(ordering: .acquiring) < threads { yieldThread() }
      state.withLock { $0.actions = [] }
    }

    func run(_ index: Int, inRound round: Int) {
      var action: (@Sendable () -> Void)?
      while action == nil {
        action = state.withLock { $0.round == round ? $0.actions[index] : nil }
        if action == nil { yieldThread() }
      }
      arrived.add(1, ordering: .sequentiallyConsistent)
      while arrived.load(ordering: .acquiring) < threads { yieldThread() }
      action?()
      action = nil
      finished.add(1, ordering: .releasing)
    }

    private func yieldThread() { sched_yield() }
  }
}
