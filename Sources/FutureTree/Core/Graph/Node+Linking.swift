/// How a future begins to take its outcome from an inner future.
extension Node {
  /// The relation of a future to an inner future. It decides whether the inner future receives the stored request when it is
  /// linked. Law 8 (no request is lost).
  @usableFromInline
  enum InnerRole {
    /// It receives the request.
    case work
    /// It is the answer to a request. It receives only a stronger one.
    case answer(to: CancelRequest)
    /// It cleans up after a cancellation. It receives no request.
    case cleanUp

    var isCleanUp: Bool { if case .cleanUp = self { true } else { false } }
  }

  /// Links this future to `inner`, whose outcome it takes. Returns whether this future has ended by that.
  ///
  /// - Precondition: The caller has moved the phase to `running`.
  @usableFromInline final func link(to inner: Node, as role: InnerRole) -> Bool {
    guard inner !== self else { return fail(CompletedWithItself()) }
    let (isPending, isWanted, canBeBypassed) = lock.withLock {
      (state.isPending, !state.isAbandoned, self.canBeBypassed)
    }
    guard isPending else {
      let request = lock.withLock { requestForInner(as: role) }
      if let request { CancellationPropagation.run(Signal(node: inner, request: request)) }
      if inner.isPause { inner.endPause() }
      return false
    }
    if canBeBypassed, !inner.isPause, case .work = role, Trampoline.linkAfterTurn(of: self, to: inner) { return false }
    // The entry is listed first, then `upstream` is set: code that sees `upstream` relies on the entry in the list.
    guard inner.attach(self, isConsumer: isWanted) else { return take(.upstreamEnded, of: inner) }
    return waitForInner(inner, as: role, isWanted: isWanted)
  }

  /// Performs the second part of linking, when this future is in the list of `inner`. Returns whether this future has ended.
  func waitForInner(_ inner: Node, as role: InnerRole, isWanted: Bool) -> Bool {
    var signal: Signal?
    var report: NodeMonitor.Report?
    let isLinked = lock.withLock {
      guard state.isPending, state.link(isCleanUp: role.isCleanUp) else {
        // This future ended early meanwhile. The future that a running body returned receives the request without the force.
        // Law 5 (force).
        signal = Signal(
          node: inner, request: requestForInner(as: role), sender: self, departure: .leaves)
        return false
      }
      upstream = Unmanaged.passUnretained(inner)
      signal = firstSignal(at: inner, from: self, request: requestForInner(as: role))
      report = self.report(.waits(for: inner))
      return true
    }
    report?()
    // Two threads that close a cycle both set their `upstream` before they search, so at least one of them finds the cycle.
    if isLinked, inner.waits(for: self), fail(CompletedWithItself()) {
      CancellationPropagation.run(Signal(node: inner, sender: self, departure: .leaves))
      return true
    }
    if let signal { CancellationPropagation.run(signal) }
    if !isWanted { notifyOfInterest() }
    return false
  }

  /// The signal to a future for which this one has just begun to wait, if one is due. Called under the lock.
  final func firstSignal(at input: Node, from entry: Waiter, request: CancelRequest?) -> Signal? {
    guard request != nil || state.isAbandoned else { return nil }
    return Signal(
      node: input, request: request, sender: entry, departure: state.isAbandoned ? .losesInterest : .stays)
  }

  /// The request that an inner future receives when it is linked. Called under the lock.
  private func requestForInner(as role: InnerRole) -> CancelRequest? {
    guard let asked = state.requests.asked, let furthest = state.requests.furthest else { return nil }
    switch role {
    case .work: return furthest.forwarded
    case .answer(let consumed):
      if furthest.isStronger(than: consumed) { return furthest.forwarded }
      return asked.isStronger(than: consumed) ? asked.forwarded : nil
    case .cleanUp: return nil
    }
  }
}

extension Node {
  /// Ends with the outcome of the inner future that a body returned, or links this future to it. Creates no `Completion`.
  @inlinable @inline(__always)
  final func resolve<Value: Sendable>(with inner: Node, as type: Value.Type) -> Bool {
    if _isPOD(type), ValueStorage.isInline(type) { return resolve(withBitsOf: inner) }
    return inner.hasSucceeded ? succeed(inner.value(as: type)) : link(to: inner, as: .work)
  }

  /// Performs `resolve(with:as:)` for a value that is plain bits.
  @usableFromInline final func resolve(withBitsOf inner: Node) -> Bool {
    guard inner.lock.withLock({ inner.state.phase == .succeeded }) else { return link(to: inner, as: .work) }
    return lock.withLock { end(.succeeded) { $0 = inner.storage } }
  }
}
