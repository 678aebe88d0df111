import Synchronization

/// The deadline of one scope, and its timer.
final class ScopeDeadline: Sendable {
  private struct State {
    var deadline: FutureDeadline?
    var timer: FutureTimer?
    /// The instant at which the first deadline was set, on its clock.
    var begun: Duration?
    /// Counts the changes, so that a timer that fires late has no effect.
    var version = 0
    /// Whether the scope is settled.
    var hasEnded = false
  }

  private let state = Locked(State())
  /// The number of scopes that have a deadline and are not settled. While there are none, work does not look for its scope.
  private static let count = Atomic(0)

  static var isInUse: Bool { count.load(ordering: .relaxed) > 0 }

  var value: FutureDeadline? { state.withLock { $0.deadline } }

  /// Sets the deadline of a scope, and its timer. Has no effect on a scope that is settled.
  func set(_ deadline: FutureDeadline?, of scope: ScopeCore) {
    let now = deadline?.clock.now
    guard let version = replace({ $0.begun = $0.begun ?? now }, with: deadline), let deadline else { return }
    let remaining = deadline.remaining.clampedToMaximumTimerDuration
    let timer = deadline.clock.schedule(after: remaining) { [weak self, weak scope] in
      guard let scope, let begun = self?.fired(version) else { return }
      scope.deadlinePassed(after: deadline.clock.now - begun)
    }
    let isCurrent = state.withLock { state in
      if state.version == version { state.timer = timer }
      return state.version == version
    }
    if !isCurrent { timer.cancel() }
  }

  /// Removes the deadline of a scope that is settled.
  func end() {
    _ = replace({ $0.hasEnded = true }, with: nil)
  }

  /// Replaces the deadline, and cancels its timer. Returns the number of the change, or `nil` if the scope is settled.
  private func replace(_ change: (inout State) -> Void, with deadline: FutureDeadline?) -> Int? {
    // The replaced deadline is released outside the lock. Law 19 (no user code under a lock).
    let (replaced, timer, version) = state.withLock { state -> (FutureDeadline?, FutureTimer?, Int?) in
      guard !state.hasEnded else { return (nil, nil, nil) }
      let replaced = state.deadline
      ScopeDeadline.count.add((deadline == nil ? 0 : 1) - (replaced == nil ? 0 : 1), ordering: .relaxed)
      state.deadline = deadline
      state.version += 1
      change(&state)
      return (replaced, state.timer.take(), state.version)
    }
    withExtendedLifetime(replaced) { timer?.cancel() }
    return version
  }

  /// Returns when the first deadline was set, or `nil` if the timer with this number is not the current one.
  private func fired(_ version: Int) -> Duration? {
    state.withLock { state in
      guard state.version == version else { return nil }
      state.timer = nil
      return state.begun
    }
  }
}
