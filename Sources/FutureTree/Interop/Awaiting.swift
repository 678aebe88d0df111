extension Future {
  /// The value, once it is there.
  ///
  /// ```swift
  /// let user = try await api.user(1).value
  /// ```
  ///
  /// The task is a consumer while it waits. When the task is cancelled, the wait ends at once with `CancellationError`, and
  /// the task's interest is withdrawn with a request to cancel that stops where others wait (law 14). A future that has
  /// completed returns its value also in a cancelled task.
  ///
  /// - Throws: the error of a failure; `FutureCancelled`, with the reason, if the future was cancelled; and
  ///   `CancellationError` if the awaiting task was.
  @inlinable public nonisolated(nonsending) var value: Value {
    get async throws {
      guard await node.wait(cancellingWith: .doNotForwardIfOthersWaiting) else { throw CancellationError() }
      return try node.outcome(as: Value.self).get()
    }
  }

  /// The value, once it is there; when the task is cancelled, the future is asked to cancel with these options.
  ///
  /// ```swift
  /// let page = try await download.value(cancellingWith: [], waitingForOutcome: true)
  /// ```
  ///
  /// - Parameters:
  ///   - options: how far the request of a cancelled task goes.
  ///   - waitingForOutcome: whether a cancelled task still waits for the outcome, and returns or throws that.
  public nonisolated(nonsending) func value(
    cancellingWith options: CancellationOptions, waitingForOutcome: Bool = false
  ) async throws -> Value {
    if await !node.wait(cancellingWith: options) {
      guard waitingForOutcome else { throw CancellationError() }
      await node.waitForOutcome()
    }
    return try node.outcome(as: Value.self).get()
  }

  /// The outcome, once it is there.
  ///
  /// When the awaiting task is cancelled, its interest is withdrawn with a request that stops where others wait, as for
  /// `value`; it cannot throw, so it goes on waiting.
  @inlinable public nonisolated(nonsending) var outcome: Outcome<Value> {
    get async {
      if await !node.wait(cancellingWith: .doNotForwardIfOthersWaiting) { await node.waitForOutcome() }
      return node.outcome(as: Value.self)
    }
  }
}
