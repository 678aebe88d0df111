extension Future {
  /// Calls `body` with the value, and returns a future of its result.
  ///
  /// ```swift
  /// let count = posts.map { $0.count }
  /// ```
  ///
  /// Failures and cancellations pass through. A cancellation request is forwarded to `self`. `body` does not run if its
  /// future was asked to cancel before it began. See <doc:Cancellation#Bodies-that-have-not-begun>.
  ///
  /// - Parameters:
  ///   - executor: The executor that runs `body`. Defaults to `.immediate`.
  ///   - body: The closure to call. If it throws, the future fails with the error. If it throws `CancellationError` or
  ///     `FutureCancelled`, the future is cancelled.
  /// - Returns: A future that is a consumer of `self`.
  /// - Complexity: O(1) and one allocation.
  @inlinable @discardableResult
  public func map<U>(
    on executor: FutureExecutor = .immediate, _ body: @escaping @Sendable (Value) throws -> U
  ) -> Future<U> {
    mapNode(.map, executor, body)
  }

  /// Calls `body` with the value on the main actor, and returns a future of its result.
  @discardableResult
  public func map<U>(on _: MainExecutor, _ body: @escaping @MainActor @Sendable (Value) throws -> U) -> Future<U> {
    mapNode(.map, MainExecutor.executor) { value in try MainExecutor.assume { try body(value) } }
  }
}
