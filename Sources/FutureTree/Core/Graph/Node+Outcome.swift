/// How a future ends, and its outcome.
extension Node {
  /// Whether this future has a value.
  @usableFromInline final var hasSucceeded: Bool { lock.withLock { state.phase == .succeeded } }

  /// How this future ended, or `nil` while it is pending.
  @usableFromInline final var ending: Ending? { lock.withLock { state.ending } }

  /// - Precondition: The future succeeded, and `type` is the type of its value.
  @inlinable final func value<Value>(as type: Value.Type) -> Value { load(as: type) }

  /// - Precondition: The future failed.
  @usableFromInline final var error: any Error { load(as: (any Error).self) }

  /// - Precondition: The future was cancelled.
  @usableFromInline final var cancellationReason: CancellationReason { load(as: CancellationReason.self) }

  /// Copies the stored outcome. The compiler does not know that the bits are a reference that this future owns. Without the
  /// extended lifetime, it may release the future, and the referenced object with it, between reading the bits and retaining
  /// the copy.
  @inlinable @inline(__always) final func load<Stored>(as type: Stored.Type) -> Stored {
    withExtendedLifetime(self) { storage.load(as: type) }
  }

  /// - Precondition: The future has ended, and `type` is the type of its value.
  @inlinable final func outcome<Value: Sendable>(as type: Value.Type) -> Outcome<Value> {
    switch endingOnceEnded {
    case .succeeded: .success(value(as: type))
    case .failed: .failure(error)
    case .cancelled: .cancelled(cancellationReason)
    }
  }

  @usableFromInline final var endingOnceEnded: Ending {
    guard let ending = state.ending else {
      preconditionFailure("The outcome of a future was read before the future had completed.")
    }
    return ending
  }

  /// Ends with a value. Returns false if the future had ended.
  @inlinable final func succeed<Value: Sendable>(_ value: Value, byPromise: Bool = false) -> Bool {
    if let bits = ValueStorage(bitsOf: value) { return succeed(with: bits, byPromise: byPromise) }
    return succeed(byPromise: byPromise) { $0.initialize(to: value, as: Value.self) }
  }

  /// Performs the untyped part of `succeed`. `store` runs under the lock and writes the value.
  @usableFromInline final func succeed(byPromise: Bool, store: (inout ValueStorage) -> Void) -> Bool {
    lock.withLock {
      guard end(.succeeded, byPromise: byPromise, store: store) else { return false }
      ownsValue = true
      return true
    }
  }

  /// Performs `succeed` for a value that is plain bits.
  @usableFromInline final func succeed(with bits: ValueStorage, byPromise: Bool) -> Bool {
    lock.withLock { end(.succeeded, byPromise: byPromise) { $0 = bits } }
  }

  /// Ends with an error.
  @usableFromInline final func fail(_ error: any Error, byPromise: Bool = false) -> Bool {
    lock.withLock { end(.failed, storing: error, as: (any Error).self, byPromise: byPromise) }
  }

  /// Ends with the error that a body threw. Errors that mean a cancellation end the future `.cancelled`. Law 15 (a task as a
  /// source).
  @usableFromInline final func fail(throwing error: any Error) -> Bool {
    if let cancelled = error as? FutureCancelled { return cancel(cancelled.reason) }
    return error is CancellationError ? cancel(.unspecified) : fail(error)
  }

  /// Ends as `.cancelled`. An unspecified reason is replaced by the reason for the strongest request.
  @usableFromInline final func cancel(_ reason: CancellationReason, byPromise: Bool = false) -> Bool {
    lock.withLock { end(.cancelled, storing: actualReason(reason), as: CancellationReason.self, byPromise: byPromise) }
  }

  /// Ends as `upstream` did.
  @inlinable final func pass<Value: Sendable>(_ upstream: Node, as type: Value.Type) -> Bool {
    upstream.endingOnceEnded == .succeeded ? succeed(upstream.value(as: type)) : pass(upstream)
  }

  /// Ends as `upstream` did, which has not succeeded.
  @usableFromInline final func pass(_ upstream: Node) -> Bool {
    lock.withLock { endLocked(as: upstream) }
  }

  /// Ends as `upstream` did. Its value, if any, is plain bits. Called under the lock.
  func endLocked(as upstream: Node) -> Bool {
    switch upstream.state.ending {
    case .failed: end(.failed) { $0.initialize(to: upstream.error, as: (any Error).self) }
    case .cancelled: end(.cancelled) { $0.initialize(to: upstream.cancellationReason, as: CancellationReason.self) }
    case .succeeded where !upstream.ownsValue: end(.succeeded) { $0 = upstream.storage }
    case .succeeded, nil: preconditionFailure("\(#function): only the typed step can forward this value")
    }
  }

  /// Ends with an outcome. Called under the lock.
  func endLocked<Value: Sendable>(with outcome: Outcome<Value>) -> Bool {
    switch outcome {
    case .success(let value): endLocked(succeeding: value)
    case .failure(let error): endLocked(failing: error)
    case .cancelled(let reason): endLocked(cancelled: reason)
    }
  }

  /// Ends with a value. Called under the lock.
  func endLocked<Value: Sendable>(succeeding value: Value) -> Bool {
    guard end(.succeeded, storing: value, as: Value.self) else { return false }
    ownsValue = true
    return true
  }

  /// Ends with an error. Called under the lock.
  func endLocked(failing error: any Error) -> Bool {
    end(.failed, storing: error, as: (any Error).self)
  }

  /// Ends as `.cancelled`, with the reason as it is. Called under the lock.
  func endLocked(cancelled reason: CancellationReason) -> Bool {
    end(.cancelled, storing: reason, as: CancellationReason.self)
  }

  /// Ends as `.cancelled` early. Called under the lock.
  func endCancelled(_ reason: CancellationReason) -> Bool {
    end(.cancelled, storing: actualReason(reason), as: CancellationReason.self)
  }

  /// Ends with a stored value of the given type. The type is a parameter because the compiler would open an `any Error` and
  /// store its content.
  private func end<Stored>(
    _ ending: Ending, storing stored: Stored, as type: Stored.Type, byPromise: Bool = false
  ) -> Bool {
    end(ending, byPromise: byPromise) { $0.initialize(to: stored, as: type) }
  }

  @inline(__always)
  final func end(_ ending: Ending, byPromise: Bool = false, store: (inout ValueStorage) -> Void) -> Bool {
    guard state.isPending, state.end(ending, byPromise: byPromise) else { return false }
    lock.pointInside()
    store(&storage)
    if state.createdBy.isJoin || state.isWatched { endRare() }
    return true
  }

  @inline(never)
  private func endRare() {
    forgetInputs()
    _ = report(.ends)
  }

  @inline(never)
  private func finishRareEnd() {
    if state.lingers { finishLingering() }
    lock.withLock { details?.monitor }?.finishEnd(of: self)
  }

  private func actualReason(_ reason: CancellationReason) -> CancellationReason {
    reason.isUnspecified ? state.requests.asked?.reason ?? reason : reason
  }

  /// Reports the end to the monitor, if there is one. Returns whether there are waiters to notify. Called only by the thread
  /// that ended this future.
  @inline(__always)
  func finishEnd() -> Bool {
    if state.isWatched { finishRareEnd() }
    return !waiters.isEmpty || state.isObserved
  }

  @inline(never)
  func callFirstObserver() {
    guard !state.isAwaited else { return unsafeDowncast(self, to: Source.self).resumeFirstTask() }
    _ = step(self, self, .callObserver)
  }

  /// Takes the next waiter of a future that has ended, with the reference that the list owned. Called only by the trampoline
  /// that notifies the waiters.
  @inline(__always)
  func takeWaiter() -> Unmanaged<Waiter>? {
    lock.pointWithout()
    return waiters.takeFirst()
  }
}
