extension Future {
  /// Goes on after a failure: `body` returns the value that takes the error's place.
  ///
  /// ```swift
  /// let feed = download.recover { _ in cachedFeed() }
  /// ```
  ///
  /// Successes and cancellations pass. A request to cancel is forwarded to what the future waits for now. `body` does not
  /// run if its future was asked before it began: the failure passes (law 11).
  ///
  /// - Parameters:
  ///   - executor: where `body` runs.
  ///   - body: returns a value, a future or a completion. What it throws fails the future; `CancellationError` and
  ///     `FutureCancelled` cancel it.
  /// - Returns: a consumer of `self`.
  /// - Complexity: O(1).
  @discardableResult
  public func recover(
    on executor: FutureExecutor = .immediate, _ body: @escaping @Sendable (any Error) throws -> Value
  ) -> Future<Value> {
    completionNode(.recover, executor) { outcome in
      guard case .failure(let error) = outcome else { return Completion(outcome) }
      return .success(try body(error))
    }
  }

  /// Goes on after a failure: `body` returns the future that is waited for next.
  @_disfavoredOverload
  @discardableResult
  public func recover(
    on executor: FutureExecutor = .immediate, _ body: @escaping @Sendable (any Error) throws -> Future<Value>
  ) -> Future<Value> {
    completionNode(.recover, executor) { outcome in
      guard case .failure(let error) = outcome else { return Completion(outcome) }
      return .completeUsing(try body(error))
    }
  }

  /// Goes on after a failure: `body` returns how the future completes.
  @_disfavoredOverload
  @discardableResult
  public func recover(
    on executor: FutureExecutor = .immediate, _ body: @escaping @Sendable (any Error) throws -> Completion<Value>
  ) -> Future<Value> {
    completionNode(.recover, executor) { outcome in
      guard case .failure(let error) = outcome else { return Completion(outcome) }
      return try body(error)
    }
  }
}

// MARK: - On the main actor

extension Future {
  /// Goes on after a failure on the main actor: `body` returns the value that takes the error's place.
  @discardableResult
  public func recover(
    on _: MainExecutor, _ body: @escaping @MainActor @Sendable (any Error) throws -> Value
  ) -> Future<Value> {
    recover(on: MainExecutor.executor) { error in try MainExecutor.assume { try body(error) } }
  }

  /// Goes on after a failure on the main actor: `body` returns the future that is waited for next.
  @_disfavoredOverload
  @discardableResult
  public func recover(
    on _: MainExecutor, _ body: @escaping @MainActor @Sendable (any Error) throws -> Future<Value>
  ) -> Future<Value> {
    recover(on: MainExecutor.executor) { error in try MainExecutor.assume { try body(error) } }
  }

  /// Goes on after a failure on the main actor: `body` returns how the future completes.
  @_disfavoredOverload
  @discardableResult
  public func recover(
    on _: MainExecutor, _ body: @escaping @MainActor @Sendable (any Error) throws -> Completion<Value>
  ) -> Future<Value> {
    recover(on: MainExecutor.executor) { error in try MainExecutor.assume { try body(error) } }
  }
}
