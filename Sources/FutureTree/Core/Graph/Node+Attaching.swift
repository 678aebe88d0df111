/// How entries come to wait for a future.
extension Node {
  /// Adds an entry to what waits for this future. Returns false, and does nothing, if it has ended.
  func attach(_ entry: Waiter, isConsumer: Bool) -> Bool {
    attach(entry, as: isConsumer ? .consumer : .observer)
  }

  /// What an entry is to the future for which it begins to wait.
  private enum Role {
    case observer, consumer
    /// A future that an operator has just made from this one.
    case newConsumer
  }

  @inline(__always)
  private func attach(_ entry: Waiter, as role: Role) -> Bool {
    var isWantedAgain = false
    var report: NodeMonitor.Report?
    let isPending = lock.withLock {
      guard state.isPending else { return false }
      lock.pointInside()
      waiters.append(entry)
      entry.isCounted = role != .observer
      if role != .observer { isWantedAgain = state.consumerCame() }
      if entry.isFuture, role != .newConsumer { state.isInner = true }
      report = self.report(.hasWaiter(entry, isNew: role == .newConsumer))
      return true
    }
    if isWantedAgain { notifyOfInterest() }
    report?()
    return isPending
  }

  /// Makes a derived future wait for this one; if this one has ended, the derived one takes its turn.
  @usableFromInline final func attachDerived(_ derived: Node) {
    derived.storage.reference = Unmanaged.passUnretained(self).toOpaque()
    let isAttached = lock.withLock {
      guard state.isPending, state.oneMoreConsumer() else { return false }
      waiters.append(derived)
      derived.isCounted = true
      return true
    }
    if !isAttached { attachDerivedWithNews(derived) }
  }

  /// The same where others must hear of it, or where this future has ended.
  private func attachDerivedWithNews(_ derived: Node) {
    if !attach(derived, as: .newConsumer) {
      derived.upstream = nil
      reportAfterEnd(.hasWaiter(derived, isNew: true))
      Trampoline.turn(of: derived, upstream: self, .upstreamEnded)
    }
  }

  /// Takes out an entry that does not count.
  func detach(_ entry: Waiter) {
    lock.withLock {
      if state.isPending { waiters.remove(entry) }
    }
  }
}
