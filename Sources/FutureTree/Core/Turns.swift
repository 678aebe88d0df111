/// The turns of a derived future. `FutureState` decides the transition, and the step does the typed work.
extension Node {
  /// The cause of a turn outside the loop that notifies waiters. An entry that is not a future only gets `upstreamEnded`.
  enum Turn {
    /// The future that the entry waits for has ended.
    case upstreamEnded
    /// An executor has begun the job of its body.
    case bodyBegins
    /// An executor has dropped that job.
    case bodyDropped
    /// The future ended early and still has its body.
    case endedEarly
  }

  /// Returns whether this future has ended in the turn.
  final func take(_ turn: Turn, of upstream: Node) -> Bool {
    switch turn {
    case .upstreamEnded: return upstreamEnded(upstream)
    case .bodyBegins: return beginBody(upstream)
    case .bodyDropped: return dropBody()
    case .endedEarly:
      endBody()
      return false
    }
  }

  /// Reacts to the end of the future that this one waits for. Runs the body at once in the most frequent case, and calls
  /// `upstreamEndedOtherwise` in every other case.
  @inline(__always) final func upstreamEnded(_ upstream: Node, hasSucceeded: Bool) -> Bool {
    if hasSucceeded, state.createdBy.runsBody(on: .succeeded), beginsAtOnce() { return step(self, upstream, .run) }
    return upstreamEndedOtherwise(upstream)
  }

  /// Reacts to the end of `upstream` in the other frequent cases. Calls `upstreamEnded(_:)` in every other case.
  @inline(never) private func upstreamEndedOtherwise(_ upstream: Node) -> Bool {
    let ending = upstream.endingOnceEnded
    if state.createdBy.runsBody(on: ending) {
      if beginsAtOnce() { return step(self, upstream, .run) }
    } else if passesAtOnce(upstream, ending) {
      _ = step(self, upstream, .releaseBody)
      return true
    } else if upstream.ownsValue, !state.createdBy.isSource, !state.createdBy.isJoin {
      return step(self, upstream, .passValue)
    }
    return upstreamEnded(upstream)
  }

  /// Begins the body if no request was received and this future has no `details`, so no executor. Returns false, and does
  /// nothing, in every other case.
  ///
  /// Checks `isPending` first. A mutating call on the state of an ended future would race with threads that read the state
  /// without the lock.
  @inline(__always) private func beginsAtOnce() -> Bool {
    lock.withLock {
      guard state.isPending, !hasDetails, state.beginsAtOnce() else { return false }
      upstream = nil
      return true
    }
  }

  /// Ends as `upstream` did, because the operator does not run its body then. Returns false, and does nothing, in every other
  /// case, and if only the step can copy the value.
  @inline(__always) private func passesAtOnce(_ upstream: Node, _ ending: Ending) -> Bool {
    lock.withLock {
      guard !upstream.ownsValue, state.passesAtOnce() else { return false }
      return endLocked(as: upstream)
    }
  }

  @inline(never) private func upstreamEnded(_ upstream: Node) -> Bool {
    let ending = upstream.endingOnceEnded
    let start = lock.withLock {
      guard state.isPending else { return FutureState.Start.gone }
      let start = state.upstreamEnded(ending, hasExecutor: hasExecutor)
      // While the body is queued, its job retains upstream: `recover` may still pass the failure on. Law 11 (bodies that have
      // not begun).
      if start != .gone { self.upstream = start == .queues ? Unmanaged.passUnretained(upstream) : nil }
      return start
    }
    switch start {
    case .gone:
      return false
    case .runs:
      return step(self, upstream, .run)
    case .queues:
      QueuedBody.submit(self, upstream: upstream)
      return false
    case .cancels:
      let hasEnded = cancel(.unspecified)
      _ = step(self, upstream, .releaseBody)
      return hasEnded
    case .passes:
      let hasPassed = ending == .succeeded ? step(self, upstream, .passValue) : pass(upstream)
      if !hasPassed {
        endBody()  // The future ended early meanwhile.
      } else if ending != .succeeded {
        _ = step(self, upstream, .releaseBody)
      }
      return hasPassed
    }
  }

  private func beginBody(_ upstream: Node) -> Bool {
    let begins = lock.withLock {
      guard state.isPending, state.bodyBegins() else { return false }
      self.upstream = nil
      return true
    }
    if begins { return step(self, upstream, .run) }
    if state.createdBy.runsBodyWhenEndedEarly { _ = step(self, self, .run) }
    return false
  }

  /// Fails with `DroppedJob`. By invariant 2 of `FutureState`, a future that had ended still has its body only if the body must
  /// run.
  private func dropBody() -> Bool {
    let hasEnded = fail(DroppedJob())
    if hasEnded || state.createdBy.runsBodyWhenEndedEarly { _ = step(self, self, .releaseBody) }
    return hasEnded
  }

  /// Releases the body of a future that has ended early. If the operator also runs the body in that case, it runs when the
  /// current callback of this thread has returned.
  final func endBodySoon() {
    if state.createdBy.runsBodyWhenEndedEarly {
      Trampoline.turn(of: self, upstream: self, .endedEarly)
    } else {
      _ = step(self, self, .releaseBody)
    }
  }

  /// Runs or releases the body of this future, which has ended early.
  private func endBody() {
    if !state.createdBy.runsBodyWhenEndedEarly {
      _ = step(self, self, .releaseBody)
    } else if lock.withLock({ hasExecutor }) {
      QueuedBody.submit(self, upstream: self)
    } else {
      _ = step(self, self, .run)
    }
  }

  /// Called under the lock.
  private var hasExecutor: Bool { details?.executor.isImmediate == false }

  /// The executor of the body.
  fileprivate final var executor: FutureExecutor { lock.withLock { details?.executor } ?? .immediate }

  /// Performs the step of a future whose value has the type `Output`, except for the action `run`.
  @inlinable @inline(__always) final func perform<Output: Sendable>(
    _ action: Action, with upstream: Node, as type: Output.Type, releaseBody: () -> Void = {}
  ) -> Bool {
    switch action {
    case .run, .callObserver, .releaseObserver:
      break
    case .passValue:
      guard succeed(upstream.value(as: type)) else { return false }
      releaseBody()
      return true
    case .releaseBody:
      releaseBody()
    case .destroyValue:
      storage.destroy(as: type)
    }
    return false
  }
}

/// A body that an executor has queued. If the executor drops it, its future fails instead of hanging.
private final class QueuedBody: @unchecked Sendable {  // Because: `node` belongs to the thread that runs the job.
  /// `nil` once the body has begun.
  private var node: Node?
  private let upstream: Node

  private init(node: Node, upstream: Node) {
    self.node = node
    self.upstream = upstream
  }

  static func submit(_ node: Node, upstream: Node) {
    let executor = node.executor
    let job = QueuedBody(node: node, upstream: upstream)
    executor.run { job.run() }
  }

  private func run() {
    // No variable retains the node, so that it can be bypassed after its turn (`Node.linkOrBypass`).
    guard let entry = node.take().map({ Unmanaged.passRetained($0 as Waiter) }) else { return }
    // The turn is taken now, even inside a callback: a body must run inside the job that its executor gave it.
    Trampoline.turnNow(of: entry, upstream: upstream, .bodyBegins)
  }

  deinit {
    if let node { Trampoline.turn(of: node, upstream: upstream, .bodyDropped) }
  }
}

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
    if state.createdBy.isJoin || state.isRare { endRare() }
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
    if state.isRare { finishRareEnd() }
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
