/// The phases after the walk: ending branches early, calling handlers, and notifying waiters.
extension StraightWalk {
  /// Completes the propagation after a walk without a fork.
  mutating func finish(_ origin: borrowing Signal) -> CancelReceipt {
    let owner = prune(origin)
    if let source = lastSource?.asSource { callHandlers(of: source, at: path.count, origin.request) }
    if sources > 0 { callHandlers(origin.request) }
    if ended > 0 { notify() }
    owner?.notify()
    return summary.receipt
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
    if let request = self.request(appliedAt: position, request) { summary.handlers += source.callHandlers(request) }
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
