extension Future {
  /// The value, as soon as the future completes.
  ///
  /// ```swift
  /// let user = try await api.user(1).value
  /// ```
  ///
  /// The awaiting task is a consumer while it waits. When the task is cancelled, the wait ends at once with
  /// `CancellationError`. The task's interest is withdrawn with a `doNotForwardIfOthersWaiting` request. See
  /// <doc:Cancellation#Awaiting>. If the future has completed, its value is returned even in a cancelled task.
  ///
  /// - Throws: The error of a failure; `FutureCancelled`, with the reason, if the future was cancelled; and
  ///   `CancellationError` if the awaiting task was cancelled.
  @inlinable public nonisolated(nonsending) var value: Value {
    get async throws {
      guard await node.wait(cancellingWith: .doNotForwardIfOthersWaiting) else { throw CancellationError() }
      return try node.outcome(as: Value.self).get()
    }
  }

  /// Returns the value as soon as the future completes. A cancelled task asks the future to cancel with these options.
  ///
  /// ```swift
  /// let page = try await download.value(cancellingWith: [], waitingForOutcome: true)
  /// ```
  ///
  /// - Parameters:
  ///   - options: The options of the request that is made when the task is cancelled.
  ///   - waitingForOutcome: Whether a cancelled task still waits for the outcome, and returns or throws it. Defaults to
  ///     `false`.
  /// - Throws: The same errors as `value`. With `waitingForOutcome`, cancelling the task does not throw
  ///   `CancellationError`.
  public nonisolated(nonsending) func value(
    cancellingWith options: CancellationOptions, waitingForOutcome: Bool = false
  ) async throws -> Value {
    if await !node.wait(cancellingWith: options) {
      guard waitingForOutcome else { throw CancellationError() }
      await node.waitForOutcome()
    }
    return try node.outcome(as: Value.self).get()
  }

  /// The outcome, as soon as the future completes.
  ///
  /// When the awaiting task is cancelled, its interest is withdrawn with a `doNotForwardIfOthersWaiting` request, as for
  /// `value`. This property cannot throw, so the task continues to wait. See <doc:Cancellation#Awaiting>.
  @inlinable public nonisolated(nonsending) var outcome: Outcome<Value> {
    get async {
      if await !node.wait(cancellingWith: .doNotForwardIfOthersWaiting) { await node.waitForOutcome() }
      return node.outcome(as: Value.self)
    }
  }
}
