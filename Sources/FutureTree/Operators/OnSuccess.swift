extension Future {
  /// Calls `body` with the value, and returns a future with the outcome of the future that `body` returns.
  ///
  /// ```swift
  /// let comments = api.user(1)
  ///   .onSuccess { user in api.posts(of: user) }
  ///   .onSuccess { posts in posts.isEmpty ? .failed(NoPosts()) : api.comments(on: posts[0]) }
  /// ```
  ///
  /// For a body that returns a value, or that only has a side effect, use `map`. For a body that returns a `Completion` or an
  /// `Outcome`, return its `future`. `flatMap` is the same operation with Swift's name. Drawings of the tree show the name that
  /// the code used.
  ///
  /// Failures and cancellations pass through. A cancellation request is forwarded to the future that this one depends on
  /// now: `self`, or the future that `body` returned. `body` does not run if its future was asked to cancel before it
  /// began. See <doc:Cancellation#Bodies-that-have-not-begun>.
  ///
  /// - Parameters:
  ///   - executor: The executor that runs `body`. Defaults to `.immediate`.
  ///   - body: The closure to call. If it throws, the future fails with the error. If it throws `CancellationError` or
  ///     `FutureCancelled`, the future is cancelled.
  /// - Returns: A future that is a consumer of `self`.
  /// - Complexity: O(1) and one allocation.
  @inlinable @discardableResult
  public func onSuccess<U>(
    on executor: FutureExecutor = .immediate, _ body: @escaping @Sendable (Value) throws -> Future<U>
  ) -> Future<U> {
    flatMapNode(.onSuccess, executor, body)
  }

  /// Calls `body` with the value on the main actor, and returns a future with the outcome of the future that `body` returns.
  @discardableResult
  public func onSuccess<U>(
    on _: MainExecutor, _ body: @escaping @MainActor @Sendable (Value) throws -> Future<U>
  ) -> Future<U> {
    flatMapNode(.onSuccess, MainExecutor.executor) { value in try MainExecutor.assume { try body(value) } }
  }
}
