extension Future {
  /// Returns a future with the outcome of the future that `body` answers the value with.
  ///
  /// ```swift
  /// let posts = user.flatMap { api.posts(of: $0) }
  /// ```
  ///
  /// It waits first for `self` and then for the inner future, as one consumer of each in turn; a request to cancel goes to
  /// the one it waits for now, and a request that came while `body` ran is given to the inner future (laws 8 and 10).
  ///
  /// - Parameters:
  ///   - executor: where `body` runs.
  ///   - body: what it throws fails the future; `CancellationError` and `FutureCancelled` cancel it.
  /// - Returns: a consumer of `self`.
  /// - Complexity: O(1) and one allocation.
  @inlinable @discardableResult
  public func flatMap<U>(
    on executor: FutureExecutor = .immediate, _ body: @escaping @Sendable (Value) throws -> Future<U>
  ) -> Future<U> {
    flatMapNode(.flatMap, executor, body)
  }

  /// The same with a body on the main actor.
  @discardableResult
  public func flatMap<U>(
    on _: MainExecutor, _ body: @escaping @MainActor @Sendable (Value) throws -> Future<U>
  ) -> Future<U> {
    flatMapNode(.flatMap, MainExecutor.executor) { value in try MainExecutor.assume { try body(value) } }
  }
}
