/// How entries begin to wait for a future.
extension Node {
  /// Adds an entry to the list of this future. Returns false, and does nothing, if this future has ended.
  func attach(_ entry: Waiter, isConsumer: Bool) -> Bool {
    var revocation: NodeMonitor.Report?
    let news: News? = lock.withLock {
      guard state.isPending else { return nil }
      lock.pointInside()
      waiters.append(entry)
      entry.isCounted = isConsumer
      if entry.isFuture { state.isInner = true }
      var news: News = state.isWatched ? .isWatched : []
      if isConsumer {
        if state.consumerCame() { news.insert(.isWantedAgain) }
        if news.contains(.isWatched) { revocation = lingerForConsumer() }
      }
      return news
    }
    guard let news else { return false }
    revocation?()
    if news.contains(.isWantedAgain) { notifyOfInterest() }
    if news.contains(.isWatched) { reportNow(.hasWaiter(entry)) }
    return true
  }

  /// The reports that are due after the lock is released.
  private struct News: OptionSet {
    let rawValue: UInt8
    static let isWantedAgain = News(rawValue: 1)
    static let isWatched = News(rawValue: 2)
  }

  /// Makes a derived future wait for this one. If this one has ended, the derived future takes its turn.
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

  /// Completes `attachDerived` if a change must be reported or if this future has ended.
  private func attachDerivedWithNews(_ derived: Node) {
    var isWantedAgain = false
    var report: NodeMonitor.Report?
    var revocation: NodeMonitor.Report?
    let isAttached = lock.withLock {
      report = self.report(.makes(derived))
      guard state.isPending else { return false }
      waiters.append(derived)
      derived.isCounted = true
      isWantedAgain = state.consumerCame()
      if state.isWatched { revocation = lingerForConsumer() }
      return true
    }
    revocation?()
    if isWantedAgain { notifyOfInterest() }
    report?()
    if !isAttached {
      derived.upstream = nil
      Trampoline.turn(of: derived, upstream: self, .upstreamEnded)
    }
  }

  /// Removes an entry that is not counted as a consumer.
  func detach(_ entry: Waiter) {
    lock.withLock {
      if state.isPending { waiters.remove(entry) }
    }
  }
}
