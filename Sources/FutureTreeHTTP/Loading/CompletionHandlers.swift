import FutureTree

// Functions for callers that use completion handlers.

extension HTTPLoader {
  /// Begins to load a request and calls a completion handler with the outcome.
  ///
  /// ```swift
  /// let task = api.load(request, on: .main) { outcome in
  ///   list.show(outcome)
  /// }
  /// task.cancel()
  /// ```
  ///
  /// The handler is always called exactly once, even if the task is cancelled. It may be called before this method
  /// returns. The handler belongs to the task: it is not a separate consumer, so it does not withhold a request with
  /// `.doNotForwardIfOthersWaiting`. The task's future completes when the handler has returned.
  ///
  /// - Parameters:
  ///   - request: The request to load.
  ///   - executor: The executor of `completion`. By default, it runs where the load completes.
  ///   - fileID: The file of the call.
  ///   - line: The line of the call.
  ///   - completion: A closure that receives the outcome.
  /// - Returns: The task, already started. You do not have to keep a reference to it.
  @discardableResult
  public func load(
    _ request: HTTPRequest, on executor: FutureExecutor = .immediate, fileID: String = #fileID, line: UInt = #line,
    completion: @escaping @Sendable (Outcome<HTTPResponse>) -> Void
  ) -> HTTPTask {
    let task = HTTPTask(request, over: self, fileID: fileID, line: line) { $0.telling(completion, on: executor) }
    task.start()
    return task
  }

  /// Begins to load a request and calls a completion handler on the main actor.
  @discardableResult
  public func load(
    _ request: HTTPRequest, on main: MainExecutor, fileID: String = #fileID, line: UInt = #line,
    completion: @escaping @MainActor @Sendable (Outcome<HTTPResponse>) -> Void
  ) -> HTTPTask {
    let task = HTTPTask(request, over: self, fileID: fileID, line: line) { $0.telling(completion, on: main) }
    task.start()
    return task
  }

  /// Resets the loader and calls a completion handler when the reset has finished.
  ///
  /// ```swift
  /// api.reset(on: .main) { _ in
  ///   window.show(.signIn)
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - executor: The executor of `completion`. By default, it runs where the reset completes.
  ///   - completion: A closure that receives the outcome. It is called once, with a failure if a part of the chain
  ///     could not be reset.
  /// - Returns: A future that completes when the handler has returned.
  @discardableResult
  public func reset(
    on executor: FutureExecutor = .immediate, completion: @escaping @Sendable (Outcome<Void>) -> Void
  ) -> Future<Void> {
    reset().telling(completion, on: executor)
  }

  /// Resets the loader and calls a completion handler on the main actor.
  @discardableResult
  public func reset(
    on main: MainExecutor, completion: @escaping @MainActor @Sendable (Outcome<Void>) -> Void
  ) -> Future<Void> {
    reset().telling(completion, on: main)
  }
}

extension Future {
  /// Returns a future with the same outcome that completes after the handler has returned.
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
