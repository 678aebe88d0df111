/// The number of consumers of a future, and how the futures that it waits for are notified of changes. Law 10 (one consumer,
/// one count).
extension Node {
  /// The number of consumers now.
  var consumers: Int { lock.withLock { state.otherConsumers } }

  /// Removes an entry from the list, and withdraws its interest.
  final func endInterest(_ entry: Waiter) {
    if let (isAbandoned, upstream) = withdrawAtOnce(Unmanaged.passUnretained(entry), .leaves) {
      guard isAbandoned, let upstream else { return }
      CancellationPropagation.run(Signal(node: upstream, sender: self, departure: .losesInterest))
    } else {
      CancellationPropagation.run(Signal(node: self, sender: entry, departure: .leaves))
    }
  }

  /// Updates the interest of this future in its inputs, and so on up to the sources.
  ///
  /// Threads that change the interest of one future may update its upstream in a different order. Each thread checks again
  /// afterward, so the last update is right.
  func notifyOfInterest() {
    if lock.withLock({ state.isAbandoned || !state.createdBy.isJoin && upstream == nil }) { return }
    var pending = [self]
    while let node = pending.popLast() {
      guard !node.state.createdBy.onlyOrders,
        let links = node.lock.withLock({ node.state.isAbandoned ? nil : node.waitsFor })
      else { continue }
      for link in links where link.node.isWanted(by: link.entry) { pending.append(link.node) }
      if node.lock.withLock({ node.state.isAbandoned }) {
        CancellationPropagation.run(links.map { Signal(node: $0.node, sender: $0.entry, departure: .losesInterest) })
      }
    }
  }

  /// Counts a listed entry as a consumer. Returns whether it is the first after all had withdrawn.
  private func isWanted(by entry: Waiter) -> Bool {
    var revocation: NodeMonitor.Report?
    let isFirst = lock.withLock {
      guard state.isPending, entry.isListed, !entry.isCounted else { return false }
      entry.isCounted = true
      defer { if state.isWatched { revocation = lingerForConsumer() } }
      return state.consumerCame()
    }
    revocation?()
    return isFirst
  }
}
