extension Future {
  /// Replaces a failure with the value that `body` returns.
  ///
  /// ```swift
  /// let feed = download.recover { _ in Feed.empty }
  /// ```
  ///
  /// Successes and cancellations pass through. A cancellation request is forwarded to `self`. If the future was asked to
  /// cancel before `body` began, `body` does not run, and the failure passes through. See
  /// <doc:Cancellation#Bodies-that-have-not-begun>.
  ///
  /// - Parameters:
  ///   - executor: The executor that runs `body`. Defaults to `.immediate`.
  ///   - body: The closure to call. If it throws, the future fails with the error. If it throws `CancellationError` or
  ///     `FutureCancelled`, the future is cancelled.
  /// - Returns: A future that is a consumer of `self`.
  /// - Complexity: O(1).
  @inlinable @discardableResult
  public func recover(
    on executor: FutureExecutor = .immediate, _ body: @escaping @Sendable (any Error) throws -> Value
  ) -> Future {
    bodyNode(.recover, executor) { node, upstream in node.succeed(try body(upstream.error)) }
  }

  /// Replaces a failure with the value that `body` returns, on the main actor.
  @discardableResult
  public func recover(
    on _: MainExecutor, _ body: @escaping @MainActor @Sendable (any Error) throws -> Value
  ) -> Future {
    recover(on: MainExecutor.executor) { error in try MainExecutor.assume { try body(error) } }
  }

  /// Replaces a failure with the outcome of the future that `body` returns.
  ///
  /// ```swift
  /// let feed = download.recoverWith { _ in cache.feed() }
  /// ```
  ///
  /// Behaves like `recover`. A cancellation request is forwarded to the future that this one depends on now: `self`, or the
  /// future that `body` returned.
  ///
  /// - Parameters:
  ///   - executor: The executor that runs `body`. Defaults to `.immediate`.
  ///   - body: The closure to call. If it throws, the future fails with the error. If it throws `CancellationError` or
  ///     `FutureCancelled`, the future is cancelled.
  /// - Returns: A future that is a consumer of `self`.
  /// - Complexity: O(1).
  @inlinable @discardableResult
  public func recoverWith(
    on executor: FutureExecutor = .immediate, _ body: @escaping @Sendable (any Error) throws -> Future
  ) -> Future {
    bodyNode(.recover, executor) { node, upstream in node.resolve(with: try body(upstream.error).node, as: Value.self) }
  }

  /// Replaces a failure with the outcome of the future that `body` returns, on the main actor.
  @discardableResult
  public func recoverWith(
    on _: MainExecutor, _ body: @escaping @MainActor @Sendable (any Error) throws -> Future
  ) -> Future {
    recoverWith(on: MainExecutor.executor) { error in try MainExecutor.assume { try body(error) } }
  }
}
