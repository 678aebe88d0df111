extension Future {
  /// Calls `body` with the outcome, without wanting it.
  ///
  /// ```swift
  /// let observation = upload.observe { outcome in print("upload: \(outcome)") }
  /// observation.end()
  /// ```
  ///
  /// An observer is no consumer: it keeps nothing from being cancelled, and makes no future.
  ///
  /// - Parameters:
  ///   - executor: where `body` runs.
  ///   - body: is called once, or never if the observation is ended before.
  /// - Returns: a handle with which the observation can be ended. Dropping it ends nothing.
  /// - Complexity: O(1).
  @discardableResult
  public func observe(
    on executor: FutureExecutor = .immediate, _ body: @escaping @Sendable (Outcome<Value>) -> Void
  ) -> Observation {
    let observer = Observer<Value>(on: executor, body)
    if !node.attach(observer, isConsumer: false) { Trampoline.turn(of: observer, upstream: node, .upstreamEnded) }
    return Observation(node: node, observer: observer)
  }

  /// The same with a body on the main actor.
  @discardableResult
  public func observe(
    on _: MainExecutor, _ body: @escaping @MainActor @Sendable (Outcome<Value>) -> Void
  ) -> Observation {
    observe(on: MainExecutor.executor) { outcome in MainExecutor.assume { body(outcome) } }
  }
}

/// What `observe` adds to the list of a future.
private final class Observer<Value: Sendable>: Waiter, @unchecked Sendable {  // Because: its constants are Sendable.
  private let executor: FutureExecutor
  private let body: @Sendable (Outcome<Value>) -> Void

  init(on executor: FutureExecutor, _ body: @escaping @Sendable (Outcome<Value>) -> Void) {
    self.executor = executor
    self.body = body
    super.init { entry, upstream, _ in
      let observer = unsafeDowncast(entry, to: Observer<Value>.self)
      let (body, outcome) = (observer.body, upstream.outcome(as: Value.self))
      if observer.executor.isImmediate { body(outcome) } else { observer.executor.run { body(outcome) } }
      return false
    }
  }
}
