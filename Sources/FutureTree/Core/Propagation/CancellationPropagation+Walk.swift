/// The first phase of a propagation: signals go upstream, and every future that they reach receives the request.
///
/// A future decides once, unless other threads change the graph. It decides after all futures that wait for it and that the
/// propagation can reach, because only then are its *other* consumers known. A future with one waiter decides at once. Where
/// paths may meet, `TopologicalOrder` selects the next future, unless all remaining signals are to one future.
extension CancellationPropagation {
  mutating func walk() {
    var last: (unretained: CancelRequest.Unretained?, request: CancelRequest?)
    while let signal = queue.popFirst() {
      if signal.unretainedRequest != last.unretained { last = (signal.unretainedRequest, signal.request) }
      if visit(signal, last.request) { continue }
      let left = queue.takeAll(refused: true)
      if let meeting = Signals(ifToOneFuture: left) {
        visit(meeting)
      } else {
        visitInOrder(left)
      }
    }
  }

  private mutating func visitInOrder(_ signals: [QueuedSignal]) {
    var order = TopologicalOrder(from: signals)
    while let (vertex, signals) = order.next() {
      visit(signals)
      order.visited(vertex, sending: queue)
    }
  }

  /// Delivers a signal to a future. Returns false, and does nothing, if another signal may still come to that future.
  @inline(__always)
  private mutating func visit(_ signal: QueuedSignal, _ request: CancelRequest?) -> Bool {
    signal.node._withUnsafeGuaranteedRef { node in
      guard preview == nil else {
        if node.mayBeMeetingPoint { return false }
        visit(Signals(signal))
        return true
      }
      guard let request, signal.departure == .stays, !request.options.isForced,
        request.options.reach != .thisFuture
      else { return visitSlowly(signal) }
      var details = Node.ApplicationDetails()
      switch node.applyAtOnce(request, from: signal.sender, signal.departure, isAlone: false, &details) {
      case .forwards(let upstream):
        queue.append(
          toRetained: upstream, signal.unretainedRequest, from: .fromOpaque(signal.node.toOpaque()), .stays,
          predecessor: reached.count)
        summary.record(.applied(.forwards))
      case .callsHandlers:
        summary.record(.applied(.callsHandlers))
      case .withheld:
        summary.record(.withheld(others: details.others))
        stop(signal)
        return true
      case .none, .ends, .endsSource:  // A request that is only forwarded ends nothing.
        return visitSlowly(signal)
      }
      reach(signal.node, signal.unretainedRequest, predecessor: signal.predecessor)
      return true
    }
  }

  @inline(never)
  private mutating func visitSlowly(_ signal: QueuedSignal) -> Bool {
    let request = signal.request
    let reaction = signal.node._withUnsafeGuaranteedRef { node in
      var queue: SignalQueue? = queue
      return node.receiveIfAlone(signal, request, reachedAs: reached.count, &queue)
    }
    guard let reaction else { return false }
    if signal.departure == .losesInterest { signal.owner?.notifyOfInterest() }
    record(reaction, to: signal, request)
    return true
  }

  /// Delivers its signals to a future.
  private mutating func visit(_ signals: Signals) {
    let request = signals.request
    let reaction = signals.node._withUnsafeGuaranteedRef { node in
      var queue: SignalQueue? = queue
      if preview != nil {
        return node.preview(signals, request, reachedAs: reached.count, in: &preview!, &queue)
      }
      return node.receive(signals, request, reachedAs: reached.count, &queue)
    }
    if preview == nil {
      for signal in signals.all where signal.departure == .losesInterest { signal.owner?.notifyOfInterest() }
    }
    let predecessors = signals.all.compactMap(\.predecessor)
    if predecessors.count > 1, case .applied? = reaction.transition.disposition {
      otherPredecessors[reached.count] = Array(predecessors.dropFirst())
    }
    if case .withheld? = reaction.transition.disposition { for signal in signals.all { stop(signal) } }
    record(reaction, of: signals.node, request, predecessor: predecessors.first)
  }

  mutating func record(_ reaction: Node.Reaction, to signal: QueuedSignal, _ request: CancelRequest?) {
    if case .withheld? = reaction.transition.disposition { stop(signal) }
    record(reaction, of: signal.node, request, predecessor: signal.predecessor)
  }

  /// - Parameter request: The strongest request in the signals.
  private mutating func record(
    _ reaction: Node.Reaction, of node: Unmanaged<Node>, _ request: CancelRequest?, predecessor: Int?
  ) {
    let (position, transition) = (reached.count, reaction.transition)
    summary.record(transition.disposition)
    if case .applied? = transition.disposition {
      if let applied = transition.delivered?.applied { queue.retain(applied.object) }
      summary.handlers += reaction.handlerCount
      if reaction.hasEnded {
        let step = StraightWalk.Step(
          node: node.takeUnretainedValue(), kind: reaction.ownsBody ? .endedWithBody : .ended)
        ended.append((step, position + 1))
      }
      reach(node, transition.applied(request)?.unretained, predecessor: predecessor)
    }
    guard let departure = transition.onward, let upstream = reaction.upstream else { return }
    let forwarded = transition.forwarded(request)
    if let forwarded { queue.retain(forwarded.object) }
    queue.append(
      toRetained: .passRetained(upstream), forwarded?.unretained, from: .fromOpaque(node.toOpaque()), departure,
      predecessor: forwarded == nil ? nil : position)
  }

  /// Records that the request of a signal was withheld, so that its sender no longer waits. A sender without interest still waits.
  private mutating func stop(_ signal: QueuedSignal) {
    guard let owner = signal.owner, !owner.state.createdBy.onlyOrders else { return }
    if signal.request != nil, signal.departure != .leaves { stops.append(signal) }
  }
}
