/// The life cycle of one future, its consumers and its requests, as a value. Pure: takes no lock, calls no closure, holds no
/// future.
///
/// # Invariants
/// 1. `succeeded`, `failed` and `cancelled` are final: no later event changes the phase.
/// 2. The thread that moves the phase out of `waiting` owns the body: it runs, queues or releases it. A queued body belongs to
///    the thread that moves the phase out of `queued`. If the body also runs when its branch ends early, it belongs to its job.
/// 3. `consumers` is the number of entries, tokens and lingers whose `isCounted` is true, plus a task that waits without an entry.
struct FutureState {
  enum Phase: UInt8 {
    /// The future waits for its promise, its upstream, or the inputs of a join.
    case waiting
    /// Upstream has ended. An executor has the body and has not begun it.
    case queued
    /// The body runs, or the future that it returned is being linked.
    case running
    /// The outcome will be that of an inner future.
    case linked
    case succeeded, failed, cancelled
  }

  private(set) var requests: RequestHistory = .none
  var consumers: Int32 = 0
  let createdBy: Operator
  private(set) var phase: Phase = .waiting
  var marks: Marks = []
  var ownInterest: OwnInterest = .none

  init(createdBy: Operator) {
    self.createdBy = createdBy
  }

  /// The state of a future that has a value from the start.
  static let succeeded: FutureState = {
    var state = FutureState(createdBy: .promise)
    state.phase = .succeeded
    return state
  }()

  /// Whether this future only forwards an outcome to its one consumer: it has no request, and no mark except `isInner`.
  var canBeBypassed: Bool {
    guard phase == .running, marks == .isInner, consumers == 1, case .none = requests else { return false }
    return true
  }

  /// Law 10 (one consumer, one count): the last consumer has withdrawn, so this future has no interest in its own upstream.
  var isAbandoned: Bool { marks[.isAbandoned] }

  var ending: Ending? {
    switch phase {
    case .succeeded: .succeeded
    case .failed: .failed
    case .cancelled: .cancelled
    case .waiting, .queued, .running, .linked: nil
    }
  }

  var isPending: Bool { phase.rawValue < Phase.succeeded.rawValue }

  /// Whether it waits for an inner future that cleans up, which receives no request. Law 8 (no request is lost).
  var isCleaningUp: Bool { phase == .linked && marks[.innerIsCleanUp] }
}

// MARK: - Interest

extension FutureState {
  /// Counts a consumer in the common case that no other future must be notified. Otherwise returns false and does nothing.
  @inline(__always)
  mutating func oneMoreConsumer() -> Bool {
    guard marks.isDisjoint(with: [.isAbandoned, .isWatched]) else { return false }
    consumers += 1
    return true
  }

  /// Counts a consumer. Returns whether it is the first one after all had withdrawn: then its upstream must be notified.
  mutating func consumerCame() -> Bool {
    consumers += 1
    defer { marks[.isAbandoned] = false }
    return isAbandoned
  }
}

// MARK: - Requests

extension FutureState {
  /// Receives the signals of one propagation.
  ///
  /// - Parameters:
  ///   - request: The strongest request, if there is one.
  ///   - senders: The number of consumers that send a signal, and the number of them that depart.
  mutating func receive(_ request: CancelRequest?, from senders: (all: Int, departing: Int) = (0, 0)) -> Transition {
    var transition = Transition()
    if let request { transition.disposition = decide(on: request, from: senders.all, &transition.delivered) }
    guard isPending else { return transition }
    if case .withheld? = transition.disposition { transition.uncountsAll = true }
    let uncounted = transition.uncountsAll ? senders.all : senders.departing
    if uncounted > 0 {
      consumers -= Int32(uncounted)
      if hasOwnInterest { endOwnInterest(for: nil, senders: 0) }
      if consumers == 0 { lastConsumerWithdrew(&transition) }
    }
    if isWatched, request != nil || uncounted > 0 { endOwnInterestLater() }
    guard case .applied(let effect)? = transition.disposition else { return transition }
    switch effect {
    case .callsHandlers, .stores:
      break
    case .forwards:
      transition.onward = transition.onward ?? .stays
      transition.forwards = true
    case .ends:
      transition.onward = .leaves
      transition.forwards = createdBy.forwardsRequests && !isCleaningUp
    case .skipsBody:
      transition.onward = nil
    }
    return transition
  }

  /// Applies a request in the common case: it is the first, and has at most one sender. Returns nil, and does nothing, in every
  /// other case.
  @inline(__always)
  mutating func appliesAtOnce(_ request: CancelRequest, senders: Int, depart: Bool) -> Effect? {
    guard case .none = requests, marks.subtracting(.isInner).isEmpty, phase == .waiting || phase == .linked,
      createdBy.forwardsRequests
    else { return nil }
    let options = request.options
    if options.contains(.doNotForwardIfOthersWaiting), Int(consumers) != senders { return nil }
    let isSource = createdBy.isSource && phase == .waiting
    let effect: Effect =
      options.isForced ? .ends : isSource ? .callsHandlers : options.reach == .thisFuture ? .ends : .forwards
    if depart {
      guard effect == .callsHandlers else { return nil }
      consumers -= Int32(senders)
      if senders > 0, consumers == 0 { marks.insert(.isAbandoned) }
    }
    requests = .asked(request)
    return effect
  }

  /// Withholds a request in the common case: no request took effect before. Returns the number of other consumers. Returns nil,
  /// and does nothing, in every other case.
  @inline(__always)
  mutating func withholdsAtOnce(_ request: CancelRequest, senders: Int) -> Int? {
    let others = Int(consumers) - senders
    guard others > 0, !isWatched, requests.asked == nil,
      isShared || request.options.contains(.doNotForwardIfOthersWaiting)
    else { return nil }
    requests.withhold(request)
    consumers -= Int32(senders)
    return others
  }

  /// Withdraws the interest of consumers in the common case: they send no request, and no withheld request is delivered. Returns
  /// whether the last consumer has withdrawn. Returns nil, and does nothing, in every other case.
  @inline(__always)
  mutating func withdrawsAtOnce(_ departing: Int) -> Bool? {
    if isWatched { return nil }
    guard departing > 0, Int(consumers) == departing else {
      consumers -= Int32(departing)
      return false
    }
    guard requests.withheld == nil else { return nil }
    consumers = 0
    marks.insert(.isAbandoned)
    return true
  }

  /// Withdraws the interest upstream, and delivers the withheld request unless it is a duplicate.
  private mutating func lastConsumerWithdrew(_ transition: inout Transition) {
    marks[.isAbandoned] = true
    transition.onward = .losesInterest
    guard requests.withheld != nil, let asked = requests.ask(nil, deliversWithheld: true) else { return }
    transition.disposition = .applied(effect(of: asked.applied))
    transition.delivered = Transition.Delivered(applied: asked.applied, forwarded: asked.forwarded)
  }

  /// A duplicate is delivered to no handler. The interest of its senders is withdrawn nevertheless, by law 3 (stopping where
  /// others wait). If they were the last consumers, the withheld request is delivered.
  private mutating func decide(
    on request: CancelRequest, from senders: Int, _ delivered: inout Transition.Delivered?
  ) -> Disposition {
    if let ending { return .tooLate(ending) }
    if hasOwnInterest { endOwnInterest(for: request, senders: senders) }
    let others = Int(consumers) - senders
    let isDuplicate = !requests.isNews(request)
    if isShared || request.options.contains(.doNotForwardIfOthersWaiting), others > 0, !isDuplicate || senders > 0 {
      if !isDuplicate { requests.withhold(request) }
      return .withheld(others: hasOwnInterest ? others - 1 : others)
    }
    if case .none = requests {
      requests = .asked(request)
      return .applied(effect(of: request))
    }
    guard let asked = requests.ask(isDuplicate ? nil : request, deliversWithheld: others == 0) else {
      let isStored = createdBy.isSource && phase == .waiting && !isHeard
      return isStored ? .storedBefore : .duplicate
    }
    if !asked.applied.isSame(as: request) || !asked.forwarded.isSame(as: request) {
      delivered = Transition.Delivered(applied: asked.applied, forwarded: asked.forwarded)
    }
    return .applied(effect(of: asked.applied))
  }

  private func effect(of request: CancelRequest) -> Effect {
    let options = request.options
    if options.isForced { return .ends }
    switch phase {
    case .waiting where createdBy.isSource: return .callsHandlers
    case _ where options.reach == .thisFuture || !createdBy.forwardsRequests: return .ends
    case .queued where createdBy.skipsBodyWhenAsked: return .skipsBody
    case .waiting: return .forwards
    case .linked: return isCleaningUp ? .stores : .forwards
    default: return .stores
    }
  }
}

// MARK: - Life cycle

extension FutureState {
  /// Handles the end of the upstream or of the inner future.
  mutating func upstreamEnded(_ ending: Ending, hasExecutor: Bool) -> Start {
    switch phase {
    case .waiting:
      guard createdBy.runsBody(on: ending) else { return start(.passes) }
      if requests.asked != nil, createdBy.skipsBodyWhenAsked {
        return start(ending == .succeeded ? .cancels : .passes)
      }
      phase = hasExecutor ? .queued : .running
      return hasExecutor ? .queues : .runs
    case .running, .linked:  // Running: the inner future ended while it was being linked.
      return start(.passes)
    case .queued, .succeeded, .failed, .cancelled:
      return .gone
    }
  }

  /// Begins the body in the common case: no request was received. The caller has checked that the operator runs a body for this
  /// ending, and that no executor is set. Returns false, and does nothing, in every other case.
  mutating func beginsAtOnce() -> Bool {
    guard phase == .waiting, case .none = requests else { return false }
    phase = .running
    return true
  }

  /// Whether this future only has to end as its upstream did: it is neither a source nor a join. The caller has checked that the
  /// operator runs no body for this ending.
  func passesAtOnce() -> Bool {
    (phase == .waiting || phase == .linked) && !createdBy.isSource && !createdBy.isJoin
  }

  private mutating func start(_ start: Start) -> Start {
    phase = .running
    return start
  }

  /// Handles the start of the body's job. Returns false if the future ended before.
  mutating func bodyBegins() -> Bool {
    guard phase == .queued else { return false }
    phase = .running
    return true
  }

  /// Seals the promise onto another future. Returns false if it was sealed or completed before.
  mutating func seal() -> Bool {
    guard phase == .waiting else { return false }
    phase = .running
    return true
  }

  /// Links the future to an inner future, whose outcome it will take. Returns false if the future ended meanwhile.
  mutating func link(isCleanUp: Bool) -> Bool {
    guard isPending else { return false }
    phase = .linked
    marks[.innerIsCleanUp] = isCleanUp
    return true
  }

  /// Unlinks the future from its inner future. Returns false if it is not linked, or must stay linked.
  mutating func unlink() -> Bool {
    guard phase == .linked, marks.isDisjoint(with: [.innerIsCleanUp, .isWatched]), case .none = requests else {
      return false
    }
    phase = .running
    return true
  }

  /// Ends the future. Returns false if it had ended, or if a promise completes it after it was sealed.
  @inline(__always)
  mutating func end(_ ending: Ending, byPromise: Bool = false) -> Bool {
    guard byPromise ? phase == .waiting : isPending else { return false }
    switch ending {
    case .succeeded: phase = .succeeded
    case .failed: phase = .failed
    case .cancelled: phase = .cancelled
    }
    requests.ended()
    return true
  }
}
