extension Future {
  /// Calls `body` with the value, and returns a future with the outcome of the future that `body` returns.
  ///
  /// ```swift
  /// let posts = user.flatMap { api.posts(of: $0) }
  /// ```
  ///
  /// `onSuccess` is the same operation. Drawings of the tree show the name that the code used.
  ///
  /// The returned future waits first for `self` and then for the inner future. It is one consumer of each in turn. See
  /// <doc:Cancellation#One-consumer-one-count>. A cancellation request is forwarded to the future that it waits for now. A
  /// request that arrives while `body` runs is delivered to the inner future. See <doc:Cancellation#No-request-is-lost>.
  ///
  /// - Parameters:
  ///   - executor: The executor that runs `body`. Defaults to `.immediate`.
  ///   - body: The closure to call. If it throws, the future fails with the error. If it throws `CancellationError` or
  ///     `FutureCancelled`, the future is cancelled.
  /// - Returns: A future that is a consumer of `self`.
  /// - Complexity: O(1) and one allocation.
  @inlinable @discardableResult
  public func flatMap<U>(
    on executor: FutureExecutor = .immediate, _ body: @escaping @Sendable (Value) throws -> Future<U>
  ) -> Future<U> {
    flatMapNode(.flatMap, executor, body)
  }

  /// Calls `body` with the value on the main actor, and returns a future with the outcome of the future that `body` returns.
  @discardableResult
  public func flatMap<U>(
    on _: MainExecutor, _ body: @escaping @MainActor @Sendable (Value) throws -> Future<U>
  ) -> Future<U> {
    flatMapNode(.flatMap, MainExecutor.executor) { value in try MainExecutor.assume { try body(value) } }
  }
}
