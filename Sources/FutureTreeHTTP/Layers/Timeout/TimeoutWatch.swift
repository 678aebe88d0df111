import FutureTree

/// The timers of one load, which give it up when a time is over. It acts on what the state says.
final class TimeoutWatch: Sendable {
  private struct Guarded {
    var state: TimeoutState
    /// The timers, at most one of each kind.
    private(set) var timers: [(kind: TimeoutState.Kind, timer: FutureTimer)] = []
    /// What is given up then; nil until it is there.
    var future: Future<HTTPResponse>?
    /// Which time is over, as soon as that is known.
    var expiry: Expiry?

    /// Removes and returns the timer of a kind.
    mutating func take(_ kind: TimeoutState.Kind) -> FutureTimer? {
      timers.firstIndex { $0.kind == kind }.map { timers.remove(at: $0).timer }
    }

    /// Stores a timer. Returns the timer to cancel: the new one if the load has ended, or the previous one of its kind.
    mutating func set(_ timer: FutureTimer, _ kind: TimeoutState.Kind) -> FutureTimer? {
      guard !state.hasEnded else { return timer }
      defer { timers.append((kind, timer)) }
      return take(kind)
    }

    /// Records the end of the load. Returns the timers to cancel, and the future to release.
    mutating func end() -> (timers: [(kind: TimeoutState.Kind, timer: FutureTimer)], future: Future<HTTPResponse>?) {
      state.ended()
      defer { (timers, future) = ([], nil) }
      return (timers, future)
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

  /// The outcome of what lies behind the layer, unless a time is over first.
  func watch(_ inner: Future<HTTPResponse>) -> Future<HTTPResponse> {
    if inner.isCompleted {
      let expiry = guarded.withLock { $0.expiry }
      end()
      return expiry.map { Future.failed($0.kind.error(request, $0.limit)).named(.timeout) } ?? inner
    }
    let future = inner.expirable()
    let expiry = guarded.withLock { guarded in
      guarded.future = future
      return guarded.expiry
    }
    // It was over while `inner` was being made.
    if let expiry { giveUp(future, expiry) }
    future.observe { _ in self.end() }
    return future.named(.timeout)
  }

  /// Something was sent or received.
  func progressed(_ progress: HTTPProgress) {
    let now = clock.now
    let timer = guarded.withLock { guarded in
      guarded.state.progressed(progress, now: now) ? guarded.take(.firstByte) : nil
    }
    timer?.cancel()
  }

  /// Sets the alarm.
  ///
  /// - Parameters:
  ///   - limit: what its error says.
  ///   - delay: when to look, if that is not the limit.
  ///   - clock: measures it, in place of the watch's own.
  func set(
    _ kind: TimeoutState.Kind, _ limit: Duration, lookingAfter delay: Duration? = nil, clock: (any FutureClock)? = nil
  ) {
    let timer = (clock ?? self.clock).schedule(after: delay ?? limit) { self.fired(kind, limit) }
    guarded.withLock { $0.set(timer, kind) }?.cancel()
  }

  private func fired(_ kind: TimeoutState.Kind, _ limit: Duration) {
    let now = clock.now
    switch guarded.withLock({ $0.state.fired(kind, limit: limit, now: now) }) {
    case .nothing: break
    case .again(let delay): set(kind, limit, lookingAfter: delay)
    case .isOver: goOff(Expiry(kind: kind, limit: limit))
    }
  }

  private func goOff(_ expiry: Expiry) {
    let future = guarded.withLock { guarded in
      guarded.expiry = expiry
      return guarded.future
    }
    if let future { giveUp(future, expiry) }
    end()
  }

  /// Ends a load whose time is over. Who asked to cancel was first: what does not confirm in time is given up as cancelled.
  private func giveUp(_ future: Future<HTTPResponse>, _ expiry: Expiry) {
    let outcome: Outcome<HTTPResponse> =
      future.cancelRequest.map { .cancelled($0.reason) } ?? .failure(expiry.kind.error(request, expiry.limit))
    future.expire(
      with: outcome, because: CancellationReason("timed out: \(expiry.kind.story(request, expiry.limit))"))
  }

  private func end() {
    let (timers, future) = guarded.withLock { $0.end() }
    for (_, timer) in timers { timer.cancel() }
    _ = future  // Freed here, not under the lock.
  }
}

extension TimeoutState.Kind {
  func error(_ request: HTTPRequest, _ limit: Duration) -> HTTPError {
    switch self {
    case .deadline: HTTPError(.deadlineExceeded, story(request, limit) + " Give it more time.")
    case .attempt, .firstByte, .idle: HTTPError(.timedOut, story(request, limit) + " Load again, or allow more time.")
    }
  }

  /// What happened.
  func story(_ request: HTTPRequest, _ limit: Duration) -> String {
    switch self {
    case .deadline where limit > .zero:
      "\(request) was not answered by its deadline, which was \(limit.rounded) after it came."
    case .deadline: "\(request) was not sent: its deadline had passed."
    case .attempt: "\(request) was not answered within \(limit.rounded)."
    case .firstByte: "The answer to \(request) did not begin within \(limit.rounded)."
    case .idle: "Nothing was sent or received for \(request) within \(limit.rounded)."
    }
  }
}
