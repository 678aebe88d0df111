/// A propagation along one path: each future sends the signal to one other future, up to a source. Most propagations are such a
/// walk.
///
/// It has the same three phases as `CancellationPropagation`, but no futures to order. It stores the path, which needs no array
/// for one or two futures. At a join, at a future with a monitor, or when a withheld request is delivered,
/// `CancellationPropagation` continues.
///
/// Senders are not retained, because counting references at each step would cost more than the step. The sender of a signal is
/// the previous future on the path, which the path retains, or the sender of the first signal, which the caller retains.
struct StraightWalk: ~Copyable {
  /// A future on the path.
  struct Step {
    enum Kind {
      /// The request was applied here.
      case reached
      /// The request was applied here, and the future has ended.
      case ended
      /// The request was applied here. The future has ended and still has its body.
      case endedWithBody
      /// The request did not reach this future, but its last consumer has withdrawn. Only such steps follow.
      case lostInterest
    }

    let node: Node
    var kind: Kind
  }

  /// The future at which `CancellationPropagation` continues, and its reaction to the signal. A class, so that a walk returns one
  /// word.
  final class Fork {
    let signal: Signal
    let reaction: Node.Reaction
    let queue: SignalQueue

    init(signal: Signal, reaction: Node.Reaction, queue: SignalQueue) {
      self.signal = signal
      self.reaction = reaction
      self.queue = queue
    }
  }

  private let isPreview: Bool
  /// The path, from the target upstream.
  var path = TinyArray<Step>()
  var summary = CancelSummary()
  /// The request for the futures beyond the target, if it differs from the original: the request without the force. Law 5
  /// (force).
  var unforced: CancelRequest?
  /// The future that withheld the request.
  var stop: Node?
  /// The source at which the walk ended. It is not on the path.
  var lastSource: Node?
  /// The number of sources on the path.
  var sources = 0
  /// The number of futures on the path that have ended.
  var ended = 0

  init(isPreview: Bool = false) {
    self.isPreview = isPreview
  }

  /// Walks to the end of the path. Returns a fork if `CancellationPropagation` must continue.
  mutating func walk(from origin: borrowing Signal) -> Fork? {
    let sender = origin.sender.map { Unmanaged.passUnretained($0) }
    guard let request = origin.request else { return withdraw(from: origin.node, sender, origin.departure) }
    return ask(origin.node, request, sender, origin.departure)
  }

  /// Walks while futures forward the request.
  private mutating func ask(
    _ first: Node, _ request: CancelRequest, _ firstSender: Unmanaged<Waiter>?, _ firstDeparture: Signal.Departure
  ) -> Fork? {
    var (node, sender, departure) = (first, firstSender, firstDeparture)
    while true {
      let onward: Signal.Departure
      let upstream: Node?
      var details = Node.ApplicationDetails()
      switch isPreview ? .none : node.applyAtOnce(request, from: sender, departure, isAlone: true, &details) {
      case .forwards(let next):
        sender = Unmanaged.passUnretained(node)
        path.append(Step(node: consume node, kind: .reached))
        node = next.takeRetainedValue()
        continue
      case .callsHandlers:
        if departure == .losesInterest { renewInterest(of: sender) }
        lastSource = node
        summary.reached = path.count + 1
        return nil
      case .ends(let next):
        end(node, ownsBody: details.ownsBody)
        sender = Unmanaged.passUnretained(node)
        (upstream, onward) = (next.takeRetainedValue(), .leaves)
      case .endsSource:
        end(node, ownsBody: details.ownsBody)
        return nil
      case .withheld:
        if departure == .losesInterest { renewInterest(of: sender) }
        summary.reached = path.count
        summary.record(.withheld(others: details.others))
        stop = node
        return nil
      case .none:
        summary.reached = path.count
        var queue: SignalQueue?
        let reaction = react(node, request, sender, departure, &queue)
        if departure == .losesInterest { renewInterest(of: sender) }
        let isSimple = queue == nil && reaction.transition.delivered == nil
        guard isSimple else { return fork(at: node, request, sender, departure, reaction, queue) }
        add(node, reaction)
        sender = Unmanaged.passUnretained(node)
        guard let next = reaction.transition.onward else { return nil }
        (upstream, onward) = (reaction.upstream, next)
        if !reaction.transition.forwards, let upstream { return withdraw(from: upstream, sender, onward) }
      }
      guard let upstream else { return nil }
      guard let forwarded = request.forwarded else { return withdraw(from: upstream, sender, onward) }
      if request.options.isForced {
        unforced = forwarded
        return ask(upstream, forwarded, sender, onward)
      }
      departure = onward
      node = upstream
    }
  }

  /// Walks while futures lose their last consumer, without a request.
  private mutating func withdraw(
    from first: Node, _ firstSender: Unmanaged<Waiter>?, _ firstDeparture: Signal.Departure
  ) -> Fork? {
    var (node, sender, departure) = (first, firstSender, firstDeparture)
    while true {
      if let from = sender, !isPreview, let (isAbandoned, next) = node.withdrawAtOnce(from, departure) {
        if departure == .losesInterest { renewInterest(of: sender) }
        guard isAbandoned, let next else { return nil }
        sender = Unmanaged.passUnretained(node)
        path.append(Step(node: consume node, kind: .lostInterest))
        departure = .losesInterest
        node = next
        continue
      }
      var queue: SignalQueue?
      let reaction = react(node, nil, sender, departure, &queue)
      if departure == .losesInterest { renewInterest(of: sender) }
      let isSimple = queue == nil && reaction.transition.delivered == nil
      guard isSimple else { return fork(at: node, nil, sender, departure, reaction, queue) }
      guard let onward = reaction.transition.onward, let upstream = reaction.upstream else { return nil }
      sender = Unmanaged.passUnretained(node)
      path.append(Step(node: consume node, kind: .lostInterest))
      departure = onward
      node = upstream
    }
  }

  @inline(__always)
  private mutating func end(_ node: Node, ownsBody: Bool) {
    summary.reached = path.count
    summary.recordEnd()
    if node.state.createdBy.isSource { sources += 1 }
    ended += 1
    path.append(Step(node: node, kind: ownsBody ? .endedWithBody : .ended))
  }

  @inline(__always)
  private func react(
    _ node: Node, _ request: CancelRequest?, _ sender: Unmanaged<Waiter>?, _ departure: Signal.Departure,
    _ queue: inout SignalQueue?
  ) -> Node.Reaction {
    if isPreview { return node.preview(request, from: sender, departure, reachedAs: summary.reached, &queue) }
    return node.receive(request, from: sender, departure, reachedAs: summary.reached, &queue)
  }

  /// Updates the interest of a sender that has just lost it, because another thread may have renewed it.
  private func renewInterest(of sender: Unmanaged<Waiter>?) {
    if !isPreview { sender?._withUnsafeGuaranteedRef { $0.owner?.notifyOfInterest() } }
  }

  private mutating func add(_ node: Node, _ reaction: Node.Reaction) {
    summary.record(reaction.transition.disposition)
    switch reaction.transition.disposition {
    case .applied:
      summary.handlers += reaction.handlerCount
      if node.state.createdBy.isSource { sources += 1 }
      if reaction.hasEnded { ended += 1 }
      path.append(
        Step(node: node, kind: reaction.hasEnded ? reaction.ownsBody ? .endedWithBody : .ended : .reached))
    case .withheld:
      stop = node
    case .tooLate, .duplicate, .storedBefore, nil:
      break
    }
  }

  @inline(never)
  private func fork(
    at node: Node, _ request: CancelRequest?, _ sender: Unmanaged<Waiter>?, _ departure: Signal.Departure,
    _ reaction: Node.Reaction, _ queue: SignalQueue?
  ) -> Fork {
    let signal = Signal(
      node: node, request: request, sender: sender?.takeUnretainedValue(), departure: departure)
    return Fork(signal: signal, reaction: reaction, queue: queue ?? SignalQueue())
  }
}

/// The phases after the walk: ending branches early, calling handlers, and notifying waiters.
extension StraightWalk {
  /// Completes the propagation after a walk without a fork.
  mutating func finish(_ origin: borrowing Signal) -> CancelSummary {
    let owner = prune(origin)
    if let source = lastSource?.asSource { callHandlers(of: source, at: path.count, origin.request) }
    if sources > 0 { callHandlers(origin.request) }
    if ended > 0 { notify() }
    owner?.notify()
    return summary
  }

  /// Ends the futures on the path from the future that withheld the request down to the sender of the first signal. Law 3
  /// (stopping where others wait).
  ///
  /// - Returns: The sender, if it is a future that has ended.
  private mutating func prune(_ origin: borrowing Signal) -> Step? {
    guard let stop, let request = origin.request else { return nil }
    var left: [Node.Link] = []
    var ended: Step?
    let sender: Waiter
    if !path.isEmpty {
      // A future that ended by force has already detached.
      guard case .reached = path[path.count - 1].kind else { return nil }
      sender = path[path.count - 1].node
    } else {
      guard let first = origin.sender, origin.departure != .leaves, let owner = first.owner,
        !owner.state.createdBy.onlyOrders
      else { return nil }
      sender = first
    }
    if let input = endPath(waitingFor: stop, request.reason, leaving: &left), let consumer = origin.sender?.owner,
      let ownsBody = consumer.endEarly(waitingFor: input, reason: request.reason, leaving: &left)
    {
      ended = Step(node: consumer, kind: ownsBody ? .endedWithBody : .ended)
    }
    if !stop.leaves(sender) { left.append(Node.Link(node: stop, entry: sender)) }
    if !left.isEmpty { CancellationPropagation.leave(left) }
    return ended
  }

  /// Ends the futures on the path. Returns the future that the sender of the first signal waits for, or `nil` if a future on
  /// the path no longer waited.
  private mutating func endPath(
    waitingFor stop: Node, _ reason: CancellationReason, leaving left: inout [Node.Link]
  ) -> Node? {
    var input = stop
    var position = path.count
    while position > 0 {
      position -= 1
      let node = path[position].node
      guard let ownsBody = node.endEarly(waitingFor: input, reason: reason, leaving: &left) else { return nil }
      path[position].kind = ownsBody ? .endedWithBody : .ended
      ended += 1
      input = node
    }
    return input
  }

  /// Calls the handlers, those furthest upstream first.
  private mutating func callHandlers(_ request: CancelRequest?) {
    var position = path.count
    while sources > 0 {
      position -= 1
      guard path[position].isReached, let source = path[position].node.asSource else { continue }
      sources -= 1
      callHandlers(of: source, at: position, request)
    }
  }

  private mutating func callHandlers(of source: Source, at position: Int, _ request: CancelRequest?) {
    if let request = self.request(appliedAt: position, request) { summary.callHandlers(of: source, request) }
  }

  /// Returns the request that was applied to the future at this position. `request` is the request of the first signal.
  func request(appliedAt position: Int, _ request: CancelRequest?) -> CancelRequest? {
    position == 0 ? request : unforced ?? request
  }

  /// Notifies the waiters of the futures that have ended, those furthest upstream first.
  private mutating func notify() {
    var position = path.count
    while ended > 0 {
      position -= 1
      guard path[position].hasEnded else { continue }
      ended -= 1
      path[position].notify()
    }
  }
}

extension StraightWalk.Step {
  var hasEnded: Bool {
    switch kind {
    case .ended, .endedWithBody: true
    case .reached, .lostInterest: false
    }
  }

  /// Whether the request was applied at this step.
  var isReached: Bool {
    switch kind {
    case .reached, .ended, .endedWithBody: true
    case .lostInterest: false
    }
  }

  func notify() {
    if case .endedWithBody = kind { node.endBodySoon() }
    Trampoline.notify(node)
  }
}
