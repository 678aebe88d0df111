extension Future {
  /// Looks at a failure, and passes the outcome on.
  ///
  /// ```swift
  /// let feed = download.onFailure { error in log(error) }
  /// ```
  ///
  /// `body` runs also when its future was asked to cancel and upstream failed all the same.
  ///
  /// - Parameters:
  ///   - executor: where `body` runs.
  ///   - body: returns nothing and does not throw; the outcome passes when it is done.
  /// - Returns: a consumer of `self`.
  /// - Complexity: O(1).
  @inlinable @discardableResult
  public func onFailure(
    on executor: FutureExecutor = .immediate, _ body: @escaping @Sendable (any Error) -> Void
  ) -> Future {
    passingNode(.onFailure, executor) { body($0.error) }
  }

  /// The same with a body on the main actor.
  @discardableResult
  public func onFailure(on _: MainExecutor, _ body: @escaping @MainActor @Sendable (any Error) -> Void) -> Future {
    onFailure(on: MainExecutor.executor) { error in MainExecutor.assume { body(error) } }
  }
}
