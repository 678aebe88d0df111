import FutureTree

// For callers that think in completion handlers.

extension HTTPLoader {
  /// Begins to load a request, and calls a handler with what comes of it.
  ///
  /// ```swift
  /// let task = api.load(request, on: .main) { outcome in
  ///   list.show(outcome)
  /// }
  /// task.cancel()
  /// ```
  ///
  /// The handler is called once, always, also when the task is cancelled; perhaps before this returns. It belongs to the
  /// task: a request that stops where others wait does not stop for it. The task's future completes when it has returned.
  ///
  /// - Parameters:
  ///   - request: what to load.
  ///   - executor: where `completion` runs.
  ///   - fileID: the file of the call.
  ///   - line: the line of the call.
  ///   - completion: gets the outcome.
  /// - Returns: the task, which has been started. It may be dropped.
  @discardableResult
  public func load(
    _ request: HTTPRequest, on executor: FutureExecutor = .immediate, fileID: String = #fileID, line: UInt = #line,
    completion: @escaping @Sendable (Outcome<HTTPResponse>) -> Void
  ) -> HTTPTask {
    let task = HTTPTask(request, over: self, fileID: fileID, line: line) { $0.telling(completion, on: executor) }
    task.start()
    return task
  }

  /// The same with a handler on the main actor.
  @discardableResult
  public func load(
    _ request: HTTPRequest, on main: MainExecutor, fileID: String = #fileID, line: UInt = #line,
    completion: @escaping @MainActor @Sendable (Outcome<HTTPResponse>) -> Void
  ) -> HTTPTask {
    let task = HTTPTask(request, over: self, fileID: fileID, line: line) { $0.telling(completion, on: main) }
    task.start()
    return task
  }

  /// Resets the loader, and calls a handler when that is done.
  ///
  /// ```swift
  /// api.reset(on: .main) { _ in
  ///   window.show(.signIn)
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - executor: where `completion` runs.
  ///   - completion: is called once, with a failure if a part of the chain could not be reset.
  /// - Returns: a future that completes when the handler has returned.
  @discardableResult
  public func reset(
    on executor: FutureExecutor = .immediate, completion: @escaping @Sendable (Outcome<Void>) -> Void
  ) -> Future<Void> {
    reset().telling(completion, on: executor)
  }

  /// The same with a handler on the main actor.
  @discardableResult
  public func reset(
    on main: MainExecutor, completion: @escaping @MainActor @Sendable (Outcome<Void>) -> Void
  ) -> Future<Void> {
    reset().telling(completion, on: main)
  }
}

extension Future {
  /// The same outcome, when a handler has heard of it.
  fileprivate func telling(
    _ completion: @escaping @Sendable (Outcome<Value>) -> Void, on executor: FutureExecutor
  ) -> Future {
    onComplete(on: executor) { outcome -> Completion<Value> in
      completion(outcome)
      return Completion(outcome)
    }
  }

  fileprivate func telling(
    _ completion: @escaping @MainActor @Sendable (Outcome<Value>) -> Void, on main: MainExecutor
  ) -> Future {
    onComplete(on: main) { outcome -> Completion<Value> in
      completion(outcome)
      return Completion(outcome)
    }
  }
}
