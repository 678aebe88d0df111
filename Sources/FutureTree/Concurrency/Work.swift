extension Future {
  /// Runs `work` on an executor, and completes with the value that it returns.
  ///
  /// ```swift
  /// let digest = Future { sha256(of: file) }
  /// ```
  ///
  /// Work that has not begun when the future is asked to cancel does not begin, and the future completes as `.cancelled` at
  /// once. Work that is running is not interrupted.
  ///
  /// - Parameters:
  ///   - executor: The executor that runs `work`. Defaults to `.global()`, so that the caller is not blocked.
  ///   - work: The closure to call. If it throws, the future fails with the error. If it throws `CancellationError` or
  ///     `FutureCancelled`, the future is cancelled.
  public init(on executor: FutureExecutor = .global(), _ work: @escaping @Sendable () throws -> Value) {
    self = Future<Void>.succeeded.mapNode(.work, executor) { try work() }
  }

  /// Begins the work of one item or attempt of an operator.
  ///
  /// - Parameters:
  ///   - isOver: Returns whether the operator has completed while the body was queued. The body is not called then.
  ///   - body: Returns the future of the work.
  static func work(
    on executor: FutureExecutor, unless isOver: @escaping @Sendable () -> Bool,
    _ body: @escaping @Sendable () throws -> Future
  ) -> Future {
    Future<Void>.succeeded.flatMapNode(.work, executor) { _ in
      if isOver() { throw CancellationError() }
      return try body()
    }
  }

  /// Runs `work` on the main actor, and completes with the value that it returns.
  public init(on _: MainExecutor, _ work: @escaping @MainActor @Sendable () throws -> Value) {
    self.init(on: MainExecutor.executor) { try MainExecutor.assume { try work() } }
  }
}
