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
    let isWanted = isWanted
    guard inner.attach(self, isConsumer: isWanted) else {
      return step(self, inner, .upstreamEnded)
    }
    var arrival: Wave.Arrival?
    var isLogged = false
    let isLinked = lock.withLock {
      guard state.isPending, state.link(isCleanUp: role.isCleanUp) else {
        // It ended meanwhile, early: what a running body returns gets the request, without the force (law 5).
        arrival = Wave.Arrival(
          node: inner, request: requestForInner(as: role), asker: self, departure: .leaves)
        return false
      }
      upstream = Unmanaged.passUnretained(inner)
      arrival = arrivalOfNews(at: inner, from: self, request: requestForInner(as: role))
      isLogged = state.isLogged
      return true
    }
    if isLogged { shareLog(withInput: inner) }
    // Each of two threads that close a circle has set its `upstream` before it looks, so one of them sees it.
    if isLinked, inner.waits(for: self), fail(CompletedWithItself()) {
      _ = Wave.run(Wave.Arrival(node: inner, asker: self, departure: .leaves))
      return true
    }
    if let arrival { _ = Wave.run(arrival) }
    if !isWanted { tellInterest() }
    return false
  }

  /// Whether what this future waits for must count it.
  final var isWanted: Bool { lock.withLock { !state.isAbandoned } }

  /// What a future must be told for which this one has just begun to wait. Called under the lock.
  final func arrivalOfNews(at input: Node, from entry: Waiter, request: CancelRequest?) -> Wave.Arrival? {
    guard request != nil || state.isAbandoned else { return nil }
    return Wave.Arrival(
      node: input, request: request, asker: entry, departure: state.isAbandoned ? .losesInterest : .stays)
  }

  /// Whether this future waits for another, with at most seven in between. To follow any length would cost a walk each time.
  private func waits(for other: Node) -> Bool {
    var node = self
    for _ in 0..<8 {
      guard let next = node.lock.withLock({ node.upstream?.takeUnretainedValue() }) else { return false }
      if next === other { return true }
      node = next
    }
    return false
  }

  /// What of the stored request the inner future is asked. Called under the lock.
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

/// The error of a future that was completed with itself, or with one that waits for it, by its promise or by a body.
///
/// It would wait for its own outcome for ever. Circles of up to nine futures are detected, unless they go through a join;
/// longer ones are not, and `tree()` shows them.
public struct CompletedWithItself: Error, Hashable, CustomStringConvertible {
  /// For tests of what handles it.
  public init() {}

  public var description: String {
    "A future was completed with itself, or with one that waits for it, and would wait for ever. "
      + "Complete it with a value or with another future."
  }
}
