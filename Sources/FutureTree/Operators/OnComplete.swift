extension Future {
  /// Calls `body` with the outcome, and returns a future that takes its outcome from the completion that `body` returns.
  ///
  /// ```swift
  /// let line = comments.onComplete { outcome in
  ///   switch outcome {
  ///   case .success(let comments): .success("\(comments.count) comments")
  ///   case .failure(let error): .success("failed: \(error)")
  ///   case .cancelled(let reason): .success("cancelled: \(reason)")
  ///   }
  /// }
  /// ```
  ///
  /// `body` returns `.success(value)`, `.failure(error)`, `.cancelled(reason)`, or `.completeUsing(future)` to continue with
  /// another future. `Completion(outcome)` passes the outcome.
  ///
  /// `body` always runs, even if its future was asked to cancel. If its branch completes early, `body` receives
  /// `.cancelled`, and its result is ignored. See <doc:Cancellation#Bodies-that-have-not-begun>. A future that `body`
  /// returns after a cancellation is cleanup work, and is not asked to cancel. See
  /// <doc:Cancellation#No-request-is-lost>.
  ///
  /// - Parameters:
  ///   - executor: The executor that runs `body`. Defaults to `.immediate`.
  ///   - body: The closure to call. If it throws, the future fails with the error. If it throws `CancellationError` or
  ///     `FutureCancelled`, the future is cancelled.
  /// - Returns: A future that is a consumer of `self`.
  /// - Complexity: O(1).
  @inlinable @discardableResult
  public func onComplete<U>(
    on executor: FutureExecutor = .immediate, _ body: @escaping @Sendable (Outcome<Value>) throws -> Completion<U>
  ) -> Future<U> {
    completionNode(.onComplete, executor, body)
  }

  /// Calls `body` with the outcome on the main actor, and returns a future that takes its outcome from the completion that
  /// `body` returns.
  @discardableResult
  public func onComplete<U>(
    on _: MainExecutor, _ body: @escaping @MainActor @Sendable (Outcome<Value>) throws -> Completion<U>
  ) -> Future<U> {
    completionNode(.onComplete, MainExecutor.executor) { outcome in try MainExecutor.assume { try body(outcome) } }
  }

  /// Behaves like `onComplete`, with a body that also receives the returned future. The body can read its
  /// `cancelRequest`.
  @inlinable package func completed<U>(
    _ body: @escaping @Sendable (_ outcome: Outcome<Value>, _ future: Future<U>) throws -> Completion<U>
  ) -> Future<U> {
    bodyNode(.onComplete, .immediate) { node, upstream in
      let outcome = upstream.outcome(as: Value.self)
      let completion = try body(outcome, Future<U>(node: node))
      return completion.resolve(node, innerRole: outcome.ending == .cancelled ? .cleanUp : .work)
    }
  }
}
