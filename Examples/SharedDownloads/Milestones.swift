import FutureTree
import Synchronization

/// A counter that only grows, with futures that complete when it reaches a number.
final class Milestones: Sendable {
  private struct State {
    var count = 0
    var awaited: [(count: Int, promise: Promise<Void>)] = []

    mutating func takeReached() -> [Promise<Void>] {
      let reached = awaited.filter { $0.count <= count }
      awaited.removeAll { $0.count <= count }
      return reached.map(\.promise)
    }
  }

  private let state = Mutex(State())

  var count: Int { state.withLock { $0.count } }

  /// Raises the counter to `count`. A lower count has no effect.
  func advance(to count: Int) {
    change { $0.count = max($0.count, count) }
  }

  func increment() {
    change { $0.count += 1 }
  }

  func reached(_ count: Int) -> Future<Void> {
    let promise = Promise<Void>()
    promise.onRequestCancel { _ in .complete(.cancelled) }
    change { $0.awaited.append((count, promise)) }
    return promise.future
  }

  private func change(_ change: (inout State) -> Void) {
    let reached = state.withLock { state in
      change(&state)
      return state.takeReached()
    }
    for promise in reached { promise.succeed() }
  }
}
