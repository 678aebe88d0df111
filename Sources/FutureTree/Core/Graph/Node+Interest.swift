extension Node {
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
    if isCounted {
      _ = CancellationPropagation.run(Signal(node: self, asker: interest, departure: .leaves))
    }
  }
}
