// Operators with `async` bodies. Each behaves like the operator without the prefix, and runs its body in a task. While the
// task runs, a cancellation request is forwarded to it: law 15 (a task as a source). Until the first statement of the body runs,
// the body counts as queued: law 11 (bodies that have not begun). The body of `asyncOnComplete` always runs.
//
// The names differ from those of the plain operators, because overloads that differ only in the closure make chains slow to
// type-check.
//
// The task starts where the future receives the outcome. It runs on the executor between its suspensions.

// MARK: - Async bodies for one value

extension Future {
  /// Calls an async `body` with the value, and completes with the value that it returns.
  ///
  /// ```swift
  /// let thumbnail = image.asyncMap { image in try await renderer.thumbnail(of: image) }
  /// ```
  ///
  /// Failures and cancellations pass through. A cancellation request is forwarded to `self`, or to the task that runs `body`.
  /// See <doc:Cancellation#A-task-as-a-source>.
  ///
  /// - Parameters:
  ///   - executor: The executor that runs the task. Defaults to `.immediate`, which is Swift's concurrent pool.
  ///   - body: The closure to call. If it throws, the future fails with the error. If it throws `CancellationError` or
  ///     `FutureCancelled`, the future is cancelled.
  /// - Returns: A future that is a consumer of `self`.
  @inlinable @discardableResult
  public func asyncMap<U>(
    on executor: FutureExecutor = .immediate, _ body: @escaping @Sendable (Value) async throws -> U
  ) -> Future<U> {
    asyncNode(.map, executor, body) { $0.value(as: Value.self) }
  }

  /// Calls an async `body` with the value on the main actor, and completes with the value that it returns.
  @discardableResult
  public func asyncMap<U>(
    on _: MainExecutor, _ body: @escaping @MainActor @Sendable (Value) async throws -> U
  ) -> Future<U> {
    asyncNode(.map, MainExecutor.executor, body) { $0.value(as: Value.self) }
  }

  /// Replaces a failure with the value that an async `body` returns.
  ///
  /// ```swift
  /// let feed = download.asyncRecover { _ in try await cache.feed() }
  /// ```
  ///
  /// Successes and cancellations pass through. A cancellation request is forwarded to `self`, or to the task that runs `body`.
  /// If the future was asked to cancel before `body` began, `body` does not run, and the failure passes through. See
  /// <doc:Cancellation#Bodies-that-have-not-begun>.
  ///
  /// - Parameters:
  ///   - executor: The executor that runs the task. Defaults to `.immediate`, which is Swift's concurrent pool.
  ///   - body: The closure to call. If it throws, the future fails with the error. If it throws `CancellationError` or
  ///     `FutureCancelled`, the future is cancelled.
  /// - Returns: A future that is a consumer of `self`.
  @inlinable @discardableResult
  public func asyncRecover(
    on executor: FutureExecutor = .immediate, _ body: @escaping @Sendable (any Error) async throws -> Value
  ) -> Future {
    asyncNode(.recover, executor, body) { $0.error }
  }

  /// Replaces a failure with the value that an async `body` returns, on the main actor.
  @discardableResult
  public func asyncRecover(
    on _: MainExecutor, _ body: @escaping @MainActor @Sendable (any Error) async throws -> Value
  ) -> Future {
    asyncNode(.recover, MainExecutor.executor, body) { $0.error }
  }

  /// Calls an async `body` with the outcome, and completes with the value that it returns.
  ///
  /// ```swift
  /// let saved = write.asyncOnComplete { outcome in
  ///   await file.close()
  ///   return try outcome.get()  // The outcome passes.
  /// }
  /// ```
  ///
  /// `body` always runs, even if its future was asked to cancel. If its branch completes early, `body` receives
  /// `.cancelled`, and its result is ignored. See <doc:Cancellation#Bodies-that-have-not-begun>.
  ///
  /// - Parameters:
  ///   - executor: The executor that runs the task. Defaults to `.immediate`, which is Swift's concurrent pool.
  ///   - body: The closure to call. If it throws, the future fails with the error. If it throws `CancellationError` or
  ///     `FutureCancelled`, the future is cancelled.
  /// - Returns: A future that is a consumer of `self`.
  @inlinable @discardableResult
  public func asyncOnComplete<U>(
    on executor: FutureExecutor = .immediate, _ body: @escaping @Sendable (Outcome<Value>) async throws -> U
  ) -> Future<U> {
    asyncNode(.onComplete, executor, body) { $0.outcome(as: Value.self) }
  }

  /// Calls an async `body` with the outcome on the main actor, and completes with the value that it returns.
  @discardableResult
  public func asyncOnComplete<U>(
    on _: MainExecutor, _ body: @escaping @MainActor @Sendable (Outcome<Value>) async throws -> U
  ) -> Future<U> {
    asyncNode(.onComplete, MainExecutor.executor, body) { $0.outcome(as: Value.self) }
  }
}

// MARK: - Async bodies for many items and attempts

extension Future {
  /// Calls an async `body` for each item, with a limit of concurrent tasks, and completes with all values in the order of
  /// the items.
  ///
  /// ```swift
  /// let pages = Future.asyncTraverse(urls, atMost: 4) { url in try await fetch(url) }
  /// ```
  ///
  /// Behaves like `traverse`, with bodies that run in tasks.
  public static func asyncTraverse<Item: Sendable>(
    _ items: some Sequence<Item>, atMost limit: Int, on executor: FutureExecutor = .immediate,
    fileID: String = #fileID, line: UInt = #line, _ body: @escaping @Sendable (Item) async throws -> Value
  ) -> Future<[Value]> {
    traverse(items, atMost: limit, fileID: fileID, line: line) { item, isOver in
      .asyncWork(on: executor, unless: isOver) { try await body(item) }
    }
  }

  /// Calls an async `body` for each item on the main actor, and completes with all values in the order of the items.
  public static func asyncTraverse<Item: Sendable>(
    _ items: some Sequence<Item>, atMost limit: Int, on _: MainExecutor,
    fileID: String = #fileID, line: UInt = #line, _ body: @escaping @MainActor @Sendable (Item) async throws -> Value
  ) -> Future<[Value]> {
    traverse(items, atMost: limit, fileID: fileID, line: line) { item, isOver in
      .asyncWork(on: MainExecutor.executor, unless: isOver) { try await body(item) }
    }
  }

  /// Calls an async `body` until it succeeds, with a delay between attempts.
  ///
  /// ```swift
  /// let user = Future.asyncRetry(.exponential(attempts: 3)) { attempt in try await fetchUser(1) }
  /// ```
  ///
  /// Behaves like `retry`, with attempts that run in tasks.
  public static func asyncRetry(
    _ policy: BackOff, on executor: FutureExecutor = .immediate, clock: any FutureClock = .system,
    fileID: String = #fileID, line: UInt = #line, _ body: @escaping @Sendable (_ attempt: Int) async throws -> Value
  ) -> Future {
    retry(policy, clock: clock, fileID: fileID, line: line) { attempt, isOver in
      .asyncWork(on: executor, unless: isOver) { try await body(attempt) }
    }
  }

  /// Calls an async `body` on the main actor until it succeeds, with a delay between attempts.
  public static func asyncRetry(
    _ policy: BackOff, on _: MainExecutor, clock: any FutureClock = .system,
    fileID: String = #fileID, line: UInt = #line,
    _ body: @escaping @MainActor @Sendable (_ attempt: Int) async throws -> Value
  ) -> Future {
    retry(policy, clock: clock, fileID: fileID, line: line) { attempt, isOver in
      .asyncWork(on: MainExecutor.executor, unless: isOver) { try await body(attempt) }
    }
  }
}
