/// What a propagation does to one future, under that future's lock.
extension Node {
  /// What a propagation found at one future, and where it goes on.
  struct Landing {
    /// What the request met; nil where nothing was asked.
    var reception: FutureState.Reception?
    /// Where the propagation goes on.
    var next = TinyArray<Signal>()
    /// The request ended this future.
    var hasEnded = false
    /// The body has not been given to anybody: whoever ended this future runs or releases it.
    var ownsBody = false
    /// The number of this moment in the log of the future; 0 if it is in none.
    var logNumber = 0
  }

  /// - Parameter index: the position of this future among those that the propagation has reached, if the request is applied.
  func receive(_ arrivals: CancellationPropagation.Arrivals, reachedAs index: Int) -> Landing {
    lock.withLock {
      guard let ending = state.ending else { return receivePending(arrivals, reachedAs: index) }
      return Landing(reception: arrivals.request.map { _ in .tooLate(ending) })
    }
  }

  private func receivePending(_ arrivals: CancellationPropagation.Arrivals, reachedAs index: Int) -> Landing {
    let decision = state.receive(arrivals.event)
    for arrival in arrivals {
      guard let asker = arrival.asker else { continue }
      if arrival.departure == .leaves { waiters.remove(asker) }
      if decision.uncountsAll || arrival.departure != .stays { asker.isCounted = false }
    }
    var landing = Landing(reception: decision.reception, next: goingOn(after: decision, reachedAs: index))
    if state.isLogged { landing.logNumber = numberRequest() }
    switch decision.reception {
    case .applied(let request, .ends):
      landing.ownsBody = ownsBody
      landing.hasEnded = endCancelled(request.reason)
    case .applied(let request, .skipsBody):
      landing.ownsBody = true
      if let upstream = upstream?.takeUnretainedValue(), upstream.state.ending == .failed {
        landing.hasEnded = endLocked(as: upstream)
      } else {
        landing.hasEnded = endCancelled(request.reason)
      }
    case .tooLate, .duplicate, .storedBefore, .withheld, .applied, nil:
      break
    }
    return landing
  }

  /// Where a propagation goes on from here. Called under the lock.
  private func goingOn(after decision: FutureState.Landing, reachedAs index: Int) -> TinyArray<Signal> {
    var next = TinyArray<Signal>()
    guard decision.goesOn else { return next }
    for link in waitsFor {
      next.append(
        Signal(
          node: link.node, request: decision.forwarded, asker: link.entry, departure: decision.departure,
          predecessor: decision.forwarded == nil ? -1 : index))
    }
    return next
  }

  /// `receive` in the common case: one consumer asks, or nobody, and the request goes on to the one future that this one
  /// waits for, which is returned. Returns nil, and does nothing, in any other case.
  func forwardAtOnce(_ request: CancelRequest, askedBy asker: Waiter?) -> Node? {
    lock.withLock {
      guard let upstream, !state.createdBy.isJoin,
        state.forwardsAtOnce(request, askers: asker?.isCounted == true ? 1 : 0)
      else { return nil }
      return upstream.takeUnretainedValue()
    }
  }

  /// Whether a propagation that comes here goes no further, and no second path of it ends here.
  var isEndOfOnePath: Bool { lock.withLock { !state.isPending || state.consumers <= 1 && waitsFor.isEmpty } }

  /// What `receive` would find, if the future were in the state that the imagination has of it.
  func imagine(
    _ arrivals: CancellationPropagation.Arrivals, reachedAs index: Int, in imagination: inout PreviewStates
  ) -> Landing {
    lock.withLock {
      var imagined = imagination.states[ObjectIdentifier(self)] ?? state
      if let ending = imagined.ending { return Landing(reception: arrivals.request.map { _ in .tooLate(ending) }) }
      let decision = imagined.receive(arrivals.event)
      let next = goingOn(after: decision, reachedAs: index)
      if case .applied(_, let effect)? = decision.reception, effect == .ends || effect == .skipsBody {
        _ = imagined.end(.cancelled)
      }
      imagination.states[ObjectIdentifier(self)] = imagined
      return Landing(reception: decision.reception, next: next)
    }
  }

  /// Invariant 2 of `FutureState`: whether nobody was given the body yet. Called under the lock.
  private var ownsBody: Bool {
    switch state.phase {
    case .waiting: true
    case .queued: !state.createdBy.runsBodyWhenEndedEarly
    case .running, .linked, .succeeded, .failed, .cancelled: false
    }
  }

  /// Ends `.cancelled` now, if it still waits for `upstream`.
  ///
  /// - Returns: whether the caller has the body, and what else it waited for; nil if it did not wait for `upstream`.
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

extension CancellationPropagation.Arrivals {
  /// What has come, as the state needs to know it. Called under the lock of the future.
  fileprivate var event: FutureState.Arrival {
    var event = FutureState.Arrival(request: request)
    for arrival in self where arrival.asker?.isCounted == true {
      event.askers += 1
      if arrival.departure != .stays { event.leavers += 1 }
    }
    return event
  }

  /// The strongest request that has come.
  var request: CancelRequest? {
    if all.others.isEmpty { return all.first?.request }
    var strongest: CancelRequest?
    for arrival in self {
      guard let request = arrival.request else { continue }
      strongest = strongest.map { request.isStronger(than: $0) ? request : $0 } ?? request
    }
    return strongest
  }
}

// MARK: - Interest

extension Node {
  /// How many want its value now.
  var consumers: Int { lock.withLock { Int(state.consumers) } }

  /// Tells what this future waits for whether it is wanted, and so on up to the sources (law 10).
  ///
  /// Threads that change the interest of one future may tell its upstream in another order. Each looks again after it
  /// has told, so the last to tell has told the truth.
  func notifyOfInterest() {
    var pending = [self]
    while let node = pending.popLast() {
      guard let links = node.lock.withLock({ node.state.isAbandoned ? nil : node.waitsFor }) else { continue }
      for link in links where link.node.isWanted(by: link.entry) { pending.append(link.node) }
      if node.lock.withLock({ node.state.isAbandoned }) {
        CancellationPropagation.run(links.mapped { Signal(node: $0.node, asker: $0.entry, departure: .losesInterest) })
      }
    }
  }

  /// An entry in the list wants the value. Returns whether that makes this future wanted again.
  private func isWanted(by entry: Waiter) -> Bool {
    lock.withLock {
      guard state.isPending, entry.isListed, !entry.isCounted else { return false }
      entry.isCounted = true
      return state.consumerCame()
    }
  }
}
