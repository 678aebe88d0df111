// One request, or one withdrawal, on its way upstream (laws 2 to 6 and 12).

extension ContractModel {
  /// Law 12: interest first, then handlers, those furthest upstream first, then completions.
  mutating func propagation(_ starts: [Start]) -> ModelReceipt {
    var propagation = CancellationPropagation(arrivals: [Arrival](repeating: Arrival(), count: nodes.count))
    let order = order(from: starts)
    for start in starts { begin(start, &propagation) }
    for future in order { visit(future, &propagation) }
    endBranches(stoppedAt: order.filter { propagation.arrivals[$0].fate == .withheld }, &propagation)
    if !propagation.left.isEmpty { _ = self.propagation(propagation.left) }
    for call in propagation.calls.reversed() { callHandlers(call, &propagation) }
    // The laws are silent on the order: what handlers completed is delivered before what the request itself ended.
    for future in order.reversed() { turns += propagation.ended.filter { $0.future == future } }
    return receipt(of: propagation)
  }

  /// Law 9: last installed first, all of them.
  private mutating func callHandlers(_ call: Call, _ propagation: inout CancellationPropagation) {
    let called = nodes[call.future].handlers
    nodes[call.future].handlers = []
    if called.count > 1 { tally[.handlersRun] += 1 }
    if !called.isEmpty { nodes[call.future].isHeard = true }
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
    if start.leaves { lose(start.node, &propagation) }
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
    let others = nodes[future].interest - arrival.askers
    let isStronger = arrival.request.map { $0.options.contains(.force) || $0.isStronger(than: nodes[future].asked) }
    // Law 9: "duplicate" is about what handlers hear. A consumer that asks withdraws all the same (law 3).
    let withdraws = isStronger == true || arrival.askers > 0 || arrival.hasLost
    if withdraws, let request = arrival.request, isWithheld(request, at: future, by: others) {
      propagation.arrivals[future].fate = .withheld
      propagation.withheldBy += others
      if isStronger == true, request.isStronger(than: nodes[future].withheld) { nodes[future].withheld = request }
      return
    }
    let delivers = arrival.request == nil ? arrival.hasLost && nodes[future].interest == 0 : others == 0
    guard let asked = asking(future, isStronger == true ? arrival.request : nil, delivers: delivers) else {
      if arrival.request != nil {
        tally[.handlersRun] += 1  // Law 9: a duplicate changes nothing.
        // The laws are silent: a future for which the request is a duplicate counts as reached if it is the target.
        if propagation.receipt.reached == 1 { propagation.isDuplicate = true } else { propagation.receipt.reached -= 1 }
        if isHeardOrDerived(future) { propagation.metDuplicate = true }
      }
      if arrival.hasLost, nodes[future].interest == 0 { withdraw(future, &propagation) }
      return
    }
    // The laws are silent: a receipt counts what a withheld request reached that the propagation delivered.
    if arrival.request == nil { propagation.receipt.reached += 1 }
    nodes[future].asked = asked.applied
    nodes[future].furthest = asked.forwarded.orFurther(nodes[future].furthest)
    if nodes[future].upstream.isEmpty, arrival.hasLost, nodes[future].interest == 0 { withdraw(future, &propagation) }
    ask(future, asked.applied, forwarding: asked.forwarded, &propagation)
  }

  /// Whether the receipt of a duplicate says so: a source without a handler stores the earlier request.
  private func isHeardOrDerived(_ future: Int) -> Bool {
    nodes[future].operation != .promise || nodes[future].isSealed || nodes[future].isHeard
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

  /// Law 3: what was withheld is delivered when nobody else waits: the strongest, the earliest among equals. What goes
  /// upstream is the one of the two that reaches further, so that nothing is lost (law 8).
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
    } else if nodes[future].isRunning {
      // A body that has begun runs to its end; what its future waits for next is asked then.
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

  /// Gives a request to what a future waits for. Law 5: without the force.
  private mutating func forward(
    _ future: Int, _ request: ModelRequest, isForced: Bool, _ propagation: inout CancellationPropagation
  ) {
    // Law 10: it counts until it completes or lets go, or has lost the last who wanted it.
    let isWanted = !propagation.arrivals[future].hasLost || nodes[future].interest > 0
    let leaves = nodes[future].isCounted && (isForced || !isWanted)
    let passed = ModelRequest(options: request.options.subtracting(.force), reason: request.reason)
    for upstream in nodes[future].upstream {
      if !nodes[future].isCleaningUp {
        if passed.isStronger(than: propagation.arrivals[upstream].request) {
          propagation.arrivals[upstream].request = passed
        }
      }
      propagation.arrivals[upstream].edges += 1
      if leaves {
        lose(upstream, &propagation)
      } else if nodes[future].isCounted, !nodes[future].isCleaningUp {
        propagation.arrivals[upstream].askers += 1
      }
    }
    if leaves { nodes[future].isCounted = false }
  }

  /// Law 10: one that lost its last consumer wants no more itself. Nobody is asked for that.
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
    finish(future, outcome, tellingIn: &propagation.ended)
  }

  /// Law 11: bodies that always run do so at once.
  private mutating func endEarly(_ future: Int, _ request: ModelRequest, _ propagation: inout CancellationPropagation) {
    if nodes[future].row.alwaysRuns, !nodes[future].isLinked { propagation.ended.append(.endedEarly(future)) }
    end(future, .cancelled(reason: request.reason), &propagation)
  }

  /// Law 3: the branches that only the asker wanted end at once, from where the request stopped downwards.
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
    guard nodes[future].outcome == nil, !nodes[future].isCleaningUp, let asked = nodes[future].asked else { return }
    tally[.others] += 1
    propagation.arrivals[future].fate = .endedEarly
    if nodes[future].isCounted {
      propagation.left += nodes[future].upstream.map { Start(node: $0, request: nil, leaves: true) }
    }
    let hasCompleted = propagation.hasCompleted
    endEarly(future, asked, &propagation)
    propagation.hasCompleted = hasCompleted
  }

  /// Law 17: of several answers the first in this order.
  private mutating func receipt(of propagation: CancellationPropagation) -> ModelReceipt {
    var receipt = propagation.receipt
    tally[.receipt] += 1
    if propagation.isDuplicate {
      // The laws are silent: a receipt says no more than that, though the withdrawal may have delivered another's.
      receipt = ModelReceipt(effect: .duplicate, reached: 1, handlers: receipt.handlers)
    } else if propagation.hasCompleted {
      receipt.effect = .completed
    } else if receipt.handlers > 0 {
      receipt.effect = .delivered
    } else if propagation.withheldBy > 0 {
      receipt.effect = .withheld(by: propagation.withheldBy)
    } else if propagation.metDuplicate {
      receipt.effect = .duplicate
    }
    return receipt
  }
}

extension ModelOutcome {
  /// What stands for it in the value of `allSettled`.
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
