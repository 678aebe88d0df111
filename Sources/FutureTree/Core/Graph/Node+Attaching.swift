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
    let news: News? = lock.withLock {
      guard state.isPending else { return nil }
      lock.pointInside()
      waiters.append(entry)
      entry.isCounted = role != .observer
      if entry.isFuture, role != .newConsumer { state.isInner = true }
      var news: News = state.isMonitored ? .isMonitored : []
      if role != .observer, state.consumerCame() { news.insert(.isWantedAgain) }
      return news
    }
    guard let news else { return false }
    if !news.isEmpty { tell(news, of: entry, role) }
    return true
  }

  /// What is reported after the lock was released.
  private struct News: OptionSet {
    let rawValue: UInt8
    static let isWantedAgain = News(rawValue: 1)
    static let isMonitored = News(rawValue: 2)
  }

  private func tell(_ news: News, of entry: Waiter, _ role: Role) {
    if news.contains(.isWantedAgain) { notifyOfInterest() }
    if news.contains(.isMonitored), role != .newConsumer { reportNow(.hasWaiter(entry)) }
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

  /// The same where a change must be reported, or where this future has ended.
  private func attachDerivedWithNews(_ derived: Node) {
    let report = lock.withLock { self.report(.makes(derived)) }
    let isAttached = attach(derived, as: .newConsumer)
    report?()
    if !isAttached {
      derived.upstream = nil
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
