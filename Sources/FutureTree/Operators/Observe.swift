extension Future {
  /// Calls `body` with the outcome, without becoming a consumer.
  ///
  /// ```swift
  /// let observation = upload.observe { outcome in print("upload: \(outcome)") }
  /// observation.remove()
  /// ```
  ///
  /// An observer has no interest in the value: it withholds no request. The call derives no future.
  ///
  /// - Parameters:
  ///   - executor: The executor that runs `body`. Defaults to `.immediate`.
  ///   - body: A closure that is called once, or never if the observation is removed first.
  /// - Returns: A handle that removes the observation. Dropping the handle removes nothing.
  /// - Complexity: O(1).
  @inlinable @inline(__always) @discardableResult
  public func observe(
    on executor: FutureExecutor = .immediate, _ body: @escaping @Sendable (Outcome<Value>) -> Void
  ) -> FutureObservation {
    guard executor.isImmediate, node.observeFirst(body) else { return observeListed(on: executor, body) }
    return .ofFirstObserver(of: node)
  }

  @inlinable @inline(never)
  func observeListed(
    on executor: FutureExecutor, _ body: @escaping @Sendable (Outcome<Value>) -> Void
  ) -> FutureObservation {
    FutureObservation(observer: OutcomeObserver(of: node, on: executor, body))
  }

  /// Calls `body` with the outcome on the main actor, without becoming a consumer.
  @discardableResult
  public func observe(
    on _: MainExecutor, _ body: @escaping @MainActor @Sendable (Outcome<Value>) -> Void
  ) -> FutureObservation {
    observe(on: MainExecutor.executor) { outcome in MainExecutor.assume { body(outcome) } }
  }
}
