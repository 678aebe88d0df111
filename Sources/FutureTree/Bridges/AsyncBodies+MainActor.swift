// Bodies that are tasks on the main actor: see `AsyncBodies.swift`.

// MARK: - After a success

extension Future {
  /// Goes on with the value in a task on the main actor: `body` returns a value or nothing.
  @discardableResult
  public func onSuccess<U>(
    on _: MainExecutor, _ body: @escaping @MainActor @Sendable (Value) async throws -> U
  ) -> Future<U> {
    flatMapNode(.onSuccess, MainExecutor.executor) { value in
      .running(on: .immediate, actor: MainExecutor.executor) { .success(try await body(value)) }
    }
  }

  /// Goes on with the value in a task on the main actor: `body` returns the future that is waited for next.
  @discardableResult
  public func onSuccess<U>(
    on _: MainExecutor, _ body: @escaping @MainActor @Sendable (Value) async throws -> Future<U>
  ) -> Future<U> {
    flatMapNode(.onSuccess, MainExecutor.executor) { value in
      .running(on: .immediate, actor: MainExecutor.executor) { .completeUsing(try await body(value)) }
    }
  }

  /// Goes on with the value in a task on the main actor: `body` returns how the future completes.
  @discardableResult
  public func onSuccess<U>(
    on _: MainExecutor, _ body: @escaping @MainActor @Sendable (Value) async throws -> Completion<U>
  ) -> Future<U> {
    flatMapNode(.onSuccess, MainExecutor.executor) { value in
      .running(on: .immediate, actor: MainExecutor.executor) { try await body(value) }
    }
  }

  /// Returns a future of what `body` makes of the value in a task on the main actor.
  @discardableResult
  public func map<U>(
    on _: MainExecutor, _ body: @escaping @MainActor @Sendable (Value) async throws -> U
  ) -> Future<U> {
    flatMapNode(.map, MainExecutor.executor) { value in
      .running(on: .immediate, actor: MainExecutor.executor) { .success(try await body(value)) }
    }
  }

  /// Returns a future with the outcome of the future that `body` answers the value with, in a task on the main actor.
  @discardableResult
  public func flatMap<U>(
    on _: MainExecutor, _ body: @escaping @MainActor @Sendable (Value) async throws -> Future<U>
  ) -> Future<U> {
    flatMapNode(.flatMap, MainExecutor.executor) { value in
      .running(on: .immediate, actor: MainExecutor.executor) { .completeUsing(try await body(value)) }
    }
  }
}

// MARK: - After a failure

extension Future {
  /// Goes on after a failure in a task on the main actor: `body` returns the value that takes the error's place.
  @discardableResult
  public func recover(
    on _: MainExecutor, _ body: @escaping @MainActor @Sendable (any Error) async throws -> Value
  ) -> Future<Value> {
    completionNode(.recover, MainExecutor.executor) { outcome in
      guard case .failure(let error) = outcome else { return Completion(outcome) }
      return .completeUsing(
        .running(on: .immediate, actor: MainExecutor.executor, askedFirst: .failure(error)) {
          .success(try await body(error))
        })
    }
  }

  /// Goes on after a failure in a task on the main actor: `body` returns the future that is waited for next.
  @_disfavoredOverload
  @discardableResult
  public func recover(
    on _: MainExecutor, _ body: @escaping @MainActor @Sendable (any Error) async throws -> Future<Value>
  ) -> Future<Value> {
    completionNode(.recover, MainExecutor.executor) { outcome in
      guard case .failure(let error) = outcome else { return Completion(outcome) }
      return .completeUsing(
        .running(on: .immediate, actor: MainExecutor.executor, askedFirst: .failure(error)) {
          .completeUsing(try await body(error))
        })
    }
  }

  /// Goes on after a failure in a task on the main actor: `body` returns how the future completes.
  @_disfavoredOverload
  @discardableResult
  public func recover(
    on _: MainExecutor, _ body: @escaping @MainActor @Sendable (any Error) async throws -> Completion<Value>
  ) -> Future<Value> {
    completionNode(.recover, MainExecutor.executor) { outcome in
      guard case .failure(let error) = outcome else { return Completion(outcome) }
      return .completeUsing(
        .running(on: .immediate, actor: MainExecutor.executor, askedFirst: .failure(error)) { try await body(error) })
    }
  }

  /// Puts another error in the place of an error, in a task on the main actor.
  @discardableResult
  public func mapError(
    on _: MainExecutor, _ body: @escaping @MainActor @Sendable (any Error) async throws -> any Error
  ) -> Future {
    completionNode(.mapError, MainExecutor.executor) { outcome in
      guard case .failure(let error) = outcome else { return Completion(outcome) }
      return .completeUsing(
        .running(
          on: .immediate, actor: MainExecutor.executor, askedFirst: nil
        ) { .failure(try await body(error)) })
    }
  }

  /// Looks at an error in a task on the main actor, and passes it on when the task is done.
  @discardableResult
  public func onFailure(
    on _: MainExecutor, _ body: @escaping @MainActor @Sendable (any Error) async -> Void
  ) -> Future {
    completionNode(.onFailure, MainExecutor.executor) { outcome in
      guard case .failure(let error) = outcome else { return Completion(outcome) }
      return .completeUsing(
        .running(on: .immediate, actor: MainExecutor.executor, passing: outcome) { await body(error) })
    }
  }
}

// MARK: - After any outcome

extension Future {
  /// Looks at a cancellation in a task on the main actor, and passes it on when the task is done.
  @discardableResult
  public func onCancel(
    on _: MainExecutor, _ body: @escaping @MainActor @Sendable (CancellationReason) async -> Void
  ) -> Future {
    completionNode(.onCancel, MainExecutor.executor) { outcome in
      guard case .cancelled(let reason) = outcome else { return Completion(outcome) }
      return .completeUsing(
        .running(on: .immediate, actor: MainExecutor.executor, passing: outcome) { await body(reason) })
    }
  }

  /// Runs `body` in a task on the main actor whatever the outcome is, and passes the outcome on when the task is done.
  @discardableResult
  public func ensure(
    on _: MainExecutor, _ body: @escaping @MainActor @Sendable () async -> Void
  ) -> Future {
    completionNode(.ensure, MainExecutor.executor) { outcome in
      .completeUsing(.running(on: .immediate, actor: MainExecutor.executor, passing: outcome) { await body() })
    }
  }

  /// Goes on with the outcome in a task on the main actor: `body` returns a value or nothing.
  @discardableResult
  public func onComplete<U>(
    on _: MainExecutor, _ body: @escaping @MainActor @Sendable (Outcome<Value>) async throws -> U
  ) -> Future<U> {
    completionNode(.onComplete, MainExecutor.executor) { outcome in
      .completeUsing(
        .running(on: .immediate, actor: MainExecutor.executor, askedFirst: nil) { .success(try await body(outcome)) }
      )
    }
  }

  /// Goes on with the outcome in a task on the main actor: `body` returns the future that is waited for next.
  @discardableResult
  public func onComplete<U>(
    on _: MainExecutor, _ body: @escaping @MainActor @Sendable (Outcome<Value>) async throws -> Future<U>
  ) -> Future<U> {
    completionNode(.onComplete, MainExecutor.executor) { outcome in
      .completeUsing(
        .running(
          on: .immediate, actor: MainExecutor.executor, askedFirst: nil
        ) { .completeUsing(try await body(outcome)) })
    }
  }

  /// Goes on with the outcome in a task on the main actor: `body` returns how the future completes.
  @discardableResult
  public func onComplete<U>(
    on _: MainExecutor, _ body: @escaping @MainActor @Sendable (Outcome<Value>) async throws -> Completion<U>
  ) -> Future<U> {
    completionNode(.onComplete, MainExecutor.executor) { outcome in
      .completeUsing(
        .running(
          on: .immediate, actor: MainExecutor.executor, askedFirst: nil
        ) { try await body(outcome) })
    }
  }
}
