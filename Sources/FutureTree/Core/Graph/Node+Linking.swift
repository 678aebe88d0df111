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
    let (isPending, isWanted, mayBeLeftOut) = lock.withLock { (state.isPending, !state.isAbandoned, onlyPasses) }
    guard isPending else {
      let request = lock.withLock { requestForInner(as: role) }
      if let request { CancellationPropagation.run(Signal(node: inner, request: request)) }
      return false
    }
    if mayBeLeftOut, case .work = role, Trampoline.linkAfterTurn(of: self, to: inner) { return false }
    // First the list of `inner`, then our own state: whoever sees `upstream` may rely on the entry in the list.
    guard inner.attach(self, isConsumer: isWanted) else {
      return take(.upstreamEnded, of: inner)
    }
    return waitForInner(inner, as: role, isWanted: isWanted)
  }

  /// The second part of linking: this future is in the list of `inner`. Returns whether it has ended.
  private func waitForInner(_ inner: Node, as role: InnerRole, isWanted: Bool) -> Bool {
    var signal: Signal?
    var isLogged = false
    let isLinked = lock.withLock {
      guard state.isPending, state.link(isCleanUp: role.isCleanUp) else {
        // It ended meanwhile, early: what a running body returns gets the request, without the force (law 5).
        signal = Signal(
          node: inner, request: requestForInner(as: role), sender: self, departure: .leaves)
        return false
      }
      upstream = Unmanaged.passUnretained(inner)
      signal = firstSignal(at: inner, from: self, request: requestForInner(as: role))
      isLogged = state.isLogged
      return true
    }
    if isLogged { shareLog(withInput: inner) }
    // Each of two threads that close a circle has set its `upstream` before it looks, so one of them sees it.
    if isLinked, inner.waits(for: self), fail(CompletedWithItself()) {
      CancellationPropagation.run(Signal(node: inner, sender: self, departure: .leaves))
      return true
    }
    if let signal { CancellationPropagation.run(signal) }
    if !isWanted { notifyOfInterest() }
    return false
  }

  /// What a future must be told for which this one has just begun to wait. Called under the lock.
  final func firstSignal(at input: Node, from entry: Waiter, request: CancelRequest?) -> Signal? {
    guard request != nil || state.isAbandoned else { return nil }
    return Signal(
      node: input, request: request, sender: entry, departure: state.isAbandoned ? .losesInterest : .stays)
  }

  /// Whether this future waits for another, with at most seven in between. To follow any length would cost a walk each time.
  private func waits(for other: Node) -> Bool {
    var left = 64
    return waits(for: other, within: 8, lookingAt: &left)
  }

  /// - Parameter left: how many inputs of joins are still looked at.
  private func waits(for other: Node, within length: Int, lookingAt left: inout Int) -> Bool {
    var node = self
    for length in (0..<length).reversed() {
      let links = node.lock.withLock { node.hasManyInputs ? TinyArray() : node.waitsFor }
      guard let first = links.first else { return false }
      for link in links.others {
        left -= 1
        if left < 0 { return false }
        if link.node === other || link.node.waits(for: other, within: length, lookingAt: &left) { return true }
      }
      if first.node === other { return true }
      node = first.node
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

/// How a future that only passes an outcome on is left out: a recursion of `flatMap` holds one link, not one a turn (law 21).
///
/// Before, `outer` waits for `node`, whose body has just returned `inner`; afterwards `outer` waits for `inner`, and `node` is
/// freed. Nobody can tell, because nobody has `node`: the reference of the thread that ends its turn is the only one, and only
/// `outer.upstream` leads to it.
extension Node {
  /// Links a future to the one that its body returned. Called when the turn of `node` is over, so that no frame of the turn
  /// holds it. Returns the future that has ended by that, if one has.
  static func link(_ node: inout Node, to inner: Node) -> Node? {
    guard let outer = node.onlyTaker, outer.letGo(of: &node) else {
      return node.link(to: inner, as: .work) ? node : nil
    }
    // Another thread may have added a consumer or a request before it released its reference to `node`.
    guard node.letGo(of: outer) else {
      if outer.waitForInner(node, as: .work, isWanted: true) { preconditionFailure("\(#function): `node` is pending") }
      return node.link(to: inner, as: .work) ? node : nil
    }
    return outer.link(to: inner, as: .work) ? outer : nil
  }

  /// Whether this future only passes an outcome on, and has nothing that a picture shows. Called under the lock.
  private var onlyPasses: Bool {
    state.onlyPasses && details.map { $0.name == nil && $0.place == nil && $0.membership == nil } ?? true
  }

  /// The future that takes its outcome from this one, if nothing else waits for it.
  private var onlyTaker: Node? {
    lock.withLock {
      guard onlyPasses, let entry = waiters.only, entry.isFuture else { return nil }
      return unsafeDowncast(entry, to: Node.self)
    }
  }

  /// Stops taking the outcome of `inner`, if it is the caller's alone. Nobody gets a reference through this future meanwhile.
  private func letGo(of inner: inout Node) -> Bool {
    lock.withLock {
      guard let upstream, upstream.toOpaque() == Unmanaged.passUnretained(inner).toOpaque(),
        isKnownUniquelyReferenced(&inner), state.unlink()
      else { return false }
      self.upstream = nil
      return true
    }
  }

  /// Takes `outer` out of the list, if nothing else was left here.
  private func letGo(of outer: Node) -> Bool {
    guard onlyTaker === outer else { return false }
    lock.withLock { waiters.remove(outer) }
    outer.isCounted = false
    return true
  }
}

/// The error of a future that was completed with itself, or with one that waits for it, by its promise or by a body.
///
/// It would wait for its own outcome for ever. Circles of up to nine futures are detected. Longer ones, and those through a
/// join of more than 16 futures, are not: `tree()` shows them, and they keep what their bodies captured.
public struct CompletedWithItself: Error, Hashable, CustomStringConvertible {
  /// For tests of what handles it.
  public init() {}

  public var description: String {
    "A future was completed with itself, or with one that waits for it, and would wait for ever. "
      + "Complete it with a value or with another future."
  }
}
