/// One request to cancel on its way through the tree, or an interest that is withdrawn along it.
///
/// A wave has three parts (law 12): it walks upstream until every future it reaches knows that it was asked; then
/// handlers run, those furthest upstream first; then completions are delivered. It visits each edge once and calls no
/// code of a user in its first part. Chains are walked by loops.
struct Wave {
  /// What comes to a future from one of its consumers, or from nobody.
  struct Arrival {
    let node: Node
    /// What is asked, if anything is.
    var request: CancelRequest?
    /// The entry that stands in the list of `node`, or a token.
    var asker: Waiter?
    /// What becomes of the asker's interest.
    var departure = FutureState.Departure.stays
    /// Which of the futures that were asked passes the request on; -1 where it starts.
    var via = -1

    func event(isFromConsumer: Bool) -> FutureState.Arrival {
      FutureState.Arrival(request: request, departure: departure, isFromConsumer: isFromConsumer)
    }
  }

  /// A future that the request was applied to, and where the request came from.
  private struct Reached {
    let node: Node
    let request: CancelRequest
    let effect: FutureState.Effect
    let via: Int
  }

  /// A future at which the request stopped.
  private struct Withheld {
    let node: Node
    let request: CancelRequest
    /// The entry there that waits for nothing now; nil where nobody asked, or who asked has left.
    let asker: Waiter?
    /// Whether the asker wanted the value until the request was withheld.
    let wasWanted: Bool
    let via: Int
  }

  private var arrivals: [Arrival]
  private var next = 0
  private var reached: [Reached] = []
  private var withheld: [Withheld] = []
  /// Requests that met a future of this wave a second time: its other consumers (a diamond).
  private var joined: [(node: Node, via: Int)] = []
  private var ended: [(node: Node, ownsBody: Bool)] = []

  /// What futures waited for that have ended early, and wait for nothing now.
  private var left: [Node.Link] = []
  /// Set in a preview, which changes this in place of the futures.
  private var imagination: Imagination?

  private var stopped: Set<ObjectIdentifier> = []
  private var othersWaiting = 0
  private var handlers = 0
  private var first: CancelReceipt.Effect?

  /// Runs a wave from one future, and says what became of it.
  ///
  /// - Complexity: O(futures + edges) that the request reaches.
  static func run(_ arrival: Arrival) -> CancelReceipt {
    run([arrival])
  }

  @discardableResult
  static func run(_ arrivals: [Arrival]) -> CancelReceipt {
    var wave = Wave(arrivals: arrivals)
    return Trampoline.run {
      wave.walk()
      wave.prune()
      wave.leave()
      wave.callHandlers()
      wave.deliver()
      return wave.receipt
    }
  }

  /// Says what a wave would come to, and changes nothing.
  ///
  /// - Complexity: as a wave.
  static func preview(_ arrival: Arrival) -> CancelReceipt {
    var wave = Wave(arrivals: [arrival])
    wave.imagination = Imagination()
    wave.walk()
    wave.dropJoined()
    for stop in wave.withheld { wave.countStop(at: stop.node) }
    for reached in wave.reached { wave.handlers += (reached.node as? Source)?.handlerCount ?? 0 }
    return wave.receipt
  }

  private init(arrivals: [Arrival]) {
    self.arrivals = arrivals
  }
}

/// The states of futures as they would be.
struct Imagination {
  var states: [ObjectIdentifier: FutureState] = [:]
  private var uncounted: Set<ObjectIdentifier> = []

  func counts(_ entry: Waiter?) -> Bool {
    guard let entry else { return false }
    return entry.isCounted && !uncounted.contains(ObjectIdentifier(entry))
  }

  mutating func uncount(_ entry: Waiter?) {
    if let entry { uncounted.insert(ObjectIdentifier(entry)) }
  }
}

// MARK: - The walk

extension Wave {
  private mutating func walk() {
    while next < arrivals.count {
      let arrival = arrivals[next]
      next += 1
      let landing = land(arrival)
      record(landing.reception, of: arrival)
      if case .applied(let request, let effect)? = landing.reception {
        reached.append(Reached(node: arrival.node, request: request, effect: effect, via: arrival.via))
        if landing.hasEnded { ended.append((arrival.node, landing.ownsBody)) }
      }
      arrivals += landing.next
    }
  }

  private mutating func land(_ arrival: Arrival) -> Node.Landing {
    if imagination != nil { return arrival.node.imagine(arrival, reachedAs: reached.count, in: &imagination!) }
    let landing = arrival.node.receive(arrival, reachedAs: reached.count)
    if arrival.departure == .losesInterest { arrival.asker?.owner?.tellInterest() }
    return landing
  }

  private mutating func record(_ reception: FutureState.Reception?, of arrival: Arrival) {
    guard let reception else { return }
    let isTarget = next == 1
    switch reception {
    case .tooLate(let ending):
      if isTarget { first = .tooLate(ending) }
    case .duplicate:
      if isTarget { first = .duplicate }
      if arrival.via >= 0 { joined.append((arrival.node, arrival.via)) }
    case .withheld(let others):
      if isTarget { first = .withheld(by: others) }
      guard let request = arrival.request else { return }
      let asker = arrival.departure == .leaves ? nil : arrival.asker
      let wasWanted = arrival.departure == .stays
      withheld.append(
        Withheld(node: arrival.node, request: request, asker: asker, wasWanted: wasWanted, via: arrival.via))
    case .applied:
      break
    }
  }
}

// MARK: - Branches that end early

extension Wave {
  /// Law 3: the branches that only the asker wanted, from where the request was withheld down to where it was asked.
  private mutating func prune() {
    guard !withheld.isEmpty else { return }
    dropJoined()
    let joinedBy = Dictionary(grouping: joined) { ObjectIdentifier($0.node) }
    for stop in withheld {
      countStop(at: stop.node)
      guard let asker = stop.asker else { continue }
      left.append(Node.Link(node: stop.node, entry: asker))
      guard let consumer = asker.owner, end(consumer, waitingFor: stop.node, reason: stop.request.reason), stop.via >= 0
      else { continue }
      endConsumers(of: stop.via, joinedBy: joinedBy)
    }
  }

  /// What was withheld on one path may have gone through on another: then the asker waits after all.
  private mutating func dropJoined() {
    let stops = withheld
    withheld = []
    for stop in stops {
      if wentThrough(stop) {
        if stop.via >= 0 { joined.append((stop.node, stop.via)) }
      } else {
        withheld.append(stop)
      }
    }
  }

  private func wentThrough(_ stop: Withheld) -> Bool {
    guard let imagination else {
      return stop.node.wentThrough(stop.request, countingAgain: stop.wasWanted ? stop.asker : nil)
    }
    guard let state = imagination.states[ObjectIdentifier(stop.node)], state.isPending else { return true }
    return state.hasBeenAsked(asStronglyAs: stop.request)
  }

  private mutating func countStop(at node: Node) {
    guard stopped.insert(ObjectIdentifier(node)).inserted else { return }
    othersWaiting += Int(imagination?.states[ObjectIdentifier(node)]?.consumers ?? Int32(node.consumers))
  }

  /// The futures through which the request came to one that has ended early end as well, down to the target.
  private mutating func endConsumers(of index: Int, joinedBy: [ObjectIdentifier: [(node: Node, via: Int)]]) {
    var pending = [index]
    while let index = pending.popLast() {
      let node = reached[index].node
      let joined = joinedBy[ObjectIdentifier(node)] ?? []
      for via in [reached[index].via] + joined.map(\.via) where via >= 0 {
        let consumer = reached[via]
        if end(consumer.node, waitingFor: node, reason: consumer.request.reason) { pending.append(via) }
      }
    }
  }

  private mutating func end(_ node: Node, waitingFor upstream: Node, reason: CancellationReason) -> Bool {
    guard let end = node.endEarly(waitingFor: upstream, reason: reason) else { return false }
    ended.append((node, end.ownsBody))
    left += end.left
    return true
  }

  /// What has ended early wants nothing. Another thread may have wanted it again since its interest was withdrawn, so this
  /// counts, and what was withheld may be delivered.
  private func leave() {
    guard !left.isEmpty else { return }
    Wave.run(left.map { Arrival(node: $0.node, asker: $0.entry, departure: .leaves) })
  }
}

// MARK: - Handlers and completions

extension Wave {
  private mutating func callHandlers() {
    for reached in reached.reversed() {
      guard let source = reached.node as? Source else { continue }
      handlers += source.callHandlers(reached.request, evenIfEnded: reached.effect == .ends)
    }
  }

  private func deliver() {
    for (node, ownsBody) in ended {
      if ownsBody { Trampoline.turn(of: node, upstream: node, .endedEarly) }
      Trampoline.tell(node)
    }
  }

  private var receipt: CancelReceipt {
    var effect: CancelReceipt.Effect = .stored
    if let first {
      effect = first
    } else if let target = reached.first, target.effect == .ends || target.effect == .skipsBody {
      effect = .completed
    } else if handlers > 0 {
      effect = .delivered
    } else if othersWaiting > 0 {
      effect = .withheld(by: othersWaiting)
    }
    return CancelReceipt(effect: effect, reached: max(1, reached.count + stopped.count), handlers: handlers)
  }
}
