extension Future {
  /// Puts another error in the place of an error.
  ///
  /// ```swift
  /// let user = api.user(1).mapError { error in ProfileError.unavailable(because: error) }
  /// ```
  ///
  /// Successes and cancellations pass. A request to cancel is forwarded to `self`; `body` runs all the same if a failure
  /// comes back.
  ///
  /// - Parameters:
  ///   - executor: where `body` runs.
  ///   - body: returns the error that the future fails with. What it throws fails the future as well.
  /// - Returns: a consumer of `self`.
  /// - Complexity: O(1).
  @inlinable @discardableResult
  public func mapError(
    on executor: FutureExecutor = .immediate, _ body: @escaping @Sendable (any Error) throws -> any Error
  ) -> Future {
    bodyNode(.mapError, executor) { node, upstream in node.fail(try body(upstream.error)) }
  }

  /// The same with a body on the main actor.
  @discardableResult
  public func mapError(
    on _: MainExecutor, _ body: @escaping @MainActor @Sendable (any Error) throws -> any Error
  ) -> Future {
    mapError(on: MainExecutor.executor) { error in try MainExecutor.assume { try body(error) } }
  }
}
