/// The propagation of one cancellation request, or of withdrawn interest, through the graph.
///
/// A propagation has three phases. Law 12 (diamonds).
///
/// 1. Signals go upstream until every future that they reach has received the request.
/// 2. Handlers run, those furthest upstream first.
/// 3. The waiters of the futures that have ended are notified.
///
/// Each future is visited once, and after all futures that wait for it, unless other threads change the graph meanwhile. The
/// first phase calls no user code. Interest that another thread withdraws meanwhile runs its own propagation. Chains are walked
/// by loops.
///
/// `StraightWalk` performs all phases while each future sends the signal to one other future. This type is the general form.
struct CancellationPropagation: ~Copyable {
  /// A future to which a request was applied. Other code refers to it by its position in `reached`. `queue` retains the future
  /// and the request.
  struct Reached {
    let node: Unmanaged<Node>
    fileprivate let unretainedRequest: CancelRequest.Unretained?
    /// A future that forwarded the request to this one. If there are several, `otherPredecessors` has the others.
    let predecessor: Int32?

    var request: CancelRequest? { unretainedRequest.map(\.request) }
  }

  var reached: [Reached] = []
  /// The additional predecessors, by the position of the future that received the request.
  var otherPredecessors: [Int: [Int]] = [:]
  /// The positions of the sources that were reached.
  var sources: [Int] = []
  /// The signals whose request was withheld. Their senders no longer wait.
  var stops: [QueuedSignal] = []
  /// The futures that the propagation has ended. A greater rank is further upstream.
  var ended: [(step: StraightWalk.Step, rank: Int)] = []
  /// The links of futures that have ended early, to be removed.
  private var left: [Node.Link] = []
  /// In a preview, the predicted states of futures. A preview changes these instead of the futures.
  var preview: [ObjectIdentifier: FutureState]?
  var summary = CancelSummary()
  let queue: SignalQueue
  /// The first signal, if there is only one.
  private let origin: Signal?

  private init(of signals: [Signal]) {
    origin = nil
    queue = SignalQueue()
    for signal in signals { queue.append(signal) }
  }

  /// Creates a propagation that continues a walk.
  private init(
    after walk: borrowing StraightWalk, _ fork: StraightWalk.Fork, from origin: Signal,
    preview: [ObjectIdentifier: FutureState]? = nil
  ) {
    self.origin = origin
    self.preview = preview
    queue = fork.queue
    reached.reserveCapacity(16)
    for position in 0..<walk.path.count { queue.retain(walk.path[position].node) }
    for position in 0..<walk.summary.reached {
      let (step, request) = (walk.path[position], walk.request(appliedAt: position, origin.request))
      if let request { queue.retain(request.object) }
      if step.hasEnded { ended.append((step, position + 1)) }
      reach(.passUnretained(step.node), request?.unretained, predecessor: position > 0 ? position - 1 : nil)
    }
    summary = walk.summary
    let predecessor = fork.signal.request == nil || reached.isEmpty ? nil : reached.count - 1
    record(fork.reaction, to: queue.received(fork.signal, predecessor: predecessor), fork.signal.request)
  }

  /// Runs a propagation that begins with one signal, and returns its receipt.
  ///
  /// - Complexity: O(n) in the number of futures and edges that the request reaches.
  @discardableResult
  static func run(_ signal: Signal) -> CancelReceipt {
    Trampoline.run {
      var walk = StraightWalk()
      guard let fork = walk.walk(from: signal) else { return walk.finish(signal) }
      var propagation = CancellationPropagation(after: walk, fork, from: signal)
      propagation.walk()
      return propagation.finish()
    }.makeReceipt()
  }

  /// Runs one propagation that begins with several signals.
  @discardableResult
  static func run(_ signals: [Signal]) -> CancelReceipt {
    guard let first = signals.first else { return CancelSummary().makeReceipt() }
    if signals.count == 1 { return run(first) }
    return Trampoline.run {
      var propagation = CancellationPropagation(of: signals)
      propagation.walk()
      return propagation.finish()
    }.makeReceipt()
  }

  /// Removes entries that no longer wait from their lists.
  ///
  /// Another thread may have renewed their interest meanwhile. This method therefore withdraws the interest again, which may
  /// deliver a withheld request.
  static func leave(_ left: [Node.Link]) {
    run(left.map { Signal(node: $0.node, sender: $0.entry, departure: .leaves) })
  }

  /// Returns the receipt that a propagation would have, and changes nothing.
  ///
  /// - Complexity: The same as `run`.
  static func preview(_ signal: Signal) -> CancelReceipt {
    var walk = StraightWalk(isPreview: true)
    guard let fork = walk.walk(from: signal) else { return walk.summary.makeReceipt() }
    var propagation = CancellationPropagation(after: walk, fork, from: signal, preview: [:])
    propagation.walk()
    return propagation.summary.makeReceipt()
  }

  /// Adds a future to which a request was applied.
  @inline(__always)
  mutating func reach(_ node: Unmanaged<Node>, _ request: CancelRequest.Unretained?, predecessor: Int?) {
    if node._withUnsafeGuaranteedRef({ $0.state.createdBy.isSource }) { sources.append(reached.count) }
    reached.append(
      Reached(node: node, unretainedRequest: request, predecessor: predecessor.map { Int32($0) }))
  }

  private mutating func finish() -> CancelSummary {
    prune()
    if !left.isEmpty { CancellationPropagation.leave(left) }
    for report in queue.reports { report() }
    callHandlers()
    notify()
    return summary
  }
}

// MARK: - Branches that end early

extension CancellationPropagation {
  /// Ends the futures from the withholding future down to the requester, which only the requester consumes. Law 3 (stopping
  /// where others wait).
  private mutating func prune() {
    for stop in stops {
      guard let sender = stop.sender?.takeUnretainedValue(), let reason = stop.request?.reason else { continue }
      let node = stop.node.takeUnretainedValue()
      left.append(Node.Link(node: node, entry: sender))
      guard let consumer = sender.owner else { continue }
      guard let position = stop.predecessor else {
        end(consumer, waitingFor: node, reason: reason, rank: 0)
        continue
      }
      if end(consumer, waitingFor: node, reason: reason, rank: position + 1) { endConsumers(of: position) }
    }
  }

  /// Ends the futures that forwarded the request to a future that has ended early.
  private mutating func endConsumers(of position: Int) {
    var pending = [position]
    while let position = pending.popLast() {
      let node = reached[position].node.takeUnretainedValue()
      for predecessor in predecessors(of: position) {
        let consumer = reached[predecessor]
        let reason = consumer.request?.reason ?? .unspecified
        if end(consumer.node.takeUnretainedValue(), waitingFor: node, reason: reason, rank: predecessor + 1) {
          pending.append(predecessor)
        }
      }
      // The sender of the first signal, if it is a future that has just linked this one.
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

  @discardableResult
  private mutating func end(
    _ node: Node, waitingFor upstream: Node, reason: CancellationReason, rank: Int
  ) -> Bool {
    guard let ownsBody = node.endEarly(waitingFor: upstream, reason: reason, leaving: &left) else { return false }
    ended.append((StraightWalk.Step(node: node, kind: ownsBody ? .endedWithBody : .ended), rank))
    return true
  }
}

// MARK: - Handlers and completions

extension CancellationPropagation {
  private mutating func callHandlers() {
    var last: (unretained: CancelRequest.Unretained?, request: CancelRequest?)
    for position in sources.reversed() {
      let reached = reached[position]
      if reached.unretainedRequest != last.unretained { last = (reached.unretainedRequest, reached.request) }
      guard let request = last.request else { continue }
      reached.node._withUnsafeGuaranteedRef { node in
        summary.callHandlers(of: unsafeDowncast(node, to: Source.self), request)
      }
    }
  }

  /// Notifies the waiters of the futures that have ended, those furthest upstream first.
  private mutating func notify() {
    if ended.count > 1 { ended.sort { $0.rank > $1.rank } }
    for ended in ended { ended.step.notify() }
  }
}

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
