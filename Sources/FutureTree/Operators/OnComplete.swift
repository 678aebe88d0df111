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
  /// `body` returns a future, a `Completion` or an `Outcome`; where the compiler needs to be told, write which. `body` always
  /// runs: also when its future was asked to cancel, and when its branch ends early; then it gets `.cancelled`, and its result
  /// is ignored (law 11). A future that it returns for a cancellation is clean-up, and is not asked to cancel (law 8).
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

  /// Calls `body` with the outcome and the returned future. The body can read from that future whether it was asked to cancel.
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
