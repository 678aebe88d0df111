/// A scope as resets of chains see it. It does not keep the `CancelScope` alive.
package struct TrackedScope: Sendable, Equatable {
  fileprivate let core: ScopeCore

  package static func == (left: TrackedScope, right: TrackedScope) -> Bool { left.core === right.core }

  /// Completes when the scope is settled, whatever happens to its future.
  package var settled: Future<Void> { core.settled.future }

  package var future: Future<Void> { core.future }

  /// Asks the scope to cancel for a reset that waits until it is settled. Its undos may use what the reset refuses to others.
  package func cancelForReset(because reason: CancellationReason) {
    core.canUndoDuringReset = true
    core.future.cancel(reason: reason)
  }

  /// Whether the caller is the body of an undo for which a reset waits.
  package static var isUndoing: Bool { CancelScope.undoing?.canUndoDuringReset == true }

  /// The outermost scope of the undo whose body is the caller.
  package static var ofUndo: TrackedScope? { CancelScope.undoing.map { TrackedScope(core: $0.outermost) } }
}

extension CancelScope {
  package var tracked: TrackedScope { TrackedScope(core: core) }
}
