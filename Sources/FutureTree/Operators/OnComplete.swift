extension Future {
  /// Goes on with the outcome, whatever it is: `body` returns what comes of it.
  ///
  /// ```swift
  /// let line = comments.onComplete { outcome in
  ///   switch outcome {
  ///   case .success(let comments): "\(comments.count) comments"
  ///   case .failure(let error): "failed: \(error)"
  ///   case .cancelled(let reason): "cancelled: \(reason)"
  ///   }
  /// }
  /// ```
  ///
  /// `body` always runs: also when its future was asked to cancel, and when its branch ends early; then it gets
  /// `.cancelled` and what it returns is ignored (law 11). A future that it returns for a cancellation is clean-up, and is
  /// not asked to cancel (law 8).
  ///
  /// - Parameters:
  ///   - executor: where `body` runs.
  ///   - body: returns a value, a future or a completion. What it throws fails the future; `CancellationError` and
  ///     `FutureCancelled` cancel it.
  /// - Returns: a consumer of `self`.
  /// - Complexity: O(1).
  @discardableResult
  public func onComplete<U>(
    on executor: FutureExecutor = .immediate, _ body: @escaping @Sendable (Outcome<Value>) throws -> U
  ) -> Future<U> {
    completionNode(.onComplete, executor) { outcome in .success(try body(outcome)) }
  }

  /// Goes on with the outcome: `body` returns the future that is waited for next.
  @discardableResult
  public func onComplete<U>(
    on executor: FutureExecutor = .immediate, _ body: @escaping @Sendable (Outcome<Value>) throws -> Future<U>
  ) -> Future<U> {
    completionNode(.onComplete, executor) { outcome in .completeUsing(try body(outcome)) }
  }

  /// Goes on with the outcome: `body` returns how the future completes.
  @discardableResult
  public func onComplete<U>(
    on executor: FutureExecutor = .immediate, _ body: @escaping @Sendable (Outcome<Value>) throws -> Completion<U>
  ) -> Future<U> {
    completionNode(.onComplete, executor) { outcome in try body(outcome) }
  }
}

// MARK: - On the main actor

extension Future {
  /// Goes on with the outcome on the main actor: `body` returns a value or nothing.
  @discardableResult
  public func onComplete<U>(
    on _: MainExecutor, _ body: @escaping @MainActor @Sendable (Outcome<Value>) throws -> U
  ) -> Future<U> {
    onComplete(on: MainExecutor.executor) { outcome in try MainExecutor.assume { try body(outcome) } }
  }

  /// Goes on with the outcome on the main actor: `body` returns the future that is waited for next.
  @discardableResult
  public func onComplete<U>(
    on _: MainExecutor, _ body: @escaping @MainActor @Sendable (Outcome<Value>) throws -> Future<U>
  ) -> Future<U> {
    onComplete(on: MainExecutor.executor) { outcome in try MainExecutor.assume { try body(outcome) } }
  }

  /// Goes on with the outcome on the main actor: `body` returns how the future completes.
  @discardableResult
  public func onComplete<U>(
    on _: MainExecutor, _ body: @escaping @MainActor @Sendable (Outcome<Value>) throws -> Completion<U>
  ) -> Future<U> {
    onComplete(on: MainExecutor.executor) { outcome in try MainExecutor.assume { try body(outcome) } }
  }
}
