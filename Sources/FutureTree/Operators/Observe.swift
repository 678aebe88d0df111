extension Future {
  /// Calls `body` with the outcome, without wanting it.
  ///
  /// ```swift
  /// let observation = upload.observe { outcome in print("upload: \(outcome)") }
  /// observation.remove()
  /// ```
  ///
  /// An observer is no consumer: it keeps nothing from being cancelled, and makes no future.
  ///
  /// - Parameters:
  ///   - executor: where `body` runs.
  ///   - body: is called once, or never if the observation is ended before.
  /// - Returns: a handle with which the observation can be ended. Dropping it ends nothing.
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

  /// The same with a body on the main actor.
  @discardableResult
  public func observe(
    on _: MainExecutor, _ body: @escaping @MainActor @Sendable (Outcome<Value>) -> Void
  ) -> FutureObservation {
    observe(on: MainExecutor.executor) { outcome in MainExecutor.assume { body(outcome) } }
  }
}
