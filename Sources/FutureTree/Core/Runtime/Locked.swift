/// A value that is only reached under a lock.
package final class Locked<State>: @unchecked Sendable {  // Because: `state` is guarded by `lock`.
  private let lock = Lock()
  private var state: State

  package init(_ state: State) {
    self.state = state
  }

  package func withLock<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
    try lock.withLock { try body(&state) }
  }

  #if FUTURETREE_EXPLORER
    package var explored: ExploredLock { lock.explored }
  #endif

  /// A copy of it. What is replaced is freed after the lock has been released.
  package var value: State {
    get { withLock { $0 } }
    set {
      var replaced = newValue
      withLock { swap(&$0, &replaced) }
    }
  }
}
