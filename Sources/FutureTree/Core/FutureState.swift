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
    guard marks.isDisjoint(with: [.isAbandoned, .isRare]) else { return false }
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
    if isRare, request != nil || uncounted > 0 { endOwnInterestLater() }
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
    guard others > 0, !isRare, requests.asked == nil,
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
    if isRare { return nil }
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
    guard phase == .linked, marks.isDisjoint(with: [.innerIsCleanUp, .isRare]), case .none = requests else {
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

// The rarely set properties of a `FutureState`.

extension FutureState {
  /// Properties that few futures have. Code outside `FutureState` uses the accessors below.
  struct Marks: OptionSet {
    let rawValue: UInt8
    static let isShared = Marks(rawValue: 1 << 0)
    static let isRare = Marks(rawValue: 1 << 1)
    static let innerIsCleanUp = Marks(rawValue: 1 << 2)
    static let isAbandoned = Marks(rawValue: 1 << 3)
    static let isHeard = Marks(rawValue: 1 << 4)
    static let isInner = Marks(rawValue: 1 << 5)
    static let isObserved = Marks(rawValue: 1 << 6)
    static let isAwaited = Marks(rawValue: 1 << 7)

    subscript(mark: Marks) -> Bool {
      get { contains(mark) }
      set { if newValue { insert(mark) } else { remove(mark) } }
    }
  }

  /// Law 6 (shared futures): while other consumers have interest, every request is treated as under law 3 (stopping where
  /// others wait).
  var isShared: Bool {
    get { marks[.isShared] }
    set { marks[.isShared] = newValue }
  }

  /// Whether a monitor observes this future, or it lingers, or it is a pause. The fast paths are for other futures. Does not
  /// change after the future has ended.
  var isRare: Bool {
    get { marks[.isRare] }
    set { marks[.isRare] = newValue }
  }

  /// Whether a handler of this source has received a request.
  var isHeard: Bool {
    get { marks[.isHeard] }
    set { marks[.isHeard] = newValue }
  }

  /// Whether another future is or was linked to this one to take its outcome.
  var isInner: Bool {
    get { marks[.isInner] }
    set { marks[.isInner] = newValue }
  }

  /// Whether the storage for the first observer of this source was used. Does not change after the future has ended.
  var isObserved: Bool { marks[.isObserved] }

  /// Marks the storage for the first observer as used. Returns false, and does nothing, if a monitor observes this source or if
  /// the storage was used before.
  mutating func observesFirst() -> Bool {
    guard marks.isDisjoint(with: [.isRare, .isObserved]) else { return false }
    marks.insert(.isObserved)
    return true
  }

  /// Whether an awaiting task used the storage for the first observer.
  var isAwaited: Bool { marks[.isAwaited] }

  /// Marks that storage as used by an awaiting task, and counts the task as a consumer. Returns false if that is not possible.
  mutating func awaitsFirst() -> Bool {
    guard !isAbandoned, observesFirst(), oneMoreConsumer() else { return false }
    marks.insert(.isAwaited)
    return true
  }

  /// Whether another future that begins to wait for this one needs no signal from it.
  var forwardsNothing: Bool {
    guard isPending, marks.isDisjoint(with: [.isAbandoned, .isRare]), case .none = requests else { return false }
    return true
  }
}

// The results of `FutureState`: transitions, dispositions, effects and starts.

extension FutureState {
  /// The changes that signals made at one future. Retains nothing in the common case.
  struct Transition {
    /// The disposition of the request, or `nil` if there was none.
    var disposition: Disposition?
    /// The request stopped here, so its senders are no longer counted as consumers.
    var uncountsAll = false
    /// The departure in the signals to the futures that this one waits for, or `nil` if they receive no signal.
    var onward: Signal.Departure?
    /// Whether those futures also receive the request.
    var forwards = false
    /// The request that is applied, and the request that is forwarded upstream. `nil` if both are the received request.
    var delivered: Delivered?

    /// A class, so that the common case copies one word.
    final class Delivered: Sendable {
      let applied: CancelRequest
      let forwarded: CancelRequest

      init(applied: CancelRequest, forwarded: CancelRequest) {
        self.applied = applied
        self.forwarded = forwarded
      }
    }

    /// Returns the request that takes effect, if any.
    func applied(_ request: CancelRequest?) -> CancelRequest? { delivered?.applied ?? request }

    /// Returns the request that the futures that this one waits for receive, if any.
    func forwarded(_ request: CancelRequest?) -> CancelRequest? {
      forwards ? (delivered?.forwarded ?? request)?.forwarded : nil
    }
  }

  /// The decision of one future about a request.
  enum Disposition: Equatable {
    case tooLate(Ending)
    /// The future received a request that was at least as strong before.
    case duplicate
    /// A duplicate at a source without a handler: the earlier request is stored there.
    case storedBefore
    /// No other consumer means that the future lingers. Law 24 (lingering).
    case withheld(others: Int)
    case applied(Effect)
  }

  /// The effect of a request that is applied to a future.
  enum Effect: Equatable {
    /// The handlers of the source receive the request. The future stays pending.
    case callsHandlers
    /// The futures that it waits for receive the request. The future stays pending.
    case forwards
    /// No other future receives the request now. A future that the body returns receives it when it is linked. A clean-up never
    /// receives it. Law 8 (no request is lost).
    case stores
    /// The future ends as `.cancelled` now and detaches from the futures that it waits for. They receive the request, unless it
    /// is not forwarded.
    case ends
    /// The future ends now because its body will not run: with the failure of its upstream, or `.cancelled`.
    case skipsBody
  }

  /// The reaction of a derived future to the end of its upstream.
  enum Start: Equatable {
    /// No reaction: the future ended before.
    case gone
    /// It ends with the outcome of its upstream.
    case passes
    /// It ends as `.cancelled`, because it received a request before its body began.
    case cancels
    /// The body runs now.
    case runs
    /// The body is submitted to its executor.
    case queues
  }
}

/// The interest that a future has in itself while it lingers. Law 24 (lingering).
extension FutureState {
  enum OwnInterest: UInt8 {
    /// The future does not linger.
    case none
    /// The time has passed, or nothing delays the request. A new consumer begins the interest again.
    case over
    /// It is counted as a consumer.
    case counted
    /// It is counted, and is the only interest. The timer runs, or is about to be set.
    case isEnding
  }

  /// Whether the future lingers. Its mark `isRare` is then set.
  var lingers: Bool { ownInterest != .none }

  /// Whether the future's own interest is counted as a consumer.
  var hasOwnInterest: Bool { ownInterest.rawValue >= OwnInterest.counted.rawValue }

  /// The number of consumers, without the future's own interest.
  var otherConsumers: Int { Int(consumers) - (hasOwnInterest ? 1 : 0) }

  /// Whether the future's own interest is the only interest in it.
  var isOnlyLingering: Bool { hasOwnInterest && consumers == 1 }

  /// Begins the interest, or stops its timer.
  mutating func beginOwnInterest() {
    if !hasOwnInterest { consumers += 1 }
    ownInterest = .counted
    isRare = true
  }

  /// Starts the timer if there is no other interest.
  mutating func endOwnInterestLater() {
    if ownInterest == .counted, consumers == 1 { ownInterest = .isEnding }
  }

  /// Ends the interest if no consumer but the senders has interest, and a request is not delayed.
  @inline(never)
  mutating func endOwnInterest(for request: CancelRequest?, senders: Int) {
    guard Int(consumers) == senders + 1, request?.endsLinger == true || requests.withheld?.endsLinger == true else {
      return
    }
    ownInterestDeparted()
    consumers -= 1
  }

  /// Records that the entry of the `Linger`, which is no longer counted, has sent a signal with which it departed.
  mutating func ownInterestDeparted() { ownInterest = .over }
}
