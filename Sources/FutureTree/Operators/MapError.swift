extension Future {
  /// Replaces the error of a failure with the error that `body` returns.
  ///
  /// ```swift
  /// let user = api.user(1).mapError { error in ProfileError.unavailable(because: error) }
  /// ```
  ///
  /// Successes and cancellations pass through. A cancellation request is forwarded to `self`. If `self` fails after the
  /// request, `body` still runs.
  ///
  /// - Parameters:
  ///   - executor: The executor that runs `body`. Defaults to `.immediate`.
  ///   - body: Returns the error that the future fails with. If it throws, the future fails with the thrown error.
  /// - Returns: A future that is a consumer of `self`.
  /// - Complexity: O(1).
  @inlinable @discardableResult
  public func mapError(
    on executor: FutureExecutor = .immediate, _ body: @escaping @Sendable (any Error) throws -> any Error
  ) -> Future {
    bodyNode(.mapError, executor) { node, upstream in node.fail(try body(upstream.error)) }
  }

  /// Replaces the error of a failure with the error that `body` returns, on the main actor.
  @discardableResult
  public func mapError(
    on _: MainExecutor, _ body: @escaping @MainActor @Sendable (any Error) throws -> any Error
  ) -> Future {
    mapError(on: MainExecutor.executor) { error in try MainExecutor.assume { try body(error) } }
  }
}
