extension Node {
  /// Waits for the outcome as a consumer. Returns false if the task was cancelled first. Then the future has received a request.
  @usableFromInline final nonisolated(nonsending) func wait(cancellingWith options: CancellationOptions) async -> Bool {
    if ending != nil { return true }
    let entry = AwaitEntry()
    let hasOutcome = await withTaskCancellationHandler {
      await withUnsafeContinuation { entry.wait(for: self, isConsumer: true, $0) }
    } onCancel: {
      // The runtime may hold a lock of the task here, so nothing is done but to wake the task, which sends the request.
      entry.taskWasCancelled(waitingFor: self)
    }
    acquireEnd()
    if !hasOutcome {
      let request = CancelRequest(options: options, reason: "the awaiting task was cancelled")
      CancellationPropagation.run(Signal(node: self, request: request, sender: entry, departure: .leaves))
    }
    return hasOutcome
  }

  /// Waits for the outcome without being a consumer.
  @usableFromInline final nonisolated(nonsending) func waitForOutcome() async {
    let entry = AwaitEntry()
    _ = await withUnsafeContinuation { entry.wait(for: self, isConsumer: false, $0) }
    acquireEnd()
  }

  /// Resuming a task orders memory already, but by atomics of Swift's runtime, which the thread sanitizer does not see on Linux. The
  /// lock, which it sees, keeps it from reporting the reads of the outcome as races.
  private func acquireEnd() {
    lock.withLock {}
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
