extension Future {
  /// Runs `body` after any outcome, and passes the outcome on.
  ///
  /// ```swift
  /// let saved = write(file).ensure { file.close() }
  /// ```
  ///
  /// `body` always runs exactly once, even if its future was asked to cancel or its branch completes early. See
  /// <doc:Cancellation#Bodies-that-have-not-begun>.
  ///
  /// - Parameters:
  ///   - executor: The executor that runs `body`. Defaults to `.immediate`.
  ///   - body: A closure that returns nothing and does not throw. The outcome is passed on when it returns.
  /// - Returns: A future that is a consumer of `self`.
  /// - Complexity: O(1).
  @inlinable @discardableResult
  public func ensure(
    on executor: FutureExecutor = .immediate, _ body: @escaping @Sendable () -> Void
  ) -> Future {
    passingNode(.ensure, executor) { _ in body() }
  }

  /// Runs `body` on the main actor after any outcome, and passes the outcome on.
  @discardableResult
  public func ensure(on _: MainExecutor, _ body: @escaping @MainActor @Sendable () -> Void) -> Future {
    ensure(on: MainExecutor.executor) { MainExecutor.assume { body() } }
  }

  /// Returns a consumer of this future with the same outcome. Use it for callers that must not receive this future
  /// itself.
  @inlinable package func forwarded() -> Future {
    passingNode(.ensure, .immediate) { _ in }
  }
}
