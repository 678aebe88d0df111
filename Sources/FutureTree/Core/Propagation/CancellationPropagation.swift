/// One request to cancel on its way through the tree, or an interest that is withdrawn along it.
///
/// A propagation has three parts (law 12): it walks upstream until every future it reaches knows that it was asked; then
/// handlers run, those furthest upstream first; then completions are delivered. It visits each future once, after all that
/// wait for it, and calls no code of a user in its first part. Chains are walked by loops.
struct CancellationPropagation {
  /// What becomes of the interest of one consumer.
  enum Departure {
    /// It waits for what comes back, and wants it.
    case stays
    /// It still waits but wants nothing (law 10).
    case losesInterest
    /// It leaves the list.
    case leaves
  }

  /// Everything that comes to one future.
  struct Arrivals: Sequence {
    let node: Node
    private(set) var all: TinyArray<Signal>

    init(first: Signal) {
      node = first.node
      all = TinyArray(first)
    }

    mutating func append(_ arrival: Signal) {
      all.append(arrival)
    }

    func makeIterator() -> TinyArray<Signal>.Iterator { all.makeIterator() }

    /// Which of the futures that were asked have passed the request on to this one: the last of them, or -1, and the others.
    var predecessors: (last: Int32, others: [Int]) {
      if all.others.isEmpty { return (Int32(all.first?.predecessor ?? -1), []) }
      var predecessors = compactMap { $0.predecessor >= 0 ? $0.predecessor : nil }
      return (Int32(predecessors.popLast() ?? -1), predecessors)
    }
  }

  /// A future that the request was applied to.
  struct Reached {
    let node: Node
    /// Nil if it is the one that the propagation began with.
    let request: CancelRequest?
    let effect: FutureState.Effect
    /// A future that passed the request on to it, or -1; where several did, `otherPredecessors` has the others.
    let predecessor: Int32
  }

  /// An entry that waits for nothing now, because the request stopped at the future it waited for.
  struct Stop {
    let node: Node
    let request: CancelRequest
    let asker: Waiter
    let predecessor: Int
  }

  /// A future that the propagation has ended.
  struct Ended {
    let node: Node
    let ownsBody: Bool
    /// Its position among those that were reached, or -1.
    let index: Int
  }

  var reached: [Reached] = []
  /// Those that passed the request on to one that was reached, but for `predecessor`: by its position.
  var otherPredecessors: [Int: [Int]] = [:]
  /// Those of them that have handlers of their own.
  var sources: [(source: Source, request: CancelRequest)] = []
  var withheldAt: [Stop] = []
  var ended: [Ended] = []
  /// What futures waited for that have ended early, and wait for nothing now.
  var left: [Node.Link] = []
  /// What logs are told when the walk is done: their clocks are code of a user.
  var notes: [LogNote] = []
  /// Set in a preview, which changes this in place of the futures.
  var imagination: PreviewStates?

  /// How many futures the request stopped at, and how many others want those.
  var stopCount = 0
  var othersWaiting = 0
  /// Whether a future beyond the target had been asked as strongly before, unless it is a source without a handler.
  var metDuplicate = false
  private var handlers = 0
  /// What came to the first future: from one that linked it and passes on what it was asked before, if it has an owner.
  private(set) var origin: Signal?
  /// What the request met where it started, unless it was applied there.
  var first: CancelReceipt.Effect?

  /// Runs a propagation from one future, and says what became of it.
  ///
  /// - Complexity: O(futures + edges) that the request reaches.
  static func run(_ arrival: Signal) -> CancelReceipt {
    run(TinyArray(arrival))
  }

  @discardableResult
  static func run(_ arrivals: TinyArray<Signal>) -> CancelReceipt {
    var propagation = CancellationPropagation()
    propagation.origin = arrivals.count == 1 ? arrivals.first : nil
    return Trampoline.run {
      propagation.walk(from: arrivals)
      propagation.prune()
      propagation.leave()
      for note in propagation.notes { note.record() }
      propagation.callHandlers()
      propagation.deliver()
      return propagation.receipt
    }
  }

  /// Says what a propagation would come to, and changes nothing.
  ///
  /// - Complexity: as a propagation.
  static func preview(_ arrival: Signal) -> CancelReceipt {
    var propagation = CancellationPropagation()
    propagation.imagination = PreviewStates()
    propagation.walk(from: TinyArray(arrival))
    for source in propagation.sources { propagation.handlers += source.source.handlerCount }
    return propagation.receipt
  }
}

/// A request to cancel, or the end of an interest, that reaches one future from one of its consumers, or from no consumer.
struct Signal {
  let node: Node
  /// What is asked, if anything is.
  var request: CancelRequest?
  /// The entry that stands in the list of `node`, or a token.
  var asker: Waiter?
  /// What becomes of the asker's interest.
  var departure = CancellationPropagation.Departure.stays
  /// Which of the futures that were asked passes the request on; -1 where it starts.
  var predecessor = -1
}

/// The states of futures as they would be.
struct PreviewStates {
  var states: [ObjectIdentifier: FutureState] = [:]
}

// MARK: - Branches that end early

extension CancellationPropagation {
  /// Law 3: the branches that only the asker wanted, from where the request stopped down to where it was asked.
  private mutating func prune() {
    for stop in withheldAt {
      left.append(Node.Link(node: stop.node, entry: stop.asker))
      guard let consumer = stop.asker.owner,
        end(consumer, waitingFor: stop.node, reason: stop.request.reason, index: stop.predecessor),
        stop.predecessor >= 0
      else { continue }
      endConsumers(of: stop.predecessor)
    }
  }

  /// From where the request came to one that was reached, as positions.
  private func predecessors(of index: Int) -> [Int] {
    let predecessor = Int(reached[index].predecessor)
    return predecessor < 0 ? [] : [predecessor] + otherPredecessors[index, default: []]
  }

  /// The futures through which the request came to one that has ended early end as well, down to the target.
  private mutating func endConsumers(of index: Int) {
    var pending = [index]
    while let index = pending.popLast() {
      for predecessor in predecessors(of: index) {
        let consumer = reached[predecessor]
        let hasEnded = end(
          consumer.node, waitingFor: reached[index].node, reason: reason(of: consumer), index: predecessor)
        if hasEnded { pending.append(predecessor) }
      }
      guard index == 0, let origin, let request = origin.request, let owner = origin.asker?.owner else { continue }
      end(owner, waitingFor: origin.node, reason: request.reason, index: -1)
    }
  }

  private func reason(of reached: Reached) -> CancellationReason {
    (reached.request ?? origin?.request)?.reason ?? .unspecified
  }

  @discardableResult
  private mutating func end(
    _ node: Node, waitingFor upstream: Node, reason: CancellationReason, index: Int
  ) -> Bool {
    guard let end = node.endEarly(waitingFor: upstream, reason: reason) else { return false }
    ended.append(Ended(node: node, ownsBody: end.ownsBody, index: index))
    left += end.left
    return true
  }

  /// What has ended early wants nothing. Another thread may have wanted it again since its interest was withdrawn, so this
  /// counts, and what was withheld may be delivered.
  private func leave() {
    guard !left.isEmpty else { return }
    CancellationPropagation.run(TinyArray(left.map { Signal(node: $0.node, asker: $0.entry, departure: .leaves) }))
  }
}

// MARK: - Handlers and completions

extension CancellationPropagation {
  private mutating func callHandlers() {
    for (source, request) in sources.reversed() { handlers += source.callHandlers(request) }
  }

  /// As the handlers: what is furthest upstream first.
  private mutating func deliver() {
    if ended.count > 1 { ended.sort { $0.index > $1.index } }
    for ended in ended {
      if ended.ownsBody { Trampoline.turn(of: ended.node, upstream: ended.node, .endedEarly) }
      Trampoline.notify(ended.node)
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
    } else if metDuplicate {
      effect = .duplicate
    }
    return CancelReceipt(effect: effect, reached: max(1, reached.count + stopCount), handlers: handlers)
  }
}
