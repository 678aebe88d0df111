extension Future {
  /// Calls `body` with the outcome, and returns a future that takes its outcome from what `body` returns.
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
  /// `body` always runs, also when its future was asked to cancel. If its branch ends early, `body` receives `.cancelled`,
  /// and its result is ignored. See <doc:Cancellation#Bodies-that-have-not-begun>. A future that `body` returns for a
  /// cancellation is clean-up and is not asked to cancel. See <doc:Cancellation#No-request-is-lost>.
  ///
  /// - Parameters:
  ///   - executor: The executor that runs `body`. Defaults to `.immediate`.
  ///   - body: An error that it throws fails the future; `CancellationError` and `FutureCancelled` cancel it.
  /// - Returns: A consumer of `self`.
  /// - Complexity: O(1).
  @inlinable @discardableResult
  public func onComplete<Next: FutureConvertible>(
    on executor: FutureExecutor = .immediate, _ body: @escaping @Sendable (Outcome<Value>) throws -> Next
  ) -> Future<Next.Output> {
    completionNode(.onComplete, executor) { outcome in try body(outcome).completion }
  }

  /// Calls `body` with the outcome on the main actor, and returns a future that takes its outcome from what `body` returns.
  @discardableResult
  public func onComplete<Next: FutureConvertible>(
    on _: MainExecutor, _ body: @escaping @MainActor @Sendable (Outcome<Value>) throws -> Next
  ) -> Future<Next.Output> {
    onComplete(on: MainExecutor.executor) { outcome in try MainExecutor.assume { try body(outcome) } }
  }

  /// Like `onComplete`, with a body that also receives the returned future. The body can read its `cancelRequest`.
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
