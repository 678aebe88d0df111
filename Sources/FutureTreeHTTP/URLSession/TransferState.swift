/// One request on the wire, as a value: what was asked, and what comes of it. Pure: no socket, no lock. What arrives is
/// checked and kept by a `ResponseReceiver`.
///
/// # Invariants
/// 1. It ends once. What is reported after that changes nothing, a success included.
/// 2. A response of which the receiver did not get everything never is a success (H12).
/// 3. A cancellation ends it only when the transport confirms, so that its connection is free then (H5); force, a deadline
///    or a fault ends it at once, and the transport is stopped behind it.
/// 4. One piece of work runs at a time. An ending that comes meanwhile waits until it is done, so that nobody writes to a
///    file that was given up, and no progress is told after the end.
struct TransferState {
  /// What the transport reports at its end, in the terms of no platform.
  enum End {
    case completed
    case stopped
    case failed(HTTPError)
  }

  /// What is to be done after an event.
  enum Action {
    case none
    /// Stop the transport, and wait for it.
    case stop
    /// Pass what was reported to the receiver and to the progress handler, outside the lock, and report it with `worked`.
    case work(sent: HTTPProgress.Part)
    /// The transfer has ended; the transport, where it has not, is to be stopped.
    case end(Ending, stopsTransport: Bool)
  }

  enum Ending {
    /// The receiver has everything that there is.
    case received
    case failure(HTTPError)
    case cancelled
  }

  /// What a transfer is held to.
  struct Rules {
    var idleTimeout: Duration?
    var reportsProgress = false
    var bodyLength: Int?
  }

  /// Whether there is a reason to send it, or to go on.
  var isWanted: Bool { !hasEnded && !isCancelAsked }
  private(set) var hasHead = false
  private let rules: Rules
  private var sent: HTTPProgress.Part
  private var lastActivity: Duration
  private var isCancelAsked = false
  /// Parts of the response were thrown away because nobody wants them any more.
  private var hasDropped = false
  /// The platform asked for credentials and was refused: the answer that it stopped is the answer (a 401).
  private var hasRefusedChallenge = false
  private var hasOpenedBody = false
  private var isWorking = false
  /// An ending that waits for work.
  private var heldEnd: Action?
  private var hasEnded = false

  init(_ rules: Rules, now: Duration = .zero) {
    self.rules = rules
    sent = HTTPProgress.Part(total: rules.bodyLength)
    lastActivity = now
  }
}

// MARK: - What is asked

extension TransferState {
  mutating func cancelAsked(isForced: Bool = false) -> Action {
    guard !hasEnded else { return .none }
    defer { isCancelAsked = true }
    if isForced { return end(.cancelled, stopsTransport: true) }
    return isCancelAsked ? .none : .stop
  }

  mutating func deadlinePassed() -> Action {
    timedOut("The deadline passed")
  }

  /// - Returns: and after what time the timer is to fire again; nil if the transfer has ended.
  mutating func idleTimerFired(now: Duration) -> (Action, again: Duration?) {
    guard !hasEnded, let timeout = rules.idleTimeout else { return (.none, nil) }
    let left = lastActivity + timeout - now
    guard left <= .zero else { return (.none, left) }
    return (timedOut("Nothing was sent or received for \(timeout.rounded)"), nil)
  }

  private mutating func timedOut(_ what: String) -> Action {
    guard !isCancelAsked else { return hasEnded ? .none : end(.cancelled, stopsTransport: true) }
    let place = !hasHead ? "before the answer began" : "while the body arrived"
    return fail(.timedOut, "\(what) \(place). Load again, or allow more time.")
  }
}

// MARK: - What the transport reports

extension TransferState {
  mutating func challengeRefused() {
    hasRefusedChallenge = true
  }

  /// The platform asks for the body.
  ///
  /// - Returns: Whether it does so for the first time.
  mutating func bodyOpened() -> Bool {
    defer { hasOpenedBody = true }
    return !hasOpenedBody
  }

  /// The request cannot be sent, or only in part.
  mutating func requestFailed(_ error: HTTPError) -> Action {
    hasEnded ? .none : end(.failure(error), stopsTransport: true)
  }

  /// `count` bytes of the request's body have been sent in all.
  mutating func bodySent(_ count: Int, now: Duration = .zero) -> Action {
    guard !hasEnded else { return .none }
    lastActivity = now
    let count = min(count, sent.total ?? count)
    guard count > sent.completed else { return .none }
    sent.completed = count
    return rules.reportsProgress ? work() : .none
  }

  mutating func headArrived(_ status: HTTPStatus, now: Duration = .zero) -> Action {
    guard !hasEnded else { return .none }
    lastActivity = now
    guard !status.isInformational else { return .none }  // The answer is still to come.
    hasHead = true
    return receive()
  }

  mutating func dataArrived(now: Duration = .zero) -> Action {
    guard !hasEnded else { return .none }
    lastActivity = now
    return receive()
  }

  private mutating func receive() -> Action {
    guard isCancelAsked else { return work() }
    hasDropped = true
    return .none
  }

  mutating func transportEnded(_ end: End) -> Action {
    guard !hasEnded else { return .none }
    switch end {
    case .completed:
      return self.end(isCancelAsked && hasDropped ? .cancelled : .received)
    case .stopped where isCancelAsked:
      return self.end(.cancelled)
    case .stopped where hasRefusedChallenge && hasHead:
      return self.end(.received)
    case .stopped:
      return self.end(
        .failure(HTTPError(.transportFailed, "The platform stopped a request that nobody cancelled. Load again.")))
    case .failed(let error):
      return self.end(.failure(error))
    }
  }
}

// MARK: - Work, and ends

extension TransferState {
  /// The work is done, or failed.
  mutating func worked(_ error: HTTPError? = nil) -> Action {
    isWorking = false
    if let held = heldEnd.take() { return held }
    guard let error, !hasEnded else { return .none }
    return end(.failure(error), stopsTransport: true)
  }

  private mutating func work() -> Action {
    isWorking = true
    return .work(sent: sent)
  }

  private mutating func fail(_ code: HTTPError.Code, _ message: String) -> Action {
    guard !hasEnded else { return .none }
    return end(.failure(HTTPError(code, message)), stopsTransport: true)
  }

  private mutating func end(_ ending: Ending, stopsTransport: Bool = false) -> Action {
    hasEnded = true
    let action = Action.end(ending, stopsTransport: stopsTransport)
    guard isWorking else { return action }
    heldEnd = action
    return .none
  }
}
