extension Future {
  /// Calls `body` with the outcome, and returns a future that takes its outcome from the result of `body`.
  ///
  /// ```swift
  /// let line = comments.onComplete { outcome -> Outcome<String> in
  ///   switch outcome {
  ///   case .success(let comments): .success("\(comments.count) comments")
  ///   case .failure(let error): .success("failed: \(error)")
  ///   case .cancelled(let reason): .success("cancelled: \(reason)")
  ///   }
  /// }
  /// ```
  ///
  /// `body` returns a future, a `Completion` or an `Outcome`. If the compiler cannot infer which, write the result type.
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
  public func onComplete<Next: FutureConvertible>(
    on executor: FutureExecutor = .immediate, _ body: @escaping @Sendable (Outcome<Value>) throws -> Next
  ) -> Future<Next.Output> {
    completionNode(.onComplete, executor) { outcome in try body(outcome).completion }
  }

  /// Calls `body` with the outcome on the main actor, and returns a future that takes its outcome from the result of
  /// `body`.
  @discardableResult
  public func onComplete<Next: FutureConvertible>(
    on _: MainExecutor, _ body: @escaping @MainActor @Sendable (Outcome<Value>) throws -> Next
  ) -> Future<Next.Output> {
    onComplete(on: MainExecutor.executor) { outcome in try MainExecutor.assume { try body(outcome) } }
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
