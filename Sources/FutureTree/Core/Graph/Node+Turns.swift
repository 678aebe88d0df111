/// The part of a turn that every operator shares.
extension Node {
  /// What is left for the typed code of an operator to do in its turn.
  @usableFromInline
  enum Duty {
    case nothing
    /// The body is not needed any more; whether this future has ended just now.
    case releaseBody(hasEnded: Bool)
    /// This future succeeds with the value of upstream.
    case passValue
    /// The body gets the outcome of upstream.
    case runBody
    /// The body gets this future's own outcome, `.cancelled`, and what it returns is ignored.
    case runBodyWithOwnOutcome
    case destroyValue
  }

  /// Takes a turn: the typed code passes what only it can do.
  ///
  /// - Parameters:
  ///   - release: lets go of the body.
  ///   - run: runs the body with the outcome of a future, and returns whether this future has ended by that.
  @usableFromInline
  final func take<Output: Sendable>(
    _ turn: Turn, of upstream: Node, as type: Output.Type, release: () -> Void, run: (_ outcomeOf: Node) -> Bool
  ) -> Bool {
    switch duty(in: turn, of: upstream) {
    case .nothing:
      return false
    case .releaseBody(let hasEnded):
      release()
      return hasEnded
    case .passValue:
      if succeed(upstream.value(as: type)) {
        release()
        return true
      }
      return take(.endedEarly, of: upstream, release: release, run: run)
    case .runBody:
      return run(upstream)
    case .runBodyWithOwnOutcome:
      _ = run(self)
      return false
    case .destroyValue:
      return destroyValue(as: type)
    }
  }

  /// It ended early while it was about to pass on a value.
  @usableFromInline
  final func take(_ turn: Turn, of upstream: Node, release: () -> Void, run: (_ outcomeOf: Node) -> Bool) -> Bool {
    switch duty(in: turn, of: upstream) {
    case .runBodyWithOwnOutcome: _ = run(self)
    case .releaseBody: release()
    case .nothing, .passValue, .runBody, .destroyValue: break
    }
    return false
  }

  /// Upstream succeeded: whether the body runs now, in the common case that nothing was asked and there is no executor. In
  /// any other, nothing has happened yet, and `duty` decides.
  @inline(__always) final func beginsAtOnce() -> Bool {
    lock.withLock {
      guard state.isPending, details == nil, state.beginsAtOnce() else { return false }
      self.upstream = nil
      return true
    }
  }

  /// Upstream did not succeed: whether this ends as it did, in the common case that its body has nothing to say about that. In
  /// any other, nothing has happened yet, and `duty` decides.
  @inline(__always) final func passesAtOnce(_ upstream: Node, _ ending: Ending) -> Bool {
    lock.withLock {
      guard state.passesAtOnce(ending) else { return false }
      return endLocked(as: upstream)
    }
  }

  @usableFromInline final func duty(in turn: Turn, of upstream: Node) -> Duty {
    switch turn {
    case .runsBody: return .runBody
    case .hasPassed: return .releaseBody(hasEnded: true)
    case .upstreamEnded: return start(after: upstream)
    case .bodyBegins: return begin()
    case .endedEarly: return endBody()
    case .bodyDropped: return dropBody()
    case .destroyValue: return .destroyValue
    }
  }

  private func start(after upstream: Node) -> Duty {
    guard let ending = upstream.state.ending else {
      preconditionFailure("\(#function): told by a future that has not ended")
    }
    let start = lock.withLock {
      guard state.isPending else { return FutureState.Start.gone }
      let start = state.upstreamEnded(ending, hasExecutor: hasExecutor)
      // While the body is queued, its job holds upstream: `recover` may still pass on the failure (law 11).
      if start != .gone { self.upstream = start == .queues ? Unmanaged.passUnretained(upstream) : nil }
      return start
    }
    switch start {
    case .gone: return .nothing
    case .cancels: return .releaseBody(hasEnded: cancel(.unspecified))
    case .passes:
      if ending == .succeeded { return .passValue }
      return pass(upstream) ? .releaseBody(hasEnded: true) : endBody()
    case .runs: return .runBody
    case .queues:
      QueuedBody.submit(self, upstream: upstream)
      return .nothing
    }
  }

  private func begin() -> Duty {
    let begins = lock.withLock {
      guard state.isPending, state.bodyBegins() else { return false }
      upstream = nil
      return true
    }
    if begins { return .runBody }
    return state.createdBy.runsBodyWhenEndedEarly ? .runBodyWithOwnOutcome : .nothing
  }

  /// Invariant 2 of `FutureState`: of a future that ended before, the body is here only if it was still to run.
  private func dropBody() -> Duty {
    if fail(DroppedJob()) { return .releaseBody(hasEnded: true) }
    return state.createdBy.runsBodyWhenEndedEarly ? .releaseBody(hasEnded: false) : .nothing
  }

  /// Called under the lock.
  private var hasExecutor: Bool { details?.executor.isImmediate == false }

  private func endBody() -> Duty {
    guard state.createdBy.runsBodyWhenEndedEarly else { return .releaseBody(hasEnded: false) }
    guard lock.withLock({ hasExecutor }) else { return .runBodyWithOwnOutcome }
    QueuedBody.submit(self, upstream: self)
    return .nothing
  }
}

/// A body on its way through an executor. If it is dropped there, its future fails instead of hanging.
private final class QueuedBody: @unchecked Sendable {  // Because: `node` belongs to whoever runs the job.
  /// Nil once the body has begun.
  private var node: Node?
  private let upstream: Node

  private init(node: Node, upstream: Node) {
    self.node = node
    self.upstream = upstream
  }

  static func submit(_ node: Node, upstream: Node) {
    guard let executor = node.lock.withLock({ node.details?.executor }) else { return }
    let job = QueuedBody(node: node, upstream: upstream)
    executor.run { job.run() }
  }

  private func run() {
    guard let entry = node.take().map({ Unmanaged.passRetained($0 as Waiter) }) else { return }
    // Now, also inside a callback: a body must run inside the job that its executor gave it.
    Trampoline.turnNow(of: entry, upstream: upstream, .bodyBegins)
  }

  deinit {
    if let node { Trampoline.turn(of: node, upstream: upstream, .bodyDropped) }
  }
}
