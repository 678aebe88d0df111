extension Future {
  /// Returns a future of what `body` makes of the value.
  ///
  /// ```swift
  /// let count = posts.map { $0.count }
  /// ```
  ///
  /// Failures and cancellations pass. A request to cancel is forwarded to `self`; `body` does not run if its future was
  /// asked before it began (law 11).
  ///
  /// - Parameters:
  ///   - executor: where `body` runs.
  ///   - body: what it throws fails the future; `CancellationError` and `FutureCancelled` cancel it.
  /// - Returns: a consumer of `self`.
  /// - Complexity: O(1) and one allocation.
  @inlinable @discardableResult
  public func map<U>(
    on executor: FutureExecutor = .immediate, _ body: @escaping @Sendable (Value) throws -> U
  ) -> Future<U> {
    mapNode(.map, executor, body)
  }

  /// The same with a body on the main actor.
  @discardableResult
  public func map<U>(on _: MainExecutor, _ body: @escaping @MainActor @Sendable (Value) throws -> U) -> Future<U> {
    mapNode(.map, MainExecutor.executor) { value in try MainExecutor.assume { try body(value) } }
  }
}
