extension Future {
  /// Looks at a cancellation, and passes the outcome on.
  ///
  /// ```swift
  /// let feed = download.onCancel { reason in log("gave up: \(reason)") }
  /// ```
  ///
  /// `body` always runs when the future ends `.cancelled`, also when its branch ends early (law 11).
  ///
  /// - Parameters:
  ///   - executor: where `body` runs.
  ///   - body: returns nothing and does not throw; the outcome passes when it is done.
  /// - Returns: a consumer of `self`.
  /// - Complexity: O(1).
  @inlinable @discardableResult
  public func onCancel(
    on executor: FutureExecutor = .immediate, _ body: @escaping @Sendable (CancellationReason) -> Void
  ) -> Future {
    passingNode(.onCancel, executor) { body($0.cancellationReason) }
  }

  /// The same with a body on the main actor.
  @discardableResult
  public func onCancel(
    on _: MainExecutor, _ body: @escaping @MainActor @Sendable (CancellationReason) -> Void
  ) -> Future {
    onCancel(on: MainExecutor.executor) { reason in MainExecutor.assume { body(reason) } }
  }
}
