/// A value that is accessed only under a lock.
@usableFromInline package final class Locked<State>: @unchecked Sendable {  // Because: `state` is guarded by `lock`.
  @usableFromInline let lock = Lock()
  @exclusivity(unchecked) @usableFromInline var state: State

  package init(_ state: State) {
    self.state = state
  }

  @inlinable package func withLock<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
    // Declared outside the locked section, so that the result outlives the section.
    var result: Result?
    try lock.runLocked { result = try body(&state) }
    withExtendedLifetime(result) {}  // Otherwise the compiler releases an unused result inside the section.
    return result!
  }

  /// Changes the value, and releases what `body` returns after the lock: a `deinit` may be user code.
  @inlinable package func release<Removed>(_ body: (inout State) -> Removed) {
    _ = withLock(body)
  }

  #if FUTURETREE_EXPLORER
    package var explored: ExploredLock { lock.explored }
  #endif

  /// A copy of the value. A replaced value is released after the lock.
  @inlinable package var value: State {
    get { withLock { $0 } }
    set {
      var replaced = newValue
      withLock { swap(&$0, &replaced) }
    }
  }
}
