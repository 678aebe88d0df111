/// The first phase of a propagation: signals go upstream, and every future that they reach learns of the request.
///
/// A future decides once, unless other threads change the graph: when everything that waits for it and that the propagation can reach has decided: only then is it known
/// who its *other* consumers are. In a chain that is so by itself. Where paths part, `TopologicalOrder` says whose turn it is.
extension CancellationPropagation {
  mutating func walk(from starts: TinyArray<Signal>) {
    var signals = starts
    while let signal = signals.first, signals.others.isEmpty {
      signals = visit(Signals(walkChain(from: signal)))
    }
    if signals.allSatisfy({ $0.node.isEndOfOnePath }) { signals = visitEach(signals) }
    guard !signals.isEmpty else { return }
    var order = TopologicalOrder(from: signals)
    while let (vertex, signals) = order.next() { order.visited(vertex, sending: visit(signals)) }
  }

  /// Visits futures that wait for nothing and are wanted by one, as the inputs of a join often are: no paths meet there, so that
  /// nothing has to be put in order. Returns the signals to what has been linked meanwhile.
  private mutating func visitEach(_ signals: TinyArray<Signal>) -> TinyArray<Signal> {
    var next = TinyArray<Signal>()
    for signal in signals {
      visit(Signals(signal)).each { next.append($0) }
    }
    return next
  }

  /// Walks as long as each future forwards the request to the one that it waits for. Returns the signal to the first that does
  /// not.
  private mutating func walkChain(from start: Signal) -> Signal {
    guard let request = start.request, start.departure == .stays, preview == nil else { return start }
    var node = start.node
    var predecessor = start.predecessor.map { Int32($0) }
    guard var next = node.forwardAtOnce(request, from: start.sender) else { return start }
    let kept = reachedRequest(request)
    while true {
      let further = next.forwardAtOnce(request, from: node)
      reached.append(Reached(node: consume node, request: kept, predecessor: predecessor, effect: .forwards))
      let position = reached.count - 1
      predecessor = Int32(position)
      guard let further else {
        return Signal(node: next, request: request, sender: reached[position].node, predecessor: position)
      }
      node = next
      next = further
    }
  }

  /// What `Reached` keeps of a request.
  private func reachedRequest(_ request: CancelRequest) -> CancelRequest? {
    origin?.request.map { $0.isSame(as: request) } == true ? nil : request
  }

  /// Lets a future receive its signals. Returns those that it sends.
  private mutating func visit(_ signals: Signals) -> TinyArray<Signal> {
    let reaction: Node.Reaction
    if preview != nil {
      reaction = signals.node.preview(signals, reachedAs: reached.count, in: &preview!)
    } else {
      reaction = signals.node.receive(signals, reachedAs: reached.count, reports: &reports)
      signals.all.each { if $0.departure == .losesInterest { $0.sender?.owner?.notifyOfInterest() } }
    }
    record(reaction, to: signals)
    return reaction.next
  }

  private mutating func record(_ reaction: Node.Reaction, to signals: Signals) {
    let isTarget = reached.isEmpty && first == nil
    switch reaction.disposition {
    case .tooLate(let ending):
      if isTarget { first = .tooLate(ending) }
    case .duplicate:
      if isTarget { first = .duplicate } else { metDuplicate = true }
    case .storedBefore:
      if isTarget { first = .duplicate }
    case .withheld(let others):
      if isTarget { first = .withheld(by: others) }
      stopCount += 1
      othersWaiting += others
      stops += signals.all.filter { $0.request != nil && $0.sender != nil && $0.departure != .leaves }
    case .applied(let request, let effect):
      reach(signals, request, effect, reaction)
    case nil:
      break
    }
  }

  private mutating func reach(
    _ signals: Signals, _ request: CancelRequest, _ effect: FutureState.Effect, _ reaction: Node.Reaction
  ) {
    handlerCount += reaction.handlerCount
    if let source = signals.node.asSource { sources.append((source, request)) }
    if reaction.hasEnded { ended.append((signals.node, reaction.ownsBody, reached.count + 1)) }
    let predecessors = signals.predecessors
    if !predecessors.others.isEmpty { otherPredecessors[reached.count] = predecessors.others }
    reached.append(
      Reached(
        node: signals.node, request: reachedRequest(request), predecessor: predecessors.first.map { Int32($0) },
        effect: effect)
    )
  }
}
