import FutureTree

/// The timers of one load, which fail the load when a limit is exceeded. The decisions are those of `TimeoutState`.
final class TimeoutWatch: Sendable {
  private struct Guarded {
    var state: TimeoutState
    /// The timers, at most one of each kind.
    private(set) var timers: [(kind: TimeoutState.Kind, timer: FutureTimer)] = []
    /// The future to complete when a limit is exceeded. `nil` until it exists.
    var future: Future<HTTPResponse>?
    /// The stream of the response, while its transfer is in flight.
    var stream: BodyPipe?
    /// The exceeded limit, as soon as it is known.
    var expiry: Expiry?

    /// Removes and returns the timer of a kind.
    mutating func take(_ kind: TimeoutState.Kind) -> FutureTimer? {
      timers.firstIndex { $0.kind == kind }.map { timers.remove(at: $0).timer }
    }

    /// Stores a timer. Returns the timer that is not needed: the new one if the load has ended, otherwise the previous
    /// one.
    mutating func set(_ timer: FutureTimer, _ kind: TimeoutState.Kind) -> FutureTimer? {
      guard !state.hasEnded else { return timer }
      defer { timers.append((kind, timer)) }
      return take(kind)
    }

    /// Ends the state. Returns the timers to cancel, and the objects to release.
    mutating func end() -> (
      timers: [(kind: TimeoutState.Kind, timer: FutureTimer)], released: (Future<HTTPResponse>?, BodyPipe?)
    ) {
      state.ended()
      defer { (timers, future, stream) = ([], nil, nil) }
      return (timers, (future, stream))
    }
  }

  private struct Expiry {
    let kind: TimeoutState.Kind
    let limit: Duration
  }

  private let clock: any FutureClock
  private let request: HTTPRequest
  private let guarded: Locked<Guarded>

  init(_ request: HTTPRequest, clock: any FutureClock) {
    self.clock = clock
    self.request = request
    guarded = Locked(Guarded(state: TimeoutState(now: clock.now)))
  }

  /// Returns a future with the outcome of the next loader, unless a limit is exceeded first.
  func watch(_ inner: Future<HTTPResponse>) -> Future<HTTPResponse> {
    if let outcome = inner.outcomeIfCompleted, outcome.pendingTransfer == nil {
      let expiry = guarded.withLock { $0.expiry }
      end()
      return expiry.map { Future.failed($0.kind.error(request, $0.limit)).named(.timeout) } ?? inner
    }
    let future = inner.expirable()
    let expiry = guarded.withLock { guarded in
      guarded.future = future
      return guarded.expiry
    }
    // The limit was exceeded before `inner` existed.
    if let expiry { giveUp(future, expiry) }
    future.observe { outcome in
      if outcome.pendingTransfer != nil, case .success(let response) = outcome, let stream = response.stream?.pipe {
        self.watch(stream)
      } else {
        self.end()
      }
    }
    return future.named(.timeout)
  }

  /// Watches the transfer of a stream. The deadline and the idle limit remain.
  private func watch(_ stream: BodyPipe) {
    let (timers, expiry) = guarded.withLock { guarded in
      guarded.stream = stream
      guarded.future = nil
      return ([guarded.take(.attempt), guarded.take(.firstByte)], guarded.expiry)
    }
    for timer in timers { timer?.cancel() }
    // The limit was exceeded when the head arrived.
    if let expiry { stream.fail(expiry.kind.error(request, expiry.limit)) }
    stream.transfer.observe { _ in self.end() }
  }

  /// Registers that data was sent or received.
  func progressed(_ progress: HTTPProgress) {
    let now = clock.now
    let timer = guarded.withLock { guarded in
      guarded.state.progressed(progress, now: now) ? guarded.take(.firstByte) : nil
    }
    timer?.cancel()
  }

  /// Sets a timer.
  ///
  /// - Parameters:
  ///   - limit: The limit, which the error names.
  ///   - delay: The time until the timer fires. Defaults to the limit.
  ///   - clock: The clock of the timer. Defaults to the clock of the watch.
  func set(
    _ kind: TimeoutState.Kind, _ limit: Duration, lookingAfter delay: Duration? = nil, clock: (any FutureClock)? = nil
  ) {
    let timer = (clock ?? self.clock).schedule(after: delay ?? limit) { self.fired(kind, limit) }
    guarded.withLock { $0.set(timer, kind) }?.cancel()
  }

  private func fired(_ kind: TimeoutState.Kind, _ limit: Duration) {
    let now = clock.now
    let isPaused = guarded.withLock { $0.stream }?.hasUnread == true
    switch guarded.withLock({ $0.state.fired(kind, limit: limit, isPaused: isPaused, now: now) }) {
    case .nothing: break
    case .again(let delay): set(kind, limit, lookingAfter: delay)
    case .isOver: goOff(Expiry(kind: kind, limit: limit))
    }
  }

  private func goOff(_ expiry: Expiry) {
    let (future, stream) = guarded.withLock { guarded in
      guarded.expiry = expiry
      return (guarded.future, guarded.stream)
    }
    stream?.fail(expiry.kind.error(request, expiry.limit))
    if let future { giveUp(future, expiry) }
    end()
  }

  /// Fails a load that exceeds a limit. If the load was cancelled before, it completes as `.cancelled`, because the
  /// cancellation was not confirmed in time.
  private func giveUp(_ future: Future<HTTPResponse>, _ expiry: Expiry) {
    let error = expiry.kind.error(request, expiry.limit)
    future.expire(
      with: future.cancelRequest.map { .cancelled($0.reason) } ?? .failure(error),
      because: .of(
        expiry.kind == .deadline ? .deadline : .timeout, "timed out: \(expiry.kind.story(request, expiry.limit))",
        cause: error))
  }

  private func end() {
    let (timers, released) = guarded.withLock { $0.end() }
    for (_, timer) in timers { timer.cancel() }
    _ = released  // Released here, not under the lock.
  }
}

extension TimeoutState.Kind {
  func error(_ request: HTTPRequest, _ limit: Duration) -> HTTPError {
    switch self {
    case .deadline: HTTPError(.deadlineExceeded, story(request, limit) + " Allow more time.")
    case .attempt, .firstByte, .idle: HTTPError(.timedOut, story(request, limit) + " Load again, or allow more time.")
    }
  }

  /// Returns a sentence that describes the failure.
  func story(_ request: HTTPRequest, _ limit: Duration) -> String {
    switch self {
    case .deadline where limit > .zero:
      "\(request) did not complete by its deadline, \(limit.rounded) after the load began."
    case .deadline: "\(request) was not sent. Its deadline has passed."
    case .attempt: "\(request) did not complete within \(limit.rounded)."
    case .firstByte: "The response to \(request) did not begin within \(limit.rounded)."
    case .idle: "Nothing was sent or received for \(request) within \(limit.rounded)."
    }
  }
}

/// The state of one load with time limits. Pure: takes no lock, reads no clock.
///
/// # Invariants
/// 1. It completes once, by an outcome or by an exceeded limit. Afterward no timer is set, and no timer has an effect.
/// 2. A progress report is about the response, unless it says that more was sent. A transport reports the head of the
///    response together with the bytes sent so far, and then each piece of either body.
struct TimeoutState {
  /// A time limit.
  enum Kind: Hashable {
    case deadline
    case attempt
    case firstByte
    case idle
  }

  private(set) var hasEnded = false
  private var lastActivity: Duration
  /// Whether bytes waited for the reader of a stream when the idle timer fired.
  private var wasPaused = false
  private var sent = 0
  private var hasAnswer = false

  init(now: Duration) {
    lastActivity = now
  }

  /// Registers a progress report. Returns whether it was the first report about the response.
  mutating func progressed(_ progress: HTTPProgress, now: Duration) -> Bool {
    guard !hasEnded else { return false }
    lastActivity = max(lastActivity, now)
    let count = progress.sent.completed
    defer { sent = count }
    let isAboutAnswer = progress.received.completed > 0 || progress.received.total != nil || count == 0 || count == sent
    guard isAboutAnswer, !hasAnswer else { return false }
    hasAnswer = true
    return true
  }

  /// The result of a timer that fires.
  enum Firing: Equatable {
    /// Data was transferred since the timer was set: check again after this time.
    case again(Duration)
    /// The limit is exceeded, and the load fails.
    case isOver
    case nothing
  }

  /// - Parameters:
  ///   - limit: For `idle`, the maximum time without a transfer.
  ///   - isPaused: Whether bytes wait for the reader of a stream, so that the transport can be paused. The whole limit applies
  ///     again when the timer fires for the first time afterward.
  mutating func fired(_ kind: Kind, limit: Duration, isPaused: Bool = false, now: Duration) -> Firing {
    guard !hasEnded, kind != .firstByte || !hasAnswer else { return .nothing }
    if kind == .idle {
      let left = isPaused || wasPaused ? limit : lastActivity + limit - now
      if wasPaused { lastActivity = now }
      wasPaused = isPaused
      if left > .zero { return .again(left) }
    }
    hasEnded = true
    return .isOver
  }

  mutating func ended() {
    hasEnded = true
  }
}
