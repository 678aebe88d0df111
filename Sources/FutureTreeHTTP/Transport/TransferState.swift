import Foundation

/// One request on the wire, as a value: what has arrived, what was asked, and what comes of it. Pure: no socket, no lock.
///
/// # Invariants
/// 1. It ends once. What is reported after that changes nothing, a success included.
/// 2. A body that is not whole, or of which nobody can say whether it is, never is a success (H12).
/// 3. A cancellation ends it only when the transport confirms, so that its connection is free then (H5); force, a deadline
///    or a limit ends it at once, and the transport is stopped behind it.
/// 4. One piece of work runs at a time. An ending that comes meanwhile waits until it is done, so that nobody writes to a
///    file that was given up, and no progress is told after the end.
struct TransferState {
  struct Head {
    let status: HTTPStatus
    let headers: HTTPHeaders
    var hidesFraming = false
    var hidesLocation = false
  }

  /// What the transport reports at its end, in the terms of no platform.
  enum End {
    case completed
    case stopped
    case failed(HTTPError)
  }

  /// What takes time and happens outside the lock. `worked` is told when it is done.
  struct Work {
    var opensFile = false
    var writing: Data?
    var progress: HTTPProgress?
  }

  /// What is to be done after an event.
  enum Action {
    case none
    /// Stop the transport, and wait for it.
    case stop
    case work(Work)
    /// The transfer has ended; the transport, where it has not, is to be stopped.
    case end(Ending, stopsTransport: Bool)
  }

  enum Ending {
    case response(Head, Data)
    /// The file is to get its final name.
    case file(Head)
    case failure(HTTPError)
    case cancelled
  }

  /// What a transfer is held to.
  struct Rules {
    var expectsBody = true
    var maximumBodySize = Int.max
    /// The body of a success goes to a file, with a limit of its own.
    var maximumFileSize: Int?
    var idleTimeout: Duration?
    var reportsProgress = false
    var bodyLength: Int?
  }

  var hasHead: Bool { head != nil }
  /// Whether there is a reason to send it, or to go on.
  var isWanted: Bool { !hasEnded && !isCancelAsked }
  private let rules: Rules
  private(set) var head: Head?
  private var declaredLength: Int?
  private var body = Data()
  private var isInFile = false
  private var progress: HTTPProgress
  private var lastActivity: Duration
  private var isCancelAsked = false
  /// Body bytes were thrown away because nobody wants them any more.
  private var hasDropped = false
  /// The platform asked for credentials and was refused: the answer that it stopped is the answer (a 401).
  private var hasRefusedChallenge = false
  private var isWorking = false
  /// An ending that waits for work.
  private var heldEnd: Action?
  private var hasEnded = false

  init(_ rules: Rules, now: Duration = .zero) {
    self.rules = rules
    progress = HTTPProgress(sent: HTTPProgress.Part(total: rules.bodyLength))
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
    let place = head == nil ? "before the answer began" : "while the body arrived"
    return fail(.timedOut, "\(what) \(place). Load again, or allow more time.")
  }
}

// MARK: - What the transport reports

extension TransferState {
  mutating func challengeRefused() {
    hasRefusedChallenge = true
  }

  /// The body of the request cannot be sent.
  mutating func bodyFailed(_ error: HTTPError) -> Action {
    hasEnded ? .none : end(.failure(error), stopsTransport: true)
  }

  /// `count` bytes of the request's body have been sent in all.
  mutating func bodySent(_ count: Int, now: Duration = .zero) -> Action {
    guard !hasEnded else { return .none }
    lastActivity = now
    let count = min(count, progress.sent.total ?? count)
    guard count > progress.sent.completed else { return .none }
    progress.sent.completed = count
    return work(Work())
  }

  mutating func headArrived(_ head: Head, now: Duration = .zero) -> Action {
    guard !hasEnded else { return .none }
    lastActivity = now
    guard !head.status.isInformational else { return .none }  // The answer is still to come.
    self.head = head
    guard rules.expectsBody, !head.status.hasNoBody else { return .none }
    isInFile = rules.maximumFileSize != nil && head.status.isSuccess
    switch head.hidesFraming ? BodyFraming.hidden : BodyFraming(head.headers) {
    case .refused(let error):
      return end(.failure(error), stopsTransport: true)
    case .declared(let length) where length > maximumSize:
      return fail(.bodyTooLarge, "The body has \(length) bytes; \(maximumSize) are accepted. \(TransferState.remedy)")
    case .declared(let length):
      declaredLength = length
      progress.received.total = length
    case .undeclared: break
    }
    guard !isCancelAsked else {
      hasDropped = hasDropped || isInFile
      return .none
    }
    return work(Work(opensFile: isInFile))
  }

  mutating func dataArrived(_ data: Data, now: Duration = .zero) -> Action {
    guard !hasEnded else { return .none }
    lastActivity = now
    guard !isCancelAsked else {
      hasDropped = true
      body = Data()
      return .none
    }
    guard data.count <= maximumSize - progress.received.completed else {
      return fail(
        .bodyTooLarge, "The body has more than the \(maximumSize) bytes that are accepted. \(TransferState.remedy)")
    }
    progress.received.completed += data.count
    if !isInFile { body.append(data) }
    return work(Work(writing: isInFile ? data : nil))
  }

  mutating func transportEnded(_ end: End) -> Action {
    guard !hasEnded else { return .none }
    switch end {
    case .completed:
      return self.end(isCancelAsked && hasDropped ? .cancelled : response())
    case .stopped where isCancelAsked:
      return self.end(.cancelled)
    case .stopped where hasRefusedChallenge && head != nil:
      return self.end(response())
    case .stopped:
      return self.end(
        .failure(HTTPError(.transportFailed, "The platform stopped a request that nobody cancelled. Load again.")))
    case .failed(let error):
      return self.end(.failure(error))
    }
  }

  /// The transport ended without an error, and did not report this head: that of a redirect whose `Location` the platform
  /// cannot read. It drops the body of such an answer, which therefore is whole only if it is empty.
  mutating func transportEnded(unreported head: Head) -> Action {
    guard self.head == nil, !head.status.isInformational else { return transportEnded(.completed) }
    guard !hasEnded else { return .none }
    if isEmpty(head) {
      self.head = head
      return end(response())
    }
    guard !isCancelAsked else { return end(.cancelled) }
    return end(
      .failure(
        HTTPError(
          .invalidRedirect,
          "The answer redirects with \(head.status) and has no Location that the platform can read, so that the platform "
            + "drops its body. Fix the Location, or load over another transport.")))
  }

  private func isEmpty(_ head: Head) -> Bool {
    guard rules.expectsBody, !head.status.hasNoBody else { return true }
    guard !head.hidesFraming, case .declared(0) = BodyFraming(head.headers) else { return false }
    return true
  }

  private static let remedy = "Raise the limit, or have the body delivered to a file."

  private var maximumSize: Int {
    isInFile ? rules.maximumFileSize ?? .max : rules.maximumBodySize
  }

  private func response() -> Ending {
    guard let head else {
      return .failure(HTTPError(.invalidResponse, "The platform reported no answer, and no error. Load again."))
    }
    let count = progress.received.completed
    if let declaredLength, declaredLength != count {
      return .failure(
        HTTPError(.truncatedBody, "The body ended after \(count) of \(declaredLength) bytes. Load again."))
    }
    return isInFile ? .file(head) : .response(head, body)
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

  private mutating func work(_ work: Work) -> Action {
    var work = work
    if rules.reportsProgress { work.progress = progress }
    guard work.opensFile || work.writing != nil || work.progress != nil else { return .none }
    isWorking = true
    return .work(work)
  }

  private mutating func fail(_ code: HTTPError.Code, _ message: String) -> Action {
    guard !hasEnded else { return .none }
    return end(.failure(HTTPError(code, message)), stopsTransport: true)
  }

  private mutating func end(_ ending: Ending, stopsTransport: Bool = false) -> Action {
    hasEnded = true
    body = Data()
    let action = Action.end(ending, stopsTransport: stopsTransport)
    guard isWorking else { return action }
    heldEnd = action
    return .none
  }
}
