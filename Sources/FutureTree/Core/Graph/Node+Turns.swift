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
