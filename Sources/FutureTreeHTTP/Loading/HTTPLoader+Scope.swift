import FutureTree

extension HTTPLoader {
  /// Creates a scope that a reset of this chain cancels and awaits, with its undos.
  ///
  /// ```swift
  /// let checkout = api.scope("checkout")
  /// let order = checkout.undo(of: checkout.run { api.load(createOrder) }) { api.load(try deleteOrder($0)) }
  /// ```
  ///
  /// A reset asks the scope to cancel, waits until its work has completed and its undos have run, and wipes state only then. A
  /// `ResetGuard` lets the loads of these undos pass: the loads that the body of an undo begins before it returns, and those of
  /// tasks that it starts.
  ///
  /// The ``Autocancel`` layers of the chain track the scope. Without one, a reset neither cancels the scope nor waits for it.
  ///
  /// - Parameters:
  ///   - name: The name of the scope, for drawings and errors.
  ///   - deadline: The instant by which the work must have completed. Defaults to none.
  ///   - policy: What happens to the work in flight when the scope is ended by `end()`.
  ///   - failurePolicy: What happens when work in the scope fails.
  ///   - deadlinePolicy: The outcome of the scope when the deadline passes.
  ///   - undoTimeout: The time after which an undo is asked to cancel and counts as failed.
  ///   - clock: The clock that measures `undoTimeout`.
  public func scope(
    _ name: String = "scope", deadline: FutureDeadline? = nil, whenEnded policy: CancelScope.EndPolicy = .waitsForWork,
    whenWorkFails failurePolicy: CancelScope.FailurePolicy = .continues,
    whenDeadlinePasses deadlinePolicy: CancelScope.DeadlinePolicy = .fails, undoTimeout: Duration = .seconds(30),
    clock: any FutureClock = .system
  ) -> CancelScope {
    let scope = CancelScope(
      name, deadline: deadline, whenEnded: policy, whenWorkFails: failurePolicy, whenDeadlinePasses: deadlinePolicy,
      undoTimeout: undoTimeout, clock: clock)
    for layer in PartGraph(self).outermost(as: Autocancel.self) { layer.track(scope.tracked) }
    return scope
  }
}
