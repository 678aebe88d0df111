extension Future {
  /// The value, once it is there.
  ///
  /// ```swift
  /// let user = try await api.user(1).value
  /// ```
  ///
  /// The task is a consumer while it waits. When the task is cancelled, the wait ends at once with `CancellationError`, and
  /// the task's interest is withdrawn with a request to cancel that stops where others wait (law 14). A future that has
  /// completed returns its value also in a cancelled task.
  ///
  /// - Throws: the error of a failure; `FutureCancelled`, with the reason, if the future was cancelled; and
  ///   `CancellationError` if the awaiting task was.
  @inlinable public nonisolated(nonsending) var value: Value {
    get async throws {
      guard await node.wait(cancellingWith: .doNotForwardIfOthersWaiting) else { throw CancellationError() }
      return try node.outcome(as: Value.self).get()
    }
  }

  /// The value, once it is there; when the task is cancelled, the future is asked to cancel with these options.
  ///
  /// ```swift
  /// let page = try await download.value(cancellingWith: [], waitingForOutcome: true)
  /// ```
  ///
  /// - Parameters:
  ///   - options: how far the request of a cancelled task goes.
  ///   - waitingForOutcome: whether a cancelled task still waits for the outcome, and returns or throws that.
  public nonisolated(nonsending) func value(
    cancellingWith options: CancellationOptions, waitingForOutcome: Bool = false
  ) async throws -> Value {
    if await !node.wait(cancellingWith: options) {
      guard waitingForOutcome else { throw CancellationError() }
      await node.waitForOutcome()
    }
    return try node.outcome(as: Value.self).get()
  }

  /// The outcome, once it is there.
  ///
  /// When the awaiting task is cancelled, its interest is withdrawn with a request that stops where others wait, as for
  /// `value`; it cannot throw, so it goes on waiting.
  @inlinable public nonisolated(nonsending) var outcome: Outcome<Value> {
    get async {
      if await !node.wait(cancellingWith: .doNotForwardIfOthersWaiting) { await node.waitForOutcome() }
      return node.outcome(as: Value.self)
    }
  }
}

extension Node {
  /// Waits for the outcome as a consumer. Returns false if the task was cancelled before; then the future was asked.
  @usableFromInline final nonisolated(nonsending) func wait(cancellingWith options: CancellationOptions) async -> Bool {
    if ending != nil { return true }
    let entry = AwaitEntry()
    let hasOutcome = await withTaskCancellationHandler {
      await withUnsafeContinuation { entry.wait(for: self, isConsumer: true, $0) }
    } onCancel: {
      // The runtime may hold a lock of the task here, so nothing is done but to wake the task: it asks.
      entry.taskWasCancelled(waitingFor: self)
    }
    if !hasOutcome {
      let request = CancelRequest(options: options, reason: "the awaiting task was cancelled")
      _ = Wave.run(Wave.Arrival(node: self, request: request, asker: entry, departure: .leaves))
    }
    return hasOutcome
  }

  /// Waits for the outcome without wanting it.
  @usableFromInline final nonisolated(nonsending) func waitForOutcome() async {
    let entry = AwaitEntry()
    _ = await withUnsafeContinuation { entry.wait(for: self, isConsumer: false, $0) }
  }
}

/// An awaiting task in the list of a future. Whoever takes its continuation under the lock of the pending future, or tells
/// the waiters of the future that has ended, resumes the task.
private final class AwaitEntry: Waiter, @unchecked Sendable {  // Because: see above.
  @exclusivity(unchecked) private var continuation: UnsafeContinuation<Bool, Never>?
  @exclusivity(unchecked) private var isCancelled = false

  init() {
    super.init { entry, _, _ in
      unsafeDowncast(entry, to: AwaitEntry.self).continuation.take()?.resume(returning: true)
      return false
    }
  }

  /// The task is resumed with true when there is an outcome, and with false if it was cancelled before.
  func wait(for node: Node, isConsumer: Bool, _ continuation: UnsafeContinuation<Bool, Never>) {
    self.continuation = continuation
    guard node.attach(self, isConsumer: isConsumer) else {
      self.continuation = nil
      return continuation.resume(returning: true)
    }
    node.lock.withLock { isCancelled ? takeContinuation(of: node) : nil }?.resume(returning: false)
  }

  func taskWasCancelled(waitingFor node: Node) {
    node.lock.withLock {
      isCancelled = true
      return takeContinuation(of: node)
    }?.resume(returning: false)
  }

  /// Called under the lock. Before the entry is listed, and once the future has ended, the continuation is not ours.
  private func takeContinuation(of node: Node) -> UnsafeContinuation<Bool, Never>? {
    node.state.isPending && isListed ? continuation.take() : nil
  }
}
