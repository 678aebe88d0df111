/// Bypassing a future that only forwards an outcome, so that a recursion of `flatMap` holds one link instead of one per turn.
/// Law 21 (bounded memory).
///
/// Before the bypass, `outer` waits for `node`, whose body has just returned `inner`. Afterward `outer` waits for `inner`, and
/// `node` is released. No other code can observe the change: the thread that ends the turn of `node` has the only reference to
/// it, and only `outer.upstream` points to it.
extension Node {
  /// Links a future to the inner future that its body returned, or bypasses it. Called after the turn of `node`, when no frame
  /// of the turn retains it. Returns the future that has ended by that, if any.
  static func linkOrBypass(_ node: inout Node, to inner: Node) -> Node? {
    if let outer = node.onlyWaiter, outer.unlink(fromUnique: &node) {
      // No other thread can reach `node` now. A thread may have added a consumer or a request before it released its reference.
      if node.removeOnlyWaiter(outer) { return outer.link(to: inner, as: .work) ? outer : nil }
      let hasEnded = outer.waitForInner(node, as: .work, isWanted: true)
      precondition(!hasEnded, "`node` is pending")
    }
    // No turn is current, so that `link` does not defer it again.
    return node.link(to: inner, as: .work) ? node : nil
  }

  /// Whether this future only forwards an outcome, and has no properties that a tree snapshot shows. Called under the lock.
  var canBeBypassed: Bool {
    state.canBeBypassed && details.map { $0.name == nil && $0.place == nil } ?? true
  }

  /// The future that waits for this one, if it is the only waiter and this one can be bypassed.
  private var onlyWaiter: Node? {
    lock.withLock {
      guard canBeBypassed, let entry = waiters.only, entry.isFuture else { return nil }
      return unsafeDowncast(entry, to: Node.self)
    }
  }

  /// Stops waiting for `inner`, if the caller has its only reference. This future gives no other code a reference meanwhile.
  private func unlink(fromUnique inner: inout Node) -> Bool {
    lock.withLock {
      guard let upstream, upstream.toOpaque() == Unmanaged.passUnretained(inner).toOpaque(),
        isKnownUniquelyReferenced(&inner), state.unlink()
      else { return false }
      self.upstream = nil
      return true
    }
  }

  /// Takes `outer` out of the list, if this future can still be bypassed.
  private func removeOnlyWaiter(_ outer: Node) -> Bool {
    lock.withLock {
      guard canBeBypassed, waiters.only === outer else { return false }
      waiters.remove(outer)
      outer.isCounted = false  // `state.consumers` stays: this future is about to be freed.
      return true
    }
  }
}
