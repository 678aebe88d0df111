/// What a propagation does to one future, under that future's lock.
extension Node {
  /// How a future has reacted to signals, and where the propagation goes on.
  struct Reaction {
    /// Nil where there was no request.
    var disposition: FutureState.Disposition?
    /// The signals to the futures that this one waits for.
    var next = TinyArray<Signal>()
    /// In a preview, how many handlers of a source the request would call.
    var handlerCount = 0
    /// This future has ended.
    var hasEnded = false
    /// This future has ended and still has its body: the propagation runs or releases it.
    var ownsBody = false
  }

  /// - Parameters:
  ///   - position: The position of this future among those that the propagation has reached, if the request is applied.
  ///   - reports: Receives what the propagation calls when it holds no lock.
  func receive(_ signals: Signals, reachedAs position: Int, reports: inout [NodeMonitor.Report]) -> Reaction {
    lock.withLock {
      guard let ending = state.ending else {
        return receivePending(signals, reachedAs: position, reports: &reports)
      }
      return Reaction(disposition: signals.request.map { _ in .tooLate(ending) })
    }
  }

  /// `receive` in the common case: the request has at most one sender, and goes on to the one future that this one waits for,
  /// which is returned. Returns nil, and does nothing, in any other case.
  func forwardAtOnce(_ request: CancelRequest, from sender: Waiter?) -> Node? {
    guard !state.createdBy.isSource, !state.createdBy.isJoin else { return nil }
    return lock.withLock {
      guard let upstream,
        state.forwardsAtOnce(request, senders: sender?.isCounted == true ? 1 : 0)
      else { return nil }
      return upstream.takeUnretainedValue()
    }
  }

  /// What `receive` would return if the future were in the state that the preview has of it, which it changes instead.
  func preview(
    _ signals: Signals, reachedAs position: Int, in states: inout [ObjectIdentifier: FutureState]
  ) -> Reaction {
    lock.withLock {
      var imagined = states[ObjectIdentifier(self)] ?? state
      if let ending = imagined.ending { return Reaction(disposition: signals.request.map { _ in .tooLate(ending) }) }
      let transition = imagined.receive(signals.request, from: signals.countedSenders)
      let next = next(after: transition, reachedAs: position)
      if case .applied(_, let effect)? = transition.disposition, effect == .ends || effect == .skipsBody {
        _ = imagined.end(.cancelled)
      }
      states[ObjectIdentifier(self)] = imagined
      var reaction = Reaction(disposition: transition.disposition, next: next)
      if case .applied? = transition.disposition, let source = asSource { reaction.handlerCount = source.handlerCount }
      return reaction
    }
  }

  private func receivePending(
    _ signals: Signals, reachedAs position: Int, reports: inout [NodeMonitor.Report]
  ) -> Reaction {
    let transition = state.receive(signals.request, from: signals.countedSenders)
    signals.all.each { signal in
      guard let sender = signal.sender else { return }
      if signal.departure == .leaves { waiters.remove(sender) }
      if transition.uncountsAll || signal.departure != .stays { sender.isCounted = false }
    }
    var reaction = Reaction(disposition: transition.disposition, next: next(after: transition, reachedAs: position))
    if let report = report(.received(signals.request, transition.disposition)) { reports.append(report) }
    switch transition.disposition {
    case .applied(let request, .ends):
      reaction.ownsBody = ownsBody
      reaction.hasEnded = endCancelled(request.reason)
    case .applied(let request, .skipsBody):
      reaction.ownsBody = true
      if let upstream = upstream?.takeUnretainedValue(), upstream.state.ending == .failed {
        reaction.hasEnded = endLocked(as: upstream)
      } else {
        reaction.hasEnded = endCancelled(request.reason)
      }
    case .tooLate, .duplicate, .storedBefore, .withheld, .applied, nil:
      break
    }
    return reaction
  }

  var asSource: Source? { state.createdBy.isSource ? unsafeDowncast(self, to: Source.self) : nil }

  /// Called under the lock.
  private func next(after transition: FutureState.Transition, reachedAs position: Int) -> TinyArray<Signal> {
    guard let onward = transition.onward else { return TinyArray() }
    return waitsFor.mapped { link in
      Signal(
        node: link.node, request: onward.request, sender: link.entry, departure: onward.departure,
        predecessor: onward.request.map { _ in position })
    }
  }

  /// Whether a propagation that comes here goes no further, and no second path of it ends here.
  var isEndOfOnePath: Bool { lock.withLock { !state.isPending || state.consumers <= 1 && waitsFor.isEmpty } }

  /// Invariant 2 of `FutureState`: whether no thread and no job has the body yet. Called under the lock.
  private var ownsBody: Bool {
    switch state.phase {
    case .waiting: true
    case .queued: !state.createdBy.runsBodyWhenEndedEarly
    case .running, .linked, .succeeded, .failed, .cancelled: false
    }
  }

  /// Ends `.cancelled` now, if it still waits for `upstream`.
  ///
  /// - Returns: Whether the caller has the body, and what else it waited for; nil if it did not wait for `upstream`.
  func endEarly(waitingFor upstream: Node, reason: CancellationReason) -> (ownsBody: Bool, left: [Link])? {
    lock.withLock {
      guard state.isPending else { return nil }
      let links = waitsFor
      let left = links.filter { $0.node !== upstream }
      guard left.count < links.count else { return nil }
      let ownsBody = ownsBody
      return endCancelled(reason) ? (ownsBody, left) : nil
    }
  }
}
