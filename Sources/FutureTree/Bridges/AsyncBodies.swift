// Bodies that are tasks (law 15). Each operator does what it does with a plain body; while the task runs, a request to
// cancel is forwarded to it. A body that has not begun when it is asked does not begin, but for those that always run.
//
// The task starts where the executor gets to the body, and runs on that executor between its waits.

// MARK: - After a success

extension Future {
  /// Goes on with the value in a task: `body` returns a value or nothing.
  @discardableResult
  public func onSuccess<U>(
    on executor: FutureExecutor = .immediate, _ body: @escaping @Sendable (Value) async throws -> U
  ) -> Future<U> {
    flatMapNode(.onSuccess, executor) { value in .running(on: executor) { .success(try await body(value)) } }
  }

  /// Goes on with the value in a task: `body` returns the future that is waited for next.
  @discardableResult
  public func onSuccess<U>(
    on executor: FutureExecutor = .immediate, _ body: @escaping @Sendable (Value) async throws -> Future<U>
  ) -> Future<U> {
    flatMapNode(.onSuccess, executor) { value in .running(on: executor) { .completeUsing(try await body(value)) } }
  }

  /// Goes on with the value in a task: `body` returns how the future completes.
  @discardableResult
  public func onSuccess<U>(
    on executor: FutureExecutor = .immediate, _ body: @escaping @Sendable (Value) async throws -> Completion<U>
  ) -> Future<U> {
    flatMapNode(.onSuccess, executor) { value in .running(on: executor) { try await body(value) } }
  }

  /// Returns a future of what `body` makes of the value in a task.
  @discardableResult
  public func map<U>(
    on executor: FutureExecutor = .immediate, _ body: @escaping @Sendable (Value) async throws -> U
  ) -> Future<U> {
    flatMapNode(.map, executor) { value in .running(on: executor) { .success(try await body(value)) } }
  }

  /// Returns a future with the outcome of the future that `body` answers the value with, in a task.
  @discardableResult
  public func flatMap<U>(
    on executor: FutureExecutor = .immediate, _ body: @escaping @Sendable (Value) async throws -> Future<U>
  ) -> Future<U> {
    flatMapNode(.flatMap, executor) { value in .running(on: executor) { .completeUsing(try await body(value)) } }
  }
}

// MARK: - After a failure

extension Future {
  /// Goes on after a failure in a task: `body` returns the value that takes the error's place.
  @discardableResult
  public func recover(
    on executor: FutureExecutor = .immediate, _ body: @escaping @Sendable (any Error) async throws -> Value
  ) -> Future<Value> {
    completionNode(.recover, executor) { outcome in
      guard case .failure(let error) = outcome else { return Completion(outcome) }
      return .completeUsing(.running(on: executor, askedFirst: .failure(error)) { .success(try await body(error)) })
    }
  }

  /// Goes on after a failure in a task: `body` returns the future that is waited for next.
  @_disfavoredOverload
  @discardableResult
  public func recover(
    on executor: FutureExecutor = .immediate, _ body: @escaping @Sendable (any Error) async throws -> Future<Value>
  ) -> Future<Value> {
    completionNode(.recover, executor) { outcome in
      guard case .failure(let error) = outcome else { return Completion(outcome) }
      return .completeUsing(
        .running(on: executor, askedFirst: .failure(error)) { .completeUsing(try await body(error)) })
    }
  }

  /// Goes on after a failure in a task: `body` returns how the future completes.
  @_disfavoredOverload
  @discardableResult
  public func recover(
    on executor: FutureExecutor = .immediate, _ body: @escaping @Sendable (any Error) async throws -> Completion<Value>
  ) -> Future<Value> {
    completionNode(.recover, executor) { outcome in
      guard case .failure(let error) = outcome else { return Completion(outcome) }
      return .completeUsing(.running(on: executor, askedFirst: .failure(error)) { try await body(error) })
    }
  }

  /// Puts another error in the place of an error, in a task.
  @discardableResult
  public func mapError(
    on executor: FutureExecutor = .immediate, _ body: @escaping @Sendable (any Error) async throws -> any Error
  ) -> Future {
    completionNode(.mapError, executor) { outcome in
      guard case .failure(let error) = outcome else { return Completion(outcome) }
      return .completeUsing(
        .running(on: executor, askedFirst: nil) { .failure(try await body(error)) })
    }
  }

  /// Looks at an error in a task, and passes it on when the task is done.
  @discardableResult
  public func onFailure(
    on executor: FutureExecutor = .immediate, _ body: @escaping @Sendable (any Error) async -> Void
  ) -> Future {
    completionNode(.onFailure, executor) { outcome in
      guard case .failure(let error) = outcome else { return Completion(outcome) }
      return .completeUsing(.running(on: executor, passing: outcome) { await body(error) })
    }
  }
}

// MARK: - After any outcome

extension Future {
  /// Looks at a cancellation in a task, and passes it on when the task is done.
  @discardableResult
  public func onCancel(
    on executor: FutureExecutor = .immediate, _ body: @escaping @Sendable (CancellationReason) async -> Void
  ) -> Future {
    completionNode(.onCancel, executor) { outcome in
      guard case .cancelled(let reason) = outcome else { return Completion(outcome) }
      return .completeUsing(.running(on: executor, passing: outcome) { await body(reason) })
    }
  }

  /// Runs `body` in a task whatever the outcome is, and passes the outcome on when the task is done.
  @discardableResult
  public func ensure(
    on executor: FutureExecutor = .immediate, _ body: @escaping @Sendable () async -> Void
  ) -> Future {
    completionNode(.ensure, executor) { outcome in
      .completeUsing(.running(on: executor, passing: outcome) { await body() })
    }
  }

  /// Goes on with the outcome in a task: `body` returns a value or nothing.
  @discardableResult
  public func onComplete<U>(
    on executor: FutureExecutor = .immediate, _ body: @escaping @Sendable (Outcome<Value>) async throws -> U
  ) -> Future<U> {
    completionNode(.onComplete, executor) { outcome in
      .completeUsing(.running(on: executor, askedFirst: nil) { .success(try await body(outcome)) })
    }
  }

  /// Goes on with the outcome in a task: `body` returns the future that is waited for next.
  @discardableResult
  public func onComplete<U>(
    on executor: FutureExecutor = .immediate, _ body: @escaping @Sendable (Outcome<Value>) async throws -> Future<U>
  ) -> Future<U> {
    completionNode(.onComplete, executor) { outcome in
      .completeUsing(.running(on: executor, askedFirst: nil) { .completeUsing(try await body(outcome)) })
    }
  }

  /// Goes on with the outcome in a task: `body` returns how the future completes.
  @discardableResult
  public func onComplete<U>(
    on executor: FutureExecutor = .immediate, _ body: @escaping @Sendable (Outcome<Value>) async throws -> Completion<U>
  ) -> Future<U> {
    completionNode(.onComplete, executor) { outcome in
      .completeUsing(.running(on: executor, askedFirst: nil) { try await body(outcome) })
    }
  }
}

// MARK: - For many items, and again and again

extension Future {
  /// Runs a task for each item, at most so many at a time, and returns a future of all values in the order of the items.
  public static func traverse<Item: Sendable>(
    _ items: some Sequence<Item>, atMost limit: Int, on executor: FutureExecutor = .immediate,
    fileID: String = #fileID, line: UInt = #line, _ body: @escaping @Sendable (Item) async throws -> Value
  ) -> Future<[Value]> {
    traverse(items, atMost: limit, on: executor, fileID: fileID, line: line) { item in
      .running(on: executor) { .success(try await body(item)) }
    }
  }

  /// Runs a task until one succeeds, and waits between the attempts.
  public static func retry(
    _ policy: BackOff, on executor: FutureExecutor = .immediate, clock: any FutureClock = .system,
    fileID: String = #fileID, line: UInt = #line, _ body: @escaping @Sendable (_ attempt: Int) async throws -> Value
  ) -> Future {
    retry(policy, on: executor, clock: clock, fileID: fileID, line: line) { attempt in
      .running(on: executor) { .success(try await body(attempt)) }
    }
  }
}
