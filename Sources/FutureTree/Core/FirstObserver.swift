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

/// The first observer of a source, stored in two words of the source instead of an entry in its list.
///
/// Most promises are observed once, soon after they are made. For such a promise, an `Observer` with its heap block and its
/// lock would be a quarter of the cost.
///
/// # Invariants
/// 1. `Source.observer` holds the body of the observer. It holds zeros before the body is stored and after it is taken. The
///    lock of the source guards it, even after the source has ended. The thread that takes the body calls or releases it, once.
/// 2. The storage is used at most once, and only while no waiter is in the list. Therefore this observer is the first in the
///    order of subscription, and a handle identifies one observer.
/// 3. `FutureState.isObserved` is true once the storage was used. It does not change after the source has ended. Therefore,
///    `Trampoline` and `finishEnd` read it without the lock.
/// 4. The observer is not a waiter: it is not in the list, is not a consumer, and does not retain the source. A source that is
///    deallocated while it is pending releases the body.
/// 5. The storage may hold the continuation of an awaiting task instead. That task is a consumer, and
///    `FutureState.isAwaited` is true. While the first word is 0, a 1 in the second word means that the task was cancelled before
///    it waited.
/// 6. A handle has a weak reference to the source, so it keeps no outcome alive.
extension Node {
  /// Stores a closure as the first observer. Returns false, and does nothing, unless this future is a pending source with
  /// unused storage, no waiter and no monitor.
  @inlinable @inline(__always)
  final func observeFirst<Value: Sendable>(_ body: @escaping @Sendable (Outcome<Value>) -> Void) -> Bool {
    var words = ValueStorage()
    words.initialize(to: ObserverBody(call: body), as: ObserverBody<Value>.self)
    if keepObserver(words) { return true }
    words.destroy(as: ObserverBody<Value>.self)
    return false
  }

  @usableFromInline final func keepObserver(_ body: ValueStorage) -> Bool {
    guard state.createdBy.isSource else { return false }
    return lock.withLock {
      guard state.isPending, waiters.isEmpty, state.observesFirst() else { return false }
      unsafeDowncast(self, to: Source.self).observer = body
      return true
    }
  }
}

extension Source {
  /// Takes the first observer, and calls it if the action is `.callObserver`. `Value` is the type of the source's value.
  ///
  /// - Returns: Whether the action was to release the observer, and released it.
  @inlinable @inline(__always)
  final func performObserver<Value: Sendable>(_ action: Action, as type: Value.Type) -> Bool {
    guard let body = takeObserver()?.take(as: ObserverBody<Value>.self) else { return false }
    guard action == .callObserver else { return true }
    body.call(outcome(as: type))
    return false
  }

  @usableFromInline final func takeObserver() -> ValueStorage? {
    lock.withLock {
      guard observer.words.0 != 0 else { return nil }
      defer { observer = ValueStorage() }
      return observer
    }
  }

  /// Removes the observer, unless its body was already taken. Returns whether it was removed.
  @discardableResult
  final func removeObserver() -> Bool {
    step(self, self, .releaseObserver)
  }
}

/// A closure inside a struct. A bare closure would reach generic code, such as `ValueStorage`, wrapped in a second closure.
@usableFromInline
struct ObserverBody<Value: Sendable>: Sendable {
  @usableFromInline let call: @Sendable (Outcome<Value>) -> Void

  @inlinable init(call: @escaping @Sendable (Outcome<Value>) -> Void) {
    self.call = call
  }
}

/// The handle of a first observer.
final class FirstObservation: @unchecked Sendable {  // Because: `source` is written only here and by the runtime.
  private(set) weak var source: Source?

  init(of source: Source) {
    self.source = source
  }
}
