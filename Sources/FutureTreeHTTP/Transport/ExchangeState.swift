import FutureTree

/// The state of one request on the wire. Pure: no socket, no lock. A `ResponseReceiver` checks and stores the received
/// data.
///
/// # Invariants
/// 1. It ends once. Later events, including a success, change nothing.
/// 2. H12 (a cut body is an error): a response that the receiver did not get completely is never a success.
/// 3. H5 (confirmed cancellation): a cancellation ends it only when the transport confirms, so that its connection is
///    free then. Force, a deadline or a fault ends it at once, and the transport is stopped afterward.
/// 4. S1 (a stream is delivered at its head): afterward, a cancellation request is one of the stream, and the time limit
///    of the load is over.
/// 5. One piece of work runs at a time. An ending that arrives in the meantime waits until the work is done. Nothing is
///    therefore written to an abandoned file, and no progress is reported after the end.
struct ExchangeState {
  /// The action after an event.
  enum Action {
    case none
    /// Stop the transport, and wait for it.
    case stop
    /// Pass the reported data to the receiver and the progress, unless it is `nil`, to its handler, outside the lock. Then call
    /// `worked`.
    case work(sent: HTTPProgress.Part?)
    /// Complete the load with the response, whose body is a stream.
    case deliver
    /// The transfer has ended. Stop the transport if it has not ended.
    case end(Ending, stopsTransport: Bool)
  }

  enum Ending {
    /// The receiver has the whole response.
    case received
    case failure(HTTPError)
    case cancelled
  }

  /// The rules of a transfer.
  struct Rules {
    var idleTimeout: Duration?
    var reportsProgress = false
    var bodyLength: Int?
  }

  /// Whether the transfer should begin or continue.
  var isWanted: Bool { !hasEnded && !isCancelAsked }
  private(set) var hasHead = false
  private var step: HTTPExchange.Step?
  private let rules: Rules
  private var sent: HTTPProgress.Part
  private var lastActivity: Duration
  /// Whether the reader of a stream is behind.
  private var isPaused = false
  private var isCancelAsked = false
  /// Whether only the stream asked: the body was not read in time. Its response is still delivered.
  private var isAskedByStream = false
  private var isDelivered = false
  /// Whether parts of the response were discarded after a cancellation request.
  private var hasDropped = false
  private var isWorking = false
  /// An ending that waits until the work is done.
  private var heldEnd: Action?
  private var hasEnded = false

  init(_ rules: Rules, now: Duration = .zero) {
    self.rules = rules
    sent = HTTPProgress.Part(total: rules.bodyLength)
    lastActivity = now
  }
}

// MARK: - Requests

extension ExchangeState {
  mutating func cancelAsked(isForced: Bool = false, byStream: Bool = false) -> Action {
    guard !hasEnded else { return .none }
    let isFirst = !isCancelAsked
    isCancelAsked = true
    isAskedByStream = byStream && (isFirst || isAskedByStream)
    if isForced { return end(.cancelled, stopsTransport: true) }
    return isFirst ? .stop : .none
  }

  mutating func deadlinePassed() -> Action {
    isDelivered ? .none : timedOut("The deadline passed")
  }

  /// - Returns: The action, and the time after which the timer fires again. The time is `nil` if the transfer has ended.
  mutating func idleTimerFired(now: Duration) -> (Action, again: Duration?) {
    guard !hasEnded, let timeout = rules.idleTimeout else { return (.none, nil) }
    let left = isPaused ? timeout : lastActivity + timeout - now
    guard left <= .zero else { return (.none, left) }
    return (timedOut("Nothing was sent or received for \(timeout.rounded)"), nil)
  }

  private mutating func timedOut(_ what: String) -> Action {
    guard !isCancelAsked else { return hasEnded ? .none : end(.cancelled, stopsTransport: true) }
    let place = !hasHead ? "before the response began" : "while the body was arriving"
    return fail(.timedOut, "\(what) \(place). Load again, or allow more time.")
  }
}

// MARK: - Events of the transport

extension ExchangeState {
  /// Registers that the request cannot be sent, or only in part.
  mutating func requestFailed(_ error: HTTPError) -> Action {
    hasEnded ? .none : end(.failure(error), stopsTransport: true)
  }

  /// Registers that `count` bytes of the request's body have been sent in total.
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
    guard status.code != 101 else {
      return fail(
        .invalidResponse,
        "The server changed the protocol (101), which the request did not ask for. Use another client for it.")
    }
    guard !status.isInformational else { return .none }  // The final response follows.
    hasHead = true
    return receive()
  }

  /// Registers a head that the final response follows.
  mutating func interimArrived(now: Duration = .zero) -> Action {
    guard !hasEnded else { return .none }
    lastActivity = now
    return isCancelAsked ? .none : work(reportsProgress: false)
  }

  /// Registers the fields after the body, or facts of the exchange. They belong to a response that is received whole after a cancellation
  /// request.
  mutating func trailersArrived(now: Duration = .zero) -> Action {
    guard !hasEnded else { return .none }
    lastActivity = now
    return hasDropped ? .none : work(reportsProgress: false)
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

  /// Registers that the reader of a stream is behind. The idle timeout is suspended.
  ///
  /// - Returns: Whether this was not registered before.
  mutating func paused() -> Bool {
    defer { isPaused = true }
    return !isPaused
  }

  mutating func resumed(now: Duration) {
    isPaused = false
    lastActivity = now
  }

  mutating func transportEnded(_ end: HTTPExchange.End) -> Action {
    guard !hasEnded else { return .none }
    switch end {
    case .completed:
      return self.end(isCancelAsked && hasDropped ? .cancelled : .received)
    case .stopped where isCancelAsked:
      return self.end(.cancelled)
    case .stopped:
      return self.end(
        .failure(HTTPError(.transportFailed, "The platform cancelled the request on its own. Load again.")))
    case .failed where isCancelAsked && isDelivered:
      // Bytes that arrived after the request were discarded, or the stop of the transport caused the failure.
      return self.end(.cancelled)
    case .failed(let error):
      return self.end(.failure(error))
    }
  }
}

// MARK: - Activity

extension ExchangeState {
  /// - Returns: Whether the step is another one, and the load still waits for its response.
  mutating func began(_ step: HTTPExchange.Step) -> Bool {
    guard !hasEnded, !hasHead, step != self.step else { return false }
    self.step = step
    return true
  }

  /// What the load is doing, or `nil` after its end.
  func activity(_ received: HTTPProgress.Part) -> String? {
    if hasEnded { return nil }
    if isCancelAsked { return "stopping" }
    if hasHead { return "receiving\(received.amount)" }
    switch step {
    case .queued: return "waiting for a connection"
    case .resolving: return "resolving the host"
    case .connecting: return "connecting"
    case .securing: return "securing the connection"
    case .waiting: return "waiting for the response"
    case nil where sent.total == 0: return "waiting for the response"  // Some transports show no steps.
    case nil, .sending: return sent.completed > 0 ? "sending\(sent.amount)" : "sending the request"
    }
  }
}

extension HTTPProgress.Part {
  fileprivate var amount: String { total.map { " \(completed) of \($0) bytes" } ?? ", \(completed) bytes until now" }
}

// MARK: - Work and endings

extension ExchangeState {
  /// Registers that the work is done or has failed.
  ///
  /// - Parameter hasStream: Whether the work returned a response whose body is a stream.
  mutating func worked(_ error: HTTPError? = nil, hasStream: Bool = false) -> Action {
    isWorking = false
    if let held = heldEnd.take() { return held }
    guard !hasEnded else { return .none }
    if let error { return end(.failure(error), stopsTransport: true) }
    guard hasStream else { return .none }
    guard !isCancelAsked || isAskedByStream else {
      hasDropped = true
      return .none
    }
    isDelivered = true
    return .deliver
  }

  private mutating func work(reportsProgress: Bool = true) -> Action {
    isWorking = true
    return .work(sent: reportsProgress ? sent : nil)
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

/// The timers of one exchange. After `end()`, none is active and none can be set.
///
/// The methods return timers that the caller cancels outside every lock.
struct ExchangeTimers {
  enum Name {
    case total
    case idle
  }

  private var total: FutureTimer?
  private var idle: FutureTimer?
  private var hasEnded = false

  /// - Returns: A timer to cancel: the previous timer with this name, or the new timer after the end.
  mutating func set(_ name: Name, _ timer: FutureTimer?) -> FutureTimer? {
    guard !hasEnded else { return timer }
    var timer = timer
    switch name {
    case .total: swap(&total, &timer)
    case .idle: swap(&idle, &timer)
    }
    return timer
  }

  mutating func end() -> (FutureTimer?, FutureTimer?) {
    hasEnded = true
    return (total.take(), idle.take())
  }
}
