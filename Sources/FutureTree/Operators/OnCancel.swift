extension Future {
  /// Calls `body` with the reason for a cancellation, and passes the outcome on.
  ///
  /// ```swift
  /// let feed = download.onCancel { reason in log("gave up: \(reason)") }
  /// ```
  ///
  /// `body` always runs when the future completes as `.cancelled`, even if its branch completes early. See
  /// <doc:Cancellation#Bodies-that-have-not-begun>.
  ///
  /// - Parameters:
  ///   - executor: The executor that runs `body`. Defaults to `.immediate`.
  ///   - body: A closure that returns nothing and does not throw. The outcome is passed on when it returns.
  /// - Returns: A future that is a consumer of `self`.
  /// - Complexity: O(1).
  @inlinable @discardableResult
  public func onCancel(
    on executor: FutureExecutor = .immediate, _ body: @escaping @Sendable (CancellationReason) -> Void
  ) -> Future {
    passingNode(.onCancel, executor) { body($0.cancellationReason) }
  }

  /// Calls `body` with the reason for a cancellation on the main actor, and passes the outcome on.
  @discardableResult
  public func onCancel(
    on _: MainExecutor, _ body: @escaping @MainActor @Sendable (CancellationReason) -> Void
  ) -> Future {
    onCancel(on: MainExecutor.executor) { reason in MainExecutor.assume { body(reason) } }
  }
}
