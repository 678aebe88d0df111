// One request, or one withdrawal, upstream: laws 2 (forwarding) to 6 (shared futures) and 12 (diamonds).

extension ContractModel {
  /// Withdraws interest, then calls handlers, those furthest upstream first, then completes. Law 12 (diamonds).
  mutating func propagation(_ starts: [Start]) -> ModelReceipt {
    var propagation = CancellationPropagation(arrivals: [Arrival](repeating: Arrival(), count: nodes.count))
    let order = order(from: starts)
    for start in starts { begin(start, &propagation) }
    for future in order { visit(future, &propagation) }
    endBranches(stoppedAt: order.filter { propagation.arrivals[$0].fate == .withheld }, &propagation)
    if !propagation.detached.isEmpty { _ = self.propagation(propagation.detached) }
    for future in order { scheduleLinger(of: future, after: propagation.arrivals[future]) }
    for call in propagation.calls.reversed() { callHandlers(call, &propagation) }
    // The laws are silent on the order: completions by handlers are delivered before completions by the request itself.
    for future in order.reversed() { turns += propagation.ended.filter { $0.future == future } }
    return receipt(of: propagation)
  }

  /// Calls all handlers, the handler installed last first. Law 9 (handlers run).
  private mutating func callHandlers(_ call: Call, _ propagation: inout CancellationPropagation) {
    if nodes[call.future].operation == .pause, nodes[call.future].outcome == nil {
      propagation.receipt.handlers += 1  // A pause has one handler, which cancels its timer.
      return finish(call.future, .cancelled(reason: call.request.reason))
    }
    if nodes[call.future].operation == .open, nodes[call.future].outcome == nil {
      propagation.receipt.handlers += 1
      let scope = scopes.firstIndex { $0.open == call.future }!
      return endScope(scope, asked: call.request.reason)
    }
    if nodes[call.future].isHandled {
      nodes[call.future].isHandled = false
      nodes[call.future].hasDelivered = true
      propagation.receipt.handlers += 1
    }
    if nodes[call.future].leavesQueue {
      propagation.receipt.handlers += 1
      return leaveQueue(call.future, call.request)
    }
    let called = nodes[call.future].handlers
    nodes[call.future].handlers = []
    if called.count > 1 { tally[.handlersRun] += 1 }
    if !called.isEmpty { nodes[call.future].hasDelivered = true }
    propagation.receipt.handlers += called.count
    let isReversed = mistake != .callsHandlersFirstInstalledFirst
    for handler in isReversed ? called.reversed() : called { start(handler, call.request) }
  }

  private mutating func begin(_ start: Start, _ propagation: inout CancellationPropagation) {
    if start.isForwarding {
      propagation.arrivals[start.node].fate = .forwards
      return forward(start.node, start.request!, isForced: start.request!.options.contains(.force), &propagation)
    }
    propagation.arrivals[start.node].request = start.request
    propagation.arrivals[start.node].edges = 1
    if start.detaches { lose(start.node, &propagation) }
  }

  private mutating func lose(_ future: Int, _ propagation: inout CancellationPropagation) {
    nodes[future].interest -= 1
    propagation.arrivals[future].hasLost = true
  }

  private mutating func visit(_ future: Int, _ propagation: inout CancellationPropagation) {
    let arrival = propagation.arrivals[future]
    guard nodes[future].outcome == nil, arrival.fate != .forwards, arrival.request != nil || arrival.hasLost else {
      return
    }
    if arrival.edges > 1 { tally[.diamonds] += 1 }
    if arrival.request != nil { propagation.receipt.reached += 1 }
    endLinger(of: future, for: arrival)
    let others = nodes[future].interest - arrival.askers
    let isStronger = arrival.request.map { $0.options.contains(.force) || $0.isStronger(than: nodes[future].asked) }
    // Law 9 (handlers run): handlers do not receive a duplicate. The requester withdraws its interest nevertheless, by
    // law 3 (stopping where others wait).
    let withdraws = isStronger == true || arrival.askers > 0 || arrival.hasLost
    if withdraws, let request = arrival.request, isWithheld(request, at: future, by: others) {
      propagation.arrivals[future].fate = .withheld
      propagation.withheldBy += nodes[future].linger.counts ? others - 1 : others
      propagation.lingers = propagation.lingers || nodes[future].linger.counts
      if isStronger == true { withhold(request, at: future) }
      return
    }
    let delivers = arrival.request == nil ? arrival.hasLost && nodes[future].interest == 0 : others == 0
    guard let asked = asking(future, isStronger == true ? arrival.request : nil, delivers: delivers) else {
      if arrival.request != nil {
        tally[.handlersRun] += 1  // Law 9 (handlers run): a duplicate changes nothing.
        // The laws are silent: a future for which the request is a duplicate counts as reached if it is the target.
        if propagation.receipt.reached == 1 { propagation.isDuplicate = true } else { propagation.receipt.reached -= 1 }
        if hasDeliveredOrIsDerived(future) { propagation.metDuplicate = true }
      }
      if arrival.hasLost, nodes[future].interest == 0 { withdraw(future, &propagation) }
      return
    }
    // The laws are silent: a receipt counts the futures reached by a withheld request that the propagation delivered.
    if arrival.request == nil { propagation.receipt.reached += 1 }
    nodes[future].asked = asked.applied
    nodes[future].furthest = asked.forwarded.orFurther(nodes[future].furthest)
    if nodes[future].upstream.isEmpty, arrival.hasLost, nodes[future].interest == 0 { withdraw(future, &propagation) }
    ask(future, asked.applied, forwarding: asked.forwarded, &propagation)
  }

  /// Keeps the strongest request, the earliest among equals. Law 24 (lingering): the force of one of them ends a linger, whichever
  /// is delivered.
  private mutating func withhold(_ request: ModelRequest, at future: Int) {
    let earlier = nodes[future].withheld
    var kept = earlier.map { request.isStronger(than: $0) ? request : $0 } ?? request
    kept.wasForced = request.endsLinger || earlier?.endsLinger == true
    nodes[future].withheld = kept
  }

  /// Whether the receipt of a duplicate says `duplicate`: a source without a handler stores the earlier request.
  private func hasDeliveredOrIsDerived(_ future: Int) -> Bool {
    !nodes[future].operation.isSource || nodes[future].isSealed || nodes[future].hasDelivered
  }

  private mutating func isWithheld(_ request: ModelRequest, at future: Int, by others: Int) -> Bool {
    guard others > 0 else { return false }
    if nodes[future].isShared, mistake != .ignoresShared {
      tally[.shared] += 1
      return true
    }
    guard request.options.contains(.polite) else { return false }
    tally[.others] += 1
    return true
  }

  /// Returns the request to apply, and the request that reaches further, to forward. If no other consumer has interest, the
  /// withheld request is delivered: the strongest, the earliest among equals.
  ///
  /// Laws 3 (stopping where others wait), 8 (no request is lost).
  private mutating func asking(
    _ future: Int, _ request: ModelRequest?, delivers: Bool
  ) -> (applied: ModelRequest, forwarded: ModelRequest)? {
    var withheld: ModelRequest?
    if delivers, mistake != .neverDeliversWithheld, let stopped = nodes[future].withheld {
      tally[.others] += 1
      nodes[future].withheld = nil
      if stopped.isStronger(than: nodes[future].asked) { withheld = stopped }
    }
    guard let first = withheld ?? request else { return nil }
    let applied = request.map { $0.isStronger(than: first) ? $0 : first } ?? first
    return (applied, applied.orFurther(first).orFurther(request))
  }

  private mutating func ask(
    _ future: Int, _ request: ModelRequest, forwarding forwarded: ModelRequest,
    _ propagation: inout CancellationPropagation
  ) {
    let isForced = request.options.contains(.force)
    let isAlone = forwarded.options.contains(.alone)
    if let outcome = nodes[future].queued {
      if isForced || isAlone {
        end(future, .cancelled(reason: request.reason), &propagation)
      } else if nodes[future].row.isSkippedWhenAsked {
        tally[.notBegun] += 1
        end(future, skipped(request, outcome), &propagation)
      }
    } else if nodes[future].isRunning || nodes[future].operation == .scope && nodes[future].upstream.isEmpty {
      // A body that has begun runs to its end, also that of an undo. The next future that its future waits for is asked then.
      if isForced || isAlone { end(future, .cancelled(reason: request.reason), &propagation) }
    } else if nodes[future].upstream.isEmpty {
      propagation.calls.append(Call(future: future, request: request))
      if isForced { end(future, .cancelled(reason: request.reason), &propagation) }
    } else if isAlone || nodes[future].operation.isShield {
      tally[.alone] += 1
      withdraw(future, &propagation)
      endEarly(future, request, &propagation)
    } else {
      tally[.forwarding] += 1
      forward(future, forwarded, isForced: isForced, &propagation)
      propagation.arrivals[future].fate = .forwards
      if isForced { endEarly(future, request, &propagation) }
    }
    if isForced { tally[.force] += 1 }
  }

  /// Passes a request upstream without the force. Law 5 (force).
  private mutating func forward(
    _ future: Int, _ request: ModelRequest, isForced: Bool, _ propagation: inout CancellationPropagation
  ) {
    // Law 10 (one consumer, one count): it counts until it completes, detaches, or loses its last consumer.
    let hasInterest = !propagation.arrivals[future].hasLost || nodes[future].interest > 0
    let detaches = nodes[future].isCounted && (isForced || !hasInterest)
    let passed = request.unforced
    for upstream in nodes[future].upstream {
      if !nodes[future].isCleaningUp {
        if passed.isStronger(than: propagation.arrivals[upstream].request) {
          propagation.arrivals[upstream].request = passed
        }
      }
      propagation.arrivals[upstream].edges += 1
      if detaches {
        lose(upstream, &propagation)
      } else if nodes[future].isCounted, !nodes[future].isCleaningUp {
        propagation.arrivals[upstream].askers += 1
      }
    }
    if detaches { nodes[future].isCounted = false }
  }

  /// Withdraws the interest of a future that lost its last consumer, without a request. Law 10 (one consumer, one count).
  private mutating func withdraw(_ future: Int, _ propagation: inout CancellationPropagation) {
    guard nodes[future].isCounted else { return }
    tally[.oneConsumer] += 1
    nodes[future].isCounted = false
    for upstream in nodes[future].upstream {
      propagation.arrivals[upstream].edges += 1
      lose(upstream, &propagation)
    }
  }

  // MARK: - Ends

  private mutating func end(_ future: Int, _ outcome: ModelOutcome, _ propagation: inout CancellationPropagation) {
    if propagation.receipt.reached == 1 { propagation.hasCompleted = true }
    finish(future, outcome, notifyingIn: &propagation.ended)
  }

  /// Ends a branch early. Bodies that always run do so at once. Law 11 (bodies that have not begun).
  private mutating func endEarly(_ future: Int, _ request: ModelRequest, _ propagation: inout CancellationPropagation) {
    if nodes[future].row.alwaysRuns, !nodes[future].isLinked { propagation.ended.append(.endedEarly(future)) }
    end(future, .cancelled(reason: request.reason), &propagation)
  }

  /// Ends the branches with no consumer but the requester, from the withholding futures downstream.
  ///
  /// Law 3 (stopping where others wait).
  private mutating func endBranches(stoppedAt stops: [Int], _ propagation: inout CancellationPropagation) {
    var stops = stops
    while let stop = stops.first {
      stops.removeFirst()
      for case .future(let future) in nodes[stop].listeners where propagation.arrivals[future].fate == .forwards {
        endBranch(future, &propagation)
        if propagation.arrivals[future].fate == .endedEarly { stops.append(future) }
      }
    }
  }

  private mutating func endBranch(_ future: Int, _ propagation: inout CancellationPropagation) {
    guard nodes[future].outcome == nil, !nodes[future].isCleaningUp, nodes[future].operation != .scope,
      let asked = nodes[future].asked
    else { return }
    tally[.others] += 1
    propagation.arrivals[future].fate = .endedEarly
    if nodes[future].isCounted {
      propagation.detached += nodes[future].upstream.map { Start(node: $0, request: nil, detaches: true) }
    }
    let hasCompleted = propagation.hasCompleted
    endEarly(future, asked, &propagation)
    propagation.hasCompleted = hasCompleted
  }

  /// Returns the receipt. Of several effects the first in this order applies. Law 17 (receipts).
  private mutating func receipt(of propagation: CancellationPropagation) -> ModelReceipt {
    var receipt = propagation.receipt
    tally[.receipt] += 1
    if propagation.isDuplicate {
      // The laws are silent: a receipt reports only the duplicate, although the withdrawal may have delivered another request.
      receipt = ModelReceipt(effect: .duplicate, reached: 1, handlers: receipt.handlers)
    } else if propagation.hasCompleted {
      receipt.effect = .completed
    } else if receipt.handlers > 0 {
      receipt.effect = .delivered
    } else if propagation.withheldBy > 0 {
      receipt.effect = .withheld(by: propagation.withheldBy)
    } else if propagation.lingers {
      receipt.effect = .lingering
    } else if propagation.metDuplicate {
      receipt.effect = .duplicate
    }
    return receipt
  }
}

extension ModelOutcome {
  /// The number for this outcome in the value of `allSettled`.
  var number: Int {
    switch self {
    case .success(let value): value
    case .failure(let error): error
    case .cancelled(let reason): reason
    }
  }

  var ending: Int {
    switch self {
    case .success: 0
    case .failure: 1
    case .cancelled: 2
    }
  }
}
