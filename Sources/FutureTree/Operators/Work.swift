extension Future {
  /// Runs `work` on an executor, and returns a future of what it returns.
  ///
  /// ```swift
  /// let digest = Future(on: .global(qos: .utility)) { sha256(of: file) }
  /// ```
  ///
  /// Work that has not begun when the future is asked to cancel does not begin, and the future is `.cancelled` at once.
  /// Work that runs is not interrupted.
  ///
  /// - Parameters:
  ///   - executor: where `work` runs.
  ///   - work: what it throws fails the future; `CancellationError` and `FutureCancelled` cancel it.
  public init(on executor: FutureExecutor, _ work: @escaping @Sendable () throws -> Value) {
    self = Future<Void>.succeeded.mapNode(.work, executor) { try work() }
  }
}
