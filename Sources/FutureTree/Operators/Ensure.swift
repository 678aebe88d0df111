extension Future {
  /// Runs `body` whatever the outcome is, and passes the outcome on.
  ///
  /// ```swift
  /// let saved = write(file).ensure { file.close() }
  /// ```
  ///
  /// `body` always runs, once: also when its future was asked to cancel, and when its branch ends early (law 11).
  ///
  /// - Parameters:
  ///   - executor: where `body` runs.
  ///   - body: returns nothing and does not throw; the outcome passes when it is done.
  /// - Returns: a consumer of `self`.
  /// - Complexity: O(1).
  @inlinable @discardableResult
  public func ensure(
    on executor: FutureExecutor = .immediate, _ body: @escaping @Sendable () -> Void
  ) -> Future {
    passingNode(.ensure, executor) { _ in body() }
  }

  /// The same with a body on the main actor.
  @discardableResult
  public func ensure(on _: MainExecutor, _ body: @escaping @MainActor @Sendable () -> Void) -> Future {
    ensure(on: MainExecutor.executor) { MainExecutor.assume { body() } }
  }

  /// A consumer of this future with the same outcome, for a caller who must not get this one.
  @inlinable package func forwarded() -> Future {
    passingNode(.ensure, .immediate) { _ in }
  }
}
