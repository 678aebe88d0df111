/// What a wave does to one future, under that future's lock.
extension Node {
  /// What a wave found at one future, and where it goes on.
  struct Landing {
    /// What the request met; nil where nothing was asked.
    var reception: FutureState.Reception?
    /// Where the wave goes on: what this future waits for.
    var links: [Link] = []
    /// What `links` are asked, if anything.
    var forwarded: CancelRequest?
    /// What becomes of this future's interest in `links`.
    var departure = Wave.Departure.stays
    /// The request ended this future.
    var hasEnded = false
    /// The body has not been given to anybody: whoever ended this future runs or releases it.
    var ownsBody = false
  }

  func receive(_ arrival: Wave.Arrival) -> Landing {
    lock.withLock {
      var landing = Landing()
      guard let ending = state.ending else { return receivePending(arrival) }
      if arrival.request != nil { landing.reception = .tooLate(ending) }
      return landing
    }
  }

  private func receivePending(_ arrival: Wave.Arrival) -> Landing {
    var landing = Landing()
    let wasCounted = arrival.asker?.isCounted ?? false
    if arrival.departure == .leaves, let asker = arrival.asker { waiters.remove(asker) }
    if let request = arrival.request {
      landing.reception = state.receive(request, others: Int(state.consumers) - (wasCounted ? 1 : 0))
    }
    var isWithheld: Bool { if case .withheld? = landing.reception { true } else { false } }
    if wasCounted, let asker = arrival.asker, arrival.departure != .stays || isWithheld {
      asker.isCounted = false
      if state.consumerLeft() {
        landing.departure = .losesInterest
        state.abandon()
        if let delivered = state.receiveWithheld() { landing.reception = delivered }
      }
    }
    if case .applied(let request, let effect)? = landing.reception {
      apply(request, effect, to: &landing)
    } else if landing.departure == .losesInterest {
      landing.links = waitsFor
    }
    return landing
  }

  private func apply(_ request: CancelRequest, _ effect: FutureState.Effect, to landing: inout Landing) {
    switch effect {
    case .callsHandlers, .stores:
      if landing.departure == .losesInterest { landing.links = waitsFor }
    case .forwards:
      landing.links = waitsFor
      landing.forwarded = request.forwarded
    case .ends:
      landing.links = waitsFor
      landing.forwarded = state.isCleaningUp ? nil : request.forwarded
      landing.departure = .leaves
      landing.ownsBody = ownsBody
      landing.hasEnded = endCancelled(request.reason)
    case .skipsBody:
      landing.ownsBody = true
      if let upstream = upstream?.takeUnretainedValue(), upstream.state.ending == .failed {
        landing.hasEnded = endLocked(as: upstream)
      } else {
        landing.hasEnded = endCancelled(request.reason)
      }
    }
  }

  /// Invariant 2 of `FutureState`: whether nobody was given the body yet. Called under the lock.
  private var ownsBody: Bool {
    switch state.phase {
    case .waiting: true
    case .queued: state.madeBy.skipsBodyWhenAsked
    case .running, .linked, .succeeded, .failed, .cancelled: false
    }
  }

  /// Ends `.cancelled` now, if it still waits for `upstream`. Returns whether the caller has the body, nil if it does not.
  func endEarly(waitingFor upstream: Node, reason: CancellationReason) -> Bool? {
    lock.withLock {
      guard let current = self.upstream, current.toOpaque() == Unmanaged.passUnretained(upstream).toOpaque()
      else { return nil }
      let ownsBody = ownsBody
      return endCancelled(reason) ? ownsBody : nil
    }
  }

  /// Counts an entry whose request was withheld here as a consumer again, if the request went through since.
  func countsAgain(_ entry: Waiter, after request: CancelRequest) -> Bool {
    lock.withLock {
      guard state.isPending else { return true }
      guard let asked = state.requests.asked, !request.isStronger(than: asked) else { return false }
      if entry.isListed, !entry.isCounted {
        entry.isCounted = true
        _ = state.consumerCame()
      }
      return true
    }
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
  func tellInterest() {
    var pending = [self]
    while let node = pending.popLast() {
      let (isWanted, links) = node.lock.withLock { (!node.state.isAbandoned, node.waitsFor) }
      guard isWanted else { continue }
      for link in links where link.node.isWanted(by: link.entry) { pending.append(link.node) }
      if node.lock.withLock({ node.state.isAbandoned }) {
        Wave.run(links.map { Wave.Arrival(node: $0.node, asker: $0.entry, departure: .losesInterest) })
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
