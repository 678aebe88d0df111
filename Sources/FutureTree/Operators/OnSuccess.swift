extension Future {
  /// Goes on with the value: `body` returns what comes of it.
  ///
  /// ```swift
  /// let comments = api.user(1)
  ///   .onSuccess { user in api.posts(of: user) }        // a future: its outcome
  ///   .onSuccess { posts in posts.first }               // a value
  ///   .onSuccess { post in post.map { api.comments(of: $0) } ?? .succeeded([]) }
  /// ```
  ///
  /// Failures and cancellations pass. A request to cancel is forwarded to what the future waits for now: `self`, or what
  /// `body` returned. `body` does not run if its future was asked before it began (law 11).
  ///
  /// - Parameters:
  ///   - executor: where `body` runs.
  ///   - body: returns a value, a future, a completion or nothing. What it throws fails the future;
  ///     `CancellationError` and `FutureCancelled` cancel it.
  /// - Returns: a consumer of `self`.
  /// - Complexity: O(1) and one allocation.
  @inlinable @discardableResult
  public func onSuccess<U>(
    on executor: FutureExecutor = .immediate, _ body: @escaping @Sendable (Value) throws -> U
  ) -> Future<U> {
    mapNode(.onSuccess, executor, body)
  }

  /// Goes on with the value: `body` returns the future that is waited for next.
  @inlinable @discardableResult
  public func onSuccess<U>(
    on executor: FutureExecutor = .immediate, _ body: @escaping @Sendable (Value) throws -> Future<U>
  ) -> Future<U> {
    flatMapNode(.onSuccess, executor, body)
  }

  /// Goes on with the value: `body` returns how the future completes.
  @discardableResult
  public func onSuccess<U>(
    on executor: FutureExecutor = .immediate, _ body: @escaping @Sendable (Value) throws -> Completion<U>
  ) -> Future<U> {
    completionNode(.onSuccess, executor) { outcome in try body(outcome.get()) }
  }
}

// MARK: - On the main actor

extension Future {
  /// Goes on with the value on the main actor: `body` returns a value or nothing.
  @discardableResult
  public func onSuccess<U>(
    on _: MainExecutor, _ body: @escaping @MainActor @Sendable (Value) throws -> U
  ) -> Future<U> {
    onSuccess(on: MainExecutor.executor) { value in try MainExecutor.assume { try body(value) } }
  }

  /// Goes on with the value on the main actor: `body` returns the future that is waited for next.
  @discardableResult
  public func onSuccess<U>(
    on _: MainExecutor, _ body: @escaping @MainActor @Sendable (Value) throws -> Future<U>
  ) -> Future<U> {
    onSuccess(on: MainExecutor.executor) { value in try MainExecutor.assume { try body(value) } }
  }

  /// Goes on with the value on the main actor: `body` returns how the future completes.
  @discardableResult
  public func onSuccess<U>(
    on _: MainExecutor, _ body: @escaping @MainActor @Sendable (Value) throws -> Completion<U>
  ) -> Future<U> {
    onSuccess(on: MainExecutor.executor) { value in try MainExecutor.assume { try body(value) } }
  }
}
