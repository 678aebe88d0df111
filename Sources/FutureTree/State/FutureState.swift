/// The life of one future and what is wanted of it, as a value. Pure: takes no lock, calls no closure, holds no future.
///
/// # Invariants
/// 1. `succeeded`, `failed` and `cancelled` are final: no later event changes the phase.
/// 2. Whoever moves the phase out of `waiting` owns the body from then on: to run it, to queue it, or to release it.
/// 3. `consumers` counts exactly the entries and tokens whose `isCounted` is true.
struct FutureState {
  enum Phase: UInt8 {
    /// For its promise, or for its upstream.
    case waiting
    /// Upstream has ended; an executor has the body and has not begun it.
    case queued
    /// The body runs, or the future it returned is being linked.
    case running
    /// The outcome will be that of an inner future.
    case linked
    case succeeded, failed, cancelled
  }

  let madeBy: Operator
  private(set) var phase: Phase = .waiting
  /// Law 6: while others wait, every request that reaches this future is treated as law 3.
  var isShared = false
  private var innerIsCleanUp = false
  /// Law 10: it had consumers and lost the last because they withdrew, so that it wants nothing itself.
  private(set) var isAbandoned = false
  private(set) var consumers: Int32 = 0
  private(set) var requests: RequestHistory = .none

  init(madeBy: Operator) {
    self.madeBy = madeBy
  }

  var ending: Ending? {
    switch phase {
    case .succeeded: .succeeded
    case .failed: .failed
    case .cancelled: .cancelled
    case .waiting, .queued, .running, .linked: nil
    }
  }

  var isPending: Bool { phase.rawValue < Phase.succeeded.rawValue }

  /// Law 8: it waits for an inner future that cleans up after a cancellation, and that is never asked.
  var isCleaningUp: Bool { phase == .linked && innerIsCleanUp }
}

// MARK: - Interest

extension FutureState {
  /// A consumer came. Returns whether it is wanted again, so that what it waits for must be told.
  mutating func consumerCame() -> Bool {
    consumers += 1
    defer { isAbandoned = false }
    return isAbandoned
  }

  /// A consumer no longer wants the value. Returns whether it was the last.
  mutating func consumerLeft() -> Bool {
    consumers -= 1
    return consumers == 0
  }

  /// The last consumer left and nobody came since.
  mutating func abandon() {
    isAbandoned = true
  }
}

// MARK: - Requests

extension FutureState {
  /// What a request meets at one future.
  enum Reception {
    case tooLate(Ending)
    case duplicate
    case withheld(others: Int)
    case applied(CancelRequest, Effect)
  }

  /// What a future does with a request that was applied to it.
  enum Effect: Equatable {
    /// Its handlers get the request, and it goes on waiting.
    case callsHandlers
    /// What it waits for gets the request, and it goes on waiting.
    case forwards
    /// Nobody can be asked now. An inner future, or the body's end, will find the request.
    case stores
    /// It ends `.cancelled` now and lets go of what it waits for, which is asked unless the request is not forwarded.
    case ends
    /// It ends now because its body will not run: with the failure that upstream ended with, or `.cancelled`.
    case skipsBody
  }

  /// A request arrives that `others` consumers, without the asker, might object to.
  mutating func receive(_ request: CancelRequest, others: Int) -> Reception {
    if let ending { return .tooLate(ending) }
    if let asked = requests.asked, !request.isStronger(than: asked) { return .duplicate }
    if isShared || request.options.contains(.doNotForwardIfOthersWaiting), others > 0 {
      requests.withhold(request)
      return .withheld(others: others)
    }
    return apply(requests.ask(request, includingWithheld: others == 0))
  }

  /// The last consumer left: what was withheld is delivered, if it still is news.
  mutating func receiveWithheld() -> Reception? {
    guard isPending, consumers == 0, let withheld = requests.withheld else { return nil }
    return receive(withheld, others: 0)
  }

  private func apply(_ request: CancelRequest) -> Reception {
    .applied(request, effect(of: request))
  }

  private func effect(of request: CancelRequest) -> Effect {
    if request.options.isForced { return .ends }
    switch phase {
    case .waiting where madeBy == .promise: return .callsHandlers
    case _ where request.options.reach == 1: return .ends
    case .queued where madeBy.skipsBodyWhenAsked: return .skipsBody
    case .waiting: return .forwards
    case .linked: return isCleaningUp ? .stores : .forwards
    default: return .stores
    }
  }
}

// MARK: - Life

extension FutureState {
  /// What a derived future does once its upstream has ended.
  enum Start: Equatable {
    /// It ended before.
    case gone
    /// It takes over the outcome of upstream.
    case passes
    /// It ends `.cancelled`: the body would have run, but its future was asked to cancel first.
    case cancels
    /// The body runs now.
    case runs
    /// The body goes to its executor.
    case queues
  }

  /// Upstream ended, or the inner future did.
  mutating func upstreamEnded(_ ending: Ending, hasExecutor: Bool) -> Start {
    switch phase {
    case .waiting:
      guard madeBy.runsBody(on: ending) else { return start(.passes) }
      if requests.asked != nil, madeBy.skipsBodyWhenAsked {
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

  private mutating func start(_ start: Start) -> Start {
    phase = .running
    return start
  }

  /// An executor got to the body. Returns false if the future ended before.
  mutating func bodyBegins() -> Bool {
    guard phase == .queued else { return false }
    phase = .running
    return true
  }

  /// Somebody seals the promise onto another future. Returns false if that was done before.
  mutating func seal() -> Bool {
    guard phase == .waiting else { return false }
    phase = .running
    return true
  }

  /// The outcome will be that of an inner future. Returns false if the future ended meanwhile.
  mutating func link(isCleanUp: Bool) -> Bool {
    guard isPending else { return false }
    phase = .linked
    innerIsCleanUp = isCleanUp
    return true
  }

  /// The outcome is there. Returns false if there was one before; for a promise, also if it was sealed before.
  mutating func end(_ ending: Ending, byPromise: Bool = false) -> Bool {
    guard byPromise ? phase == .waiting : isPending else { return false }
    switch ending {
    case .succeeded: phase = .succeeded
    case .failed: phase = .failed
    case .cancelled: phase = .cancelled
    }
    if case .some(let asked, _) = requests { requests = .some(asked: asked, withheld: nil) }
    return true
  }
}
