import FutureTree

/// Counts the points of a run and cancels at one of them. Follows the futures of the tree.
final class TrialWatch: Sendable {
  private struct State {
    var points: [String] = []
    var completions = 0
    /// The names of the futures that have not ended, by number. Without the timers of operators, which end with their operator.
    var pending: [Int: String] = [:]
    /// The names of the futures that are in memory, by number.
    var living: [Int: String] = [:]
    var target: Target?
  }

  /// The future of the scenario. Kept until the run has ended.
  private struct Target: Sendable {
    let isCompleted: @Sendable () -> Bool
    let cancel: @Sendable () -> Void
  }

  private let number: Int?
  private let state = Locked(State())

  /// - Parameter number: The point at which the future is cancelled, if any.
  init(cancellingAt number: Int?) {
    self.number = number
  }

  var points: [String] { state.withLock { $0.points } }
  var completions: Int { state.withLock { $0.completions } }
  var pending: [String] { names { $0.pending } }
  var living: [String] { names { $0.living } }
  /// Whether all futures of the tree have ended.
  var hasEnded: Bool { state.withLock { $0.pending.isEmpty } }

  func begin<Value>(_ future: Future<Value>, options: CancellationOptions, reason: CancellationReason) {
    let target = Target {
      future.isCompleted
    } cancel: {
      future.cancel(options, reason: reason)
    }
    state.withLock { $0.target = target }
    future.observe { [weak self] _ in self?.state.withLock { $0.completions += 1 } }
  }

  /// Releases the future.
  func end() {
    state.release { $0.target.take() }
  }

  /// Counts a point, and cancels if it is the one. Returns whether it has cancelled.
  @discardableResult
  func reached(_ name: String) -> Bool {
    guard let target = state.withLock({ $0.target }), !target.isCompleted() else { return false }
    let index = state.withLock { state in
      state.points.append(name)
      return state.points.count - 1
    }
    guard index == number else { return false }
    target.cancel()
    return true
  }

  /// Receives an event of a future of the tree.
  ///
  /// - Parameter isPause: Whether the future is the timer of an operator.
  func observe(_ event: FutureEvent, isPause: Bool) {
    state.withLock { state in
      switch event.fact {
      case .created, .joined:
        if !isPause { state.pending[event.future] = event.name }
        state.living[event.future] = event.name
      case .named:
        state.pending[event.future]? = event.name
        state.living[event.future]? = event.name
      case .succeeded, .failed, .cancelled:
        state.pending[event.future] = nil
      case .released:
        state.pending[event.future] = nil
        state.living[event.future] = nil
      case .linked, .activity, .cancelRequested, .withheld:
        break
      }
    }
    switch event.fact {
    case .linked(let input): reached("`\(event.name)` (\(event.future)) waits for \(input)")
    case .succeeded, .failed, .cancelled: reached("`\(event.name)` (\(event.future)) has ended")
    default: break
    }
  }

  private func names(_ futures: (State) -> [Int: String]) -> [String] {
    state.withLock { futures($0) }.sorted { $0.key < $1.key }.map { "`\($0.value)` (\($0.key))" }
  }
}
