/// The error of a scope in which undos have failed. The other undos have run.
public struct UndoFailed: Error, CustomStringConvertible {
  /// One undo that failed.
  public struct Failure: Sendable {
    /// The name of the undo.
    public let name: String
    /// The error: `TimeoutError` if the undo did not complete in time, `FutureCancelled` if it was cancelled.
    public let error: any Error
  }

  /// The number of undos that have succeeded.
  public let undone: Int
  /// The undos that failed, in the order in which they ran.
  public let failures: [Failure]
  /// The error that ended the scope, if there is one: a failure of its work, its deadline, or the error that the body of
  /// `withCancelScope` threw.
  public internal(set) var cause: (any Error)?

  init(undone: Int, failures: [Failure], cause: (any Error)? = nil) {
    self.undone = undone
    self.failures = failures
    self.cause = cause
  }

  /// The names of the undos that failed. The descriptions of the errors are omitted, because they may contain secrets.
  public var description: String {
    let (names, count) = (failures.map(\.name).joined(separator: ", "), failures.count)
    return "Undos failed (\(count) of \(count + undone)): \(names). See `failures`, and undo these steps by hand."
  }
}

/// The error of work that a scope refused because the scope had ended.
public struct ScopeEnded: Error, Hashable, CustomStringConvertible {
  /// The name of the scope.
  public let scope: String

  init(_ scope: String) {
    self.scope = scope
  }

  public var description: String {
    "The scope `\(scope)` has ended and begins no more work. Begin the work before `end()`, or in another scope."
  }
}
