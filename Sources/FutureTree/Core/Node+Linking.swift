/// How a future comes to take its outcome from an inner future.
extension Node {
  /// How the stored request is treated when an inner future is linked (law 8).
  @usableFromInline
  enum InnerRole {
    /// What was asked is asked of it.
    case work
    /// It answers a request, which is consumed by that; only what is stronger is asked of it.
    case answer(to: CancelRequest)
    /// It cleans up after a cancellation and is never asked.
    case cleanUp

    var isCleanUp: Bool { if case .cleanUp = self { true } else { false } }
  }

  /// Makes this future take its outcome from `inner`. Returns whether it has ended by that.
  ///
  /// - Precondition: the caller has moved the phase to `running`.
  @usableFromInline final func link(to inner: Node, as role: InnerRole) -> Bool {
    guard inner !== self else { return fail(CompletedWithItself()) }
    guard ending == nil else {
      let request = lock.withLock { requestForInner(as: role) }
      if let request { _ = Wave.run(Wave.Arrival(node: inner, request: request)) }
      return false
    }
    // First the list of `inner`, then our own state: whoever sees `upstream` may rely on the entry in the list.
    guard inner.attach(self, isConsumer: true) else {
      return step(self, inner, .upstreamEnded)
    }
    var arrival: Wave.Arrival?
    lock.withLock {
      guard state.isPending, state.link(isCleanUp: role.isCleanUp) else {
        // It ended meanwhile, early: what a running body returns gets the request, without the force (law 5).
        arrival = Wave.Arrival(
          node: inner, request: requestForInner(as: role), asker: self, departure: .leaves)
        return
      }
      upstream = Unmanaged.passUnretained(inner)
      let request = requestForInner(as: role)
      guard request != nil || state.isAbandoned else { return }
      arrival = Wave.Arrival(
        node: inner, request: request, asker: self, departure: state.isAbandoned ? .losesInterest : .stays)
    }
    if let arrival { _ = Wave.run(arrival) }
    return false
  }

  /// What of the stored request the inner future is asked. Called under the lock.
  private func requestForInner(as role: InnerRole) -> CancelRequest? {
    guard let asked = state.requests.asked else { return nil }
    switch role {
    case .work: return asked.forwarded
    case .answer(let consumed): return asked.isStronger(than: consumed) ? asked.forwarded : nil
    case .cleanUp: return nil
    }
  }
}

/// The error of a future that was completed with itself, by its promise or by a body that returned it.
///
/// It would wait for its own outcome for ever. Longer circles are not detected; `tree()` shows them.
public struct CompletedWithItself: Error, Hashable, CustomStringConvertible {
  public init() {}

  public var description: String {
    "A future was completed with itself and would wait for ever. Complete it with a value or with another future."
  }
}
