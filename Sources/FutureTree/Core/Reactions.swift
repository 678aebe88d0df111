/// The effects of a propagation on one future, under that future's lock.
extension Node {
  /// The reaction of a future to signals.
  struct Reaction {
    let transition: FutureState.Transition
    /// The future that this one waits for, if it is one future and receives a signal.
    var upstream: Node?
    /// In a preview, the number of handlers of a source that the request would call.
    var handlerCount = 0
    /// This future has ended.
    var hasEnded = false
    /// This future has ended and still has its body: the propagation runs or releases it.
    var ownsBody = false
  }

  /// Receives the only signal that a propagation has for this future.
  ///
  /// - Parameters:
  ///   - position: The position of this future among those that the propagation has reached, if the request is applied.
  ///   - queue: Receives the signals to the inputs of a join, and the reports. `nil` if no queue was made yet.
  func receive(
    _ request: CancelRequest?, from sender: Unmanaged<Waiter>?, _ departure: Signal.Departure, reachedAs position: Int,
    _ queue: inout SignalQueue?
  ) -> Reaction {
    lock.withLock { receiveLocked(request, from: sender, departure, reachedAs: position, &queue) }
  }

  /// Receives a signal. Returns nil, and does nothing, if another signal may still come.
  func receiveIfAlone(
    _ signal: QueuedSignal, _ request: CancelRequest?, reachedAs position: Int, _ queue: inout SignalQueue?
  ) -> Reaction? {
    lock.withLock {
      if state.isPending, isMeetingPoint { return nil }
      return receiveLocked(request, from: signal.sender, signal.departure, reachedAs: position, &queue)
    }
  }

  /// Receives all signals that a propagation has for this future.
  ///
  /// - Parameter request: The strongest of their requests.
  func receive(
    _ signals: Signals, _ request: CancelRequest?, reachedAs position: Int, _ queue: inout SignalQueue?
  ) -> Reaction {
    lock.withLock {
      let transition = receive(request, from: signals.countedSenders)
      if state.isPending {
        for signal in signals.all { depart(signal.sender, signal.departure, uncounts: transition.uncountsAll) }
      }
      return react(to: transition, request, reachedAs: position, &queue)
    }
  }

  @inline(__always)
  private func receiveLocked(
    _ request: CancelRequest?, from sender: Unmanaged<Waiter>?, _ departure: Signal.Departure, reachedAs position: Int,
    _ queue: inout SignalQueue?
  ) -> Reaction {
    let transition = receive(request, from: Signal.count(sender, departure))
    if state.isPending { depart(sender, departure, uncounts: transition.uncountsAll) }
    return react(to: transition, request, reachedAs: position, &queue)
  }

  /// Decides on a request. The state of a future that has ended must not change, because other code reads it without the lock.
  @inline(__always)
  private func receive(_ request: CancelRequest?, from senders: (all: Int, departing: Int)) -> FutureState.Transition {
    if state.isPending { return state.receive(request, from: senders) }
    var ended = state
    return ended.receive(request, from: senders)
  }

  /// - Parameter uncounts: Whether the sender is no longer a consumer even if it stays.
  @inline(__always)
  func depart(_ sender: Unmanaged<Waiter>?, _ departure: Signal.Departure, uncounts: Bool = false) {
    sender?._withUnsafeGuaranteedRef { sender in
      if departure == .leaves { waiters.remove(sender) }
      if uncounts || departure != .stays { sender.isCounted = false }
    }
  }

  private func react(
    to transition: FutureState.Transition, _ request: CancelRequest?, reachedAs position: Int,
    _ queue: inout SignalQueue?
  ) -> Reaction {
    var reaction = Reaction(transition: transition)
    goOn(from: &reaction, request, reachedAs: position, &queue)
    if state.isRare { report(transition, request, &queue) }
    if case .applied(let effect)? = transition.disposition, effect == .ends || effect == .skipsBody {
      reaction.ownsBody = effect == .skipsBody || ownsBody
      reaction.hasEnded = end(effect, because: transition.applied(request)?.reason ?? .unspecified)
    }
    return reaction
  }

  private func end(_ effect: FutureState.Effect, because reason: CancellationReason) -> Bool {
    if effect == .skipsBody, let upstream = upstream?.takeUnretainedValue(), upstream.state.ending == .failed {
      return endLocked(as: upstream)
    }
    return endCancelled(reason)
  }

  @inline(never)
  private func report(_ transition: FutureState.Transition, _ request: CancelRequest?, _ queue: inout SignalQueue?) {
    let reports = [
      report(.received(transition.applied(request), transition.disposition)),
      state.lingers ? lingerAfterTransition() : nil,
      transition.disposition == nil ? endPauseWithoutWaiter() : nil,
    ].compactMap { $0 }
    guard !reports.isEmpty else { return }
    let used = queue ?? SignalQueue()
    used.reports += reports
    queue = used
  }

  @inline(__always)
  private func goOn(
    from reaction: inout Reaction, _ request: CancelRequest?, reachedAs position: Int, _ queue: inout SignalQueue?
  ) {
    guard let departure = reaction.transition.onward else { return }
    if state.createdBy.isJoin {
      send(reaction.transition.forwarded(request), departure, reachedAs: position, &queue)
    } else {
      reaction.upstream = upstream?.takeUnretainedValue()
    }
  }

  /// Adds a signal for each input of a join.
  @inline(never)
  private func send(
    _ request: CancelRequest?, _ departure: Signal.Departure, reachedAs position: Int, _ queue: inout SignalQueue?
  ) {
    let used = queue ?? SignalQueue()
    if let request { used.retain(request.object) }
    unsafeDowncast(self, to: Join.self).send(
      request?.unretained, departure, predecessor: request == nil ? nil : position, in: used)
    queue = used
  }

  /// Withdraws the interest of a consumer in the common case: no withheld request is delivered. Returns nil, and does nothing, in
  /// every other case.
  ///
  /// - Returns: Whether it was the last consumer and, if so, the future that this one waits for.
  func withdrawAtOnce(
    _ sender: Unmanaged<Waiter>, _ departure: Signal.Departure
  ) -> (isAbandoned: Bool, upstream: Node?)? {
    guard !state.createdBy.isJoin else { return nil }
    return lock.withLock {
      guard state.isPending, let isAbandoned = state.withdrawsAtOnce(Signal.count(sender, departure).departing) else {
        return nil
      }
      depart(sender, departure, uncounts: true)
      return (isAbandoned, isAbandoned ? upstream?.takeUnretainedValue() : nil)
    }
  }

  /// Returns what `receive` would return for the predicted state of this future, and changes that state instead of the future's
  /// own.
  func preview(
    _ signals: Signals, _ request: CancelRequest?, reachedAs position: Int,
    in states: inout [ObjectIdentifier: FutureState],
    _ queue: inout SignalQueue?
  ) -> Reaction {
    lock.withLock {
      var imagined = states[ObjectIdentifier(self)] ?? state
      let reaction = preview(
        request, from: signals.countedSenders, state: &imagined, reachedAs: position, &queue)
      states[ObjectIdentifier(self)] = imagined
      return reaction
    }
  }

  /// Previews the only signal that a propagation has for this future.
  func preview(
    _ request: CancelRequest?, from sender: Unmanaged<Waiter>?, _ departure: Signal.Departure, reachedAs position: Int,
    _ queue: inout SignalQueue?
  ) -> Reaction {
    lock.withLock {
      var imagined = state
      return preview(
        request, from: Signal.count(sender, departure), state: &imagined, reachedAs: position, &queue)
    }
  }

  private func preview(
    _ request: CancelRequest?, from senders: (all: Int, departing: Int), state imagined: inout FutureState,
    reachedAs position: Int, _ queue: inout SignalQueue?
  ) -> Reaction {
    var reaction = Reaction(transition: imagined.receive(request, from: senders))
    goOn(from: &reaction, request, reachedAs: position, &queue)
    guard case .applied(let effect)? = reaction.transition.disposition else { return reaction }
    if effect == .ends || effect == .skipsBody { _ = imagined.end(.cancelled) }
    if let source = asSource { reaction.handlerCount = source.handlerCount }
    return reaction
  }

  @inline(__always)
  var asSource: Source? { state.createdBy.isSource ? unsafeDowncast(self, to: Source.self) : nil }

  /// Whether no thread and no job has the body yet: see invariant 2 of `FutureState`. Called under the lock.
  var ownsBody: Bool {
    switch state.phase {
    case .waiting: true
    case .queued: !state.createdBy.runsBodyWhenEndedEarly
    case .running, .linked, .succeeded, .failed, .cancelled: false
    }
  }

  /// Ends as `.cancelled` now, if it still waits for `input`. The future of a scope, which only orders, does not end early.
  ///
  /// - Parameter left: Receives the other futures that it waited for.
  /// - Returns: Whether the caller owns the body, or `nil` if this future did not end.
  func endEarly(waitingFor input: Node, reason: CancellationReason, leaving left: inout [Link]) -> Bool? {
    lock.withLock {
      guard state.isPending, !state.createdBy.onlyOrders else { return nil }
      if state.createdBy.isJoin {
        let links = Array(waitsFor)
        let others = links.filter { $0.node !== input }
        guard others.count < links.count else { return nil }
        left += others
      } else {
        guard let upstream, upstream.toOpaque() == Unmanaged.passUnretained(input).toOpaque() else { return nil }
      }
      let ownsBody = ownsBody
      return endCancelled(reason) ? ownsBody : nil
    }
  }

  /// Removes an entry that has stopped waiting for this future and is not counted. Returns false, and does nothing, if the
  /// interest of the entry was renewed meanwhile.
  func leaves(_ entry: Waiter) -> Bool {
    lock.withLock {
      guard state.isPending else { return true }
      if entry.isCounted { return false }
      waiters.remove(entry)
      return true
    }
  }
}

/// The common cases of a propagation at one future, in one short locked section. The methods above have all cases.
extension Node {
  /// The effect of a request in the common case. The value is plain bits. The caller releases the reference in it.
  enum Application {
    /// The request is forwarded to the one future that this one waits for.
    case forwards(to: Unmanaged<Node>)
    /// The handlers of this source receive it.
    case callsHandlers
    /// This future has ended. The future that it waited for receives a signal.
    case ends(upstream: Unmanaged<Node>)
    /// This source has ended.
    case endsSource
    /// The request was withheld, because other consumers have interest. The sender is no longer a consumer.
    case withheld
    /// No common case. Nothing has changed.
    case none
  }

  /// Performs `receive` in the common case: the request has at most one sender.
  ///
  /// - Parameters:
  ///   - isAlone: Whether no other signal of the propagation can reach this future. If false, a meeting point returns `.none`.
  ///   - details: Receives further results. They are not part of the return value, so that it is one word.
  @inline(__always)
  func applyAtOnce(
    _ request: CancelRequest, from sender: Unmanaged<Waiter>?, _ departure: Signal.Departure, isAlone: Bool,
    _ details: inout ApplicationDetails
  ) -> Application {
    if state.createdBy.isJoin { return .none }
    return lock.withLock {
      // The state of a future that has ended must not change: other code reads it without the lock.
      guard state.isPending, isAlone || !isMeetingPoint else { return .none }
      let upstream = upstream
      let senders = Signal.count(sender, .stays).all
      guard upstream != nil || state.createdBy.isSource,
        let effect = state.appliesAtOnce(request, senders: senders, depart: departure != .stays)
      else { return withholdAtOnce(request, from: sender, senders, departure, &details) ? .withheld : .none }
      switch effect {
      case .forwards:
        return upstream.map { .forwards(to: $0.retain()) } ?? .none
      case .ends:
        return endAtOnce(request, &details)
      default:
        depart(sender, departure)
        return .callsHandlers
      }
    }
  }

  /// Further results of `applyAtOnce`.
  struct ApplicationDetails {
    /// This future has ended and still has its body.
    var ownsBody = false
    /// The number of other consumers, if the request was withheld.
    var others = 0
  }

  @inline(never)
  private func endAtOnce(_ request: CancelRequest, _ details: inout ApplicationDetails) -> Application {
    details.ownsBody = ownsBody
    let left = upstream?.retain()
    _ = endCancelled(request.reason)
    return left.map { .ends(upstream: $0) } ?? .endsSource
  }

  @inline(never)
  private func withholdAtOnce(
    _ request: CancelRequest, from sender: Unmanaged<Waiter>?, _ senders: Int, _ departure: Signal.Departure,
    _ details: inout ApplicationDetails
  ) -> Bool {
    guard let others = state.withholdsAtOnce(request, senders: senders) else { return false }
    details.others = others
    depart(sender, departure, uncounts: true)
    return true
  }

  /// Whether this future is pending, and several entries may send signals.
  var mayBeMeetingPoint: Bool { lock.withLock { state.isPending && isMeetingPoint } }

  /// Whether several entries may send signals. Called under the lock.
  @inline(__always)
  final var isMeetingPoint: Bool { waiters.hasSeveral }
}
