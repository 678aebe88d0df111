extension Node {
  /// Waits for the outcome as a consumer. Returns false if the task was cancelled first. Then the future has received a request.
  @usableFromInline final nonisolated(nonsending) func wait(cancellingWith options: CancellationOptions) async -> Bool {
    switch beginAwaiting() {
    case .ended: return true
    case .first: return await waitAsFirst(cancellingWith: options)
    case .listed: break
    }
    let entry = AwaitEntry()
    let hasOutcome = await withTaskCancellationHandler {
      await withUnsafeContinuation { entry.wait(for: self, isConsumer: true, $0) }
    } onCancel: {
      // The runtime may hold a lock of the task here. This code therefore only wakes the task, which then sends the
      // request.
      entry.taskWasCancelled(waitingFor: self)
    }
    acquireEnd()
    if !hasOutcome { stopWaiting(as: entry, cancellingWith: options) }
    return hasOutcome
  }

  private func stopWaiting(as entry: Waiter, cancellingWith options: CancellationOptions) {
    let request = CancelRequest(options: options, reason: "the awaiting task was cancelled")
    CancellationPropagation.run(Signal(node: self, request: request, sender: entry, departure: .leaves))
  }

  /// Waits for the outcome without being a consumer.
  @usableFromInline final nonisolated(nonsending) func waitForOutcome() async {
    let entry = AwaitEntry()
    _ = await withUnsafeContinuation { entry.wait(for: self, isConsumer: false, $0) }
    acquireEnd()
  }

  /// Acquires the lock once, for the thread sanitizer. Resuming a task already orders memory, but with atomics of the Swift
  /// runtime, which the sanitizer does not see on Linux. Without the lock it reports the reads of the outcome as races.
  private func acquireEnd() {
    lock.withLock {}
  }
}

// MARK: - The first task that awaits a source

extension Node {
  private enum Place { case ended, first, listed }

  /// Counts the task as a consumer if it can wait without an entry (`FirstObserver`).
  private func beginAwaiting() -> Place {
    lock.withLock {
      guard state.isPending else { return .ended }
      return state.createdBy.isSource && waiters.isEmpty && state.awaitsFirst() ? .first : .listed
    }
  }

  private nonisolated(nonsending) func waitAsFirst(cancellingWith options: CancellationOptions) async -> Bool {
    let source = unsafeDowncast(self, to: Source.self)
    let hasOutcome = await withTaskCancellationHandler {
      await withUnsafeContinuation { source.wait($0) }
    } onCancel: {
      source.firstTaskWasCancelled()
    }
    acquireEnd()
    guard !hasOutcome else { return true }
    // From here on an entry is counted instead of the task, like that of a token.
    let entry = AwaitEntry()
    lock.withLock { entry.isCounted = state.isPending }
    stopWaiting(as: entry, cancellingWith: options)
    return false
  }
}

extension Source {
  /// Resumes the task with true when there is an outcome, or with false if the task was cancelled first.
  fileprivate func wait(_ continuation: UnsafeContinuation<Bool, Never>) {
    let hasOutcome: Bool? = lock.withLock {
      guard state.isPending else { return true }
      guard observer.words.1 == 0 else { return false }
      observer.initialize(to: continuation, as: UnsafeContinuation<Bool, Never>.self)
      return nil
    }
    if let hasOutcome { continuation.resume(returning: hasOutcome) }
  }

  /// Resumes the task with false, unless the future has ended. Then the continuation belongs to the thread that notifies the
  /// waiters.
  fileprivate func firstTaskWasCancelled() {
    lock.withLock { () -> UnsafeContinuation<Bool, Never>? in
      guard state.isPending else { return nil }
      if observer.words.0 == 0 { observer.words.1 = 1 }
      return takeContinuation()
    }?.resume(returning: false)
  }

  final func resumeFirstTask() {
    lock.withLock { takeContinuation() }?.resume(returning: true)
  }

  /// Called under the lock.
  private func takeContinuation() -> UnsafeContinuation<Bool, Never>? {
    guard observer.words.0 != 0 else { return nil }
    defer { observer.words.0 = 0 }
    return observer.load(as: UnsafeContinuation<Bool, Never>.self)
  }
}

/// An awaiting task in the list of a future. The task is resumed by the thread that takes the continuation under the lock of
/// the pending future, or by the thread that notifies the waiters of the ended future.
private final class AwaitEntry: Waiter, @unchecked Sendable {  // Because: see above.
  @exclusivity(unchecked) private var continuation: UnsafeContinuation<Bool, Never>?
  @exclusivity(unchecked) private var isCancelled = false

  init() {
    super.init { entry, _, _ in
      unsafeDowncast(entry, to: AwaitEntry.self).continuation.take()?.resume(returning: true)
      return false
    }
  }

  /// Resumes the task with true when there is an outcome, or with false if the task was cancelled first.
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

  /// Called under the lock. Returns `nil` before the entry is listed and once the future has ended: the continuation then
  /// belongs to another thread.
  private func takeContinuation(of node: Node) -> UnsafeContinuation<Bool, Never>? {
    node.state.isPending && isListed ? continuation.take() : nil
  }
}
