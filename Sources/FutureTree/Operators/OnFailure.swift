extension Future {
  /// Calls `body` with the error of a failure, and passes the outcome on.
  ///
  /// ```swift
  /// let feed = download.onFailure { error in log(error) }
  /// ```
  ///
  /// `body` runs even if the future was asked to cancel before `self` failed.
  ///
  /// - Parameters:
  ///   - executor: The executor that runs `body`. Defaults to `.immediate`.
  ///   - body: A closure that returns nothing and does not throw. The outcome is passed on when it returns.
  /// - Returns: A future that is a consumer of `self`.
  /// - Complexity: O(1).
  @inlinable @discardableResult
  public func onFailure(
    on executor: FutureExecutor = .immediate, _ body: @escaping @Sendable (any Error) -> Void
  ) -> Future {
    passingNode(.onFailure, executor) { body($0.error) }
  }

  /// Calls `body` with the error of a failure on the main actor, and passes the outcome on.
  @discardableResult
  public func onFailure(on _: MainExecutor, _ body: @escaping @MainActor @Sendable (any Error) -> Void) -> Future {
    onFailure(on: MainExecutor.executor) { error in MainExecutor.assume { body(error) } }
  }
}
