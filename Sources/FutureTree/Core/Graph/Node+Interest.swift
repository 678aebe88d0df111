/// How many consumers want the value of a future, and how the futures that it waits for learn of that (law 10).
extension Node {
  /// The number of consumers now.
  var consumers: Int { lock.withLock { Int(state.consumers) } }

  /// Counts an entry that is in no list as a consumer.
  final func beginInterest(_ interest: Waiter) {
    let isWantedAgain = lock.withLock {
      guard state.isPending else { return false }
      interest.isCounted = true
      return state.consumerCame()
    }
    if isWantedAgain { notifyOfInterest() }
  }

  final func endInterest(_ interest: Waiter) {
    let isCounted = lock.withLock { state.isPending && interest.isCounted }
    if isCounted { CancellationPropagation.run(Signal(node: self, sender: interest, departure: .leaves)) }
  }

  /// Updates the interest in what this future waits for, and so on up to the sources.
  ///
  /// Threads that change the interest of one future may update its upstream in another order. Each checks again afterwards, so that
  /// the last update is right.
  func notifyOfInterest() {
    var pending = [self]
    while let node = pending.popLast() {
      guard let links = node.lock.withLock({ node.state.isAbandoned ? nil : node.waitsFor }) else { continue }
      for link in links where link.node.isWanted(by: link.entry) { pending.append(link.node) }
      if node.lock.withLock({ node.state.isAbandoned }) {
        CancellationPropagation.run(links.mapped { Signal(node: $0.node, sender: $0.entry, departure: .losesInterest) })
      }
    }
  }

  /// Counts a listed entry as a consumer. Returns whether it is the first after all had withdrawn.
  private func isWanted(by entry: Waiter) -> Bool {
    lock.withLock {
      guard state.isPending, entry.isListed, !entry.isCounted else { return false }
      entry.isCounted = true
      return state.consumerCame()
    }
  }
}
