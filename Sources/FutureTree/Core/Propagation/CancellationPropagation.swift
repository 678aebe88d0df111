/// One request to cancel on its way through the graph, or an interest that is withdrawn.
///
/// A propagation has three phases (law 12). Signals go upstream until every future that they reach knows of the request; then
/// handlers run, those furthest upstream first; then the waiters of the futures that have ended are notified. It visits each future
/// once, unless other threads change the graph meanwhile, and after all that wait for it. It calls no user code in the first phase;
/// but interest that another thread withdraws meanwhile runs a propagation of its own. Chains are walked by loops.
struct CancellationPropagation {
  /// A future to which the request was applied. Others refer to it by its position in `reached`.
  struct Reached {
    let node: Node
    /// Nil if it is the request of `origin`.
    let request: CancelRequest?
    /// A future that forwarded the request to it; where several did, `otherPredecessors` has the others.
    let predecessor: Int32?
    let effect: FutureState.Effect
  }

  var reached: [Reached] = []
  /// By the position of the future that the request was forwarded to.
  var otherPredecessors: [Int: [Int]] = [:]
  /// The sources that were reached, with the request that was applied there.
  var sources: [(source: Source, request: CancelRequest)] = []
  var handlerCount = 0
  /// The signals whose request was withheld: their senders wait no more.
  var stops: [Signal] = []
  /// The futures that the propagation has ended. The greater the rank, the further upstream.
  var ended: [(node: Node, ownsBody: Bool, rank: Int)] = []
  /// What futures that have ended early waited for.
  private var left: [Node.Link] = []
  /// Called after the first phase: the clock of a log is code of a user.
  var reports: [NodeMonitor.Report] = []
  /// In a preview, the states of futures as they would be: it changes these in place of the futures.
  var preview: [ObjectIdentifier: FutureState]?

  /// How many other consumers the futures have at which the request stopped, and how many futures these are.
  var othersWaiting = 0
  var stopCount = 0
  /// Whether a future beyond the first had received a request as strong before, unless it is a source without a handler.
  var metDuplicate = false
  /// The first signal, if there is only one.
  private(set) var origin: Signal?
  /// What became of the request at the first future, unless it was applied there.
  var first: CancelReceipt.Effect?

  /// Runs a propagation that begins with one signal, and reports what became of it.
  ///
  /// - Complexity: O(futures + edges) that the request reaches.
  @discardableResult
  static func run(_ signal: Signal) -> CancelReceipt {
    run(TinyArray(signal))
  }

  @discardableResult
  static func run(_ signals: TinyArray<Signal>) -> CancelReceipt {
    var propagation = CancellationPropagation()
    propagation.origin = signals.count == 1 ? signals.first : nil
    return Trampoline.run {
      propagation.walk(from: signals)
      propagation.prune()
      propagation.leave()
      for report in propagation.reports { report() }
      propagation.callHandlers()
      propagation.notify()
      return propagation.receipt
    }
  }

  /// Reports what a propagation would come to, and changes nothing.
  ///
  /// - Complexity: As a propagation.
  static func preview(_ signal: Signal) -> CancelReceipt {
    var propagation = CancellationPropagation()
    propagation.preview = [:]
    propagation.walk(from: TinyArray(signal))
    return propagation.receipt
  }
}

// MARK: - Branches that end early

extension CancellationPropagation {
  /// Law 3: where the request was withheld, the futures that only the requester consumes end, down to the requester.
  private mutating func prune() {
    for stop in stops {
      guard let sender = stop.sender, let reason = stop.request?.reason else { continue }
      left.append(Node.Link(node: stop.node, entry: sender))
      guard let consumer = sender.owner else { continue }
      guard let position = stop.predecessor else {
        end(consumer, waitingFor: stop.node, reason: reason, rank: 0)
        continue
      }
      if end(consumer, waitingFor: stop.node, reason: reason, rank: position + 1) { endConsumers(of: position) }
    }
  }

  /// The futures through which the request came to one that has ended early end as well.
  private mutating func endConsumers(of position: Int) {
    var pending = [position]
    while let position = pending.popLast() {
      let node = reached[position].node
      for predecessor in predecessors(of: position) {
        let consumer = reached[predecessor]
        if end(consumer.node, waitingFor: node, reason: reason(of: consumer), rank: predecessor + 1) {
          pending.append(predecessor)
        }
      }
      // The sender of the first signal, where that is a future that has just linked this one.
      guard let origin, origin.node === node, let request = origin.request, let owner = origin.sender?.owner else {
        continue
      }
      end(owner, waitingFor: node, reason: request.reason, rank: 0)
    }
  }

  private func predecessors(of position: Int) -> [Int] {
    guard let predecessor = reached[position].predecessor else { return [] }
    return [Int(predecessor)] + otherPredecessors[position, default: []]
  }

  private func reason(of reached: Reached) -> CancellationReason {
    (reached.request ?? origin?.request)?.reason ?? .unspecified
  }

  @discardableResult
  private mutating func end(
    _ node: Node, waitingFor upstream: Node, reason: CancellationReason, rank: Int
  ) -> Bool {
    guard let end = node.endEarly(waitingFor: upstream, reason: reason) else { return false }
    ended.append((node, end.ownsBody, rank))
    left += end.left
    return true
  }

  /// A future that has ended early has no interest any more. Another thread may have renewed that interest meanwhile, so this
  /// withdraws it again, and a withheld request may be delivered.
  private func leave() {
    guard !left.isEmpty else { return }
    CancellationPropagation.run(TinyArray(left.map { Signal(node: $0.node, sender: $0.entry, departure: .leaves) }))
  }
}

// MARK: - Handlers and completions

extension CancellationPropagation {
  private mutating func callHandlers() {
    for (source, request) in sources.reversed() {
      var entries = source.takeCalledHandlers()
      while let entry = entries.popLast() {
        handlerCount += 1
        entry.call(request)
      }
    }
  }

  /// Notifies the waiters of the futures that have ended: as the handlers, what is furthest upstream first.
  private mutating func notify() {
    if ended.count > 1 { ended.sort { $0.rank > $1.rank } }
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
    } else if handlerCount > 0 {
      effect = .delivered
    } else if othersWaiting > 0 {
      effect = .withheld(by: othersWaiting)
    } else if metDuplicate {
      effect = .duplicate
    }
    // A duplicate reaches its target only. What its withdrawal delivered is the request of another.
    let isDuplicate = if case .duplicate? = first { true } else { false }
    return CancelReceipt(
      effect: effect, reached: isDuplicate ? 1 : max(1, reached.count + stopCount), handlers: handlerCount)
  }
}
