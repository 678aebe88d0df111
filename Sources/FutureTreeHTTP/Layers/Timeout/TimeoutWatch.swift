import FutureTree

/// The timers of one load, and the alarm that goes off when a time is over. It acts on what the state says.
final class TimeoutWatch: Sendable {
  private struct Guarded {
    var state: TimeoutState
    var timers: [TimeoutState.Kind: FutureTimer] = [:]
    /// What lies behind the layer.
    var inner: Future<HTTPResponse>?
    var expiry: CancellationReason?
  }

  private let clock: any FutureClock
  private let request: HTTPRequest
  private let alarm = Promise<HTTPResponse>()
  private let guarded: Locked<Guarded>

  init(_ request: HTTPRequest, clock: any FutureClock) {
    self.clock = clock
    self.request = request
    guarded = Locked(Guarded(state: TimeoutState(now: clock.now)))
    // It goes on until a time is over, or what lies behind has ended.
    alarm.onRequestCancel { _ in .continue }
  }

  /// The outcome of what lies behind the layer, or what the alarm says, whichever is first.
  func watch(_ inner: Future<HTTPResponse>) -> Future<HTTPResponse> {
    let expiry = guarded.withLock { guarded in
      guarded.inner = inner
      return guarded.expiry
    }
    // The alarm went off while `inner` was being made.
    if let expiry { inner.cancel(.doNotForwardIfOthersWaiting, reason: expiry) }
    let future = Future.race([alarm.future.named("timeout"), inner])
    future.observe { _ in self.end() }
    return future
  }

  /// Something was sent or received.
  func progressed(_ progress: HTTPProgress) {
    let now = clock.now
    let timer = guarded.withLock { guarded in
      guarded.state.progressed(progress, now: now) ? guarded.timers.removeValue(forKey: .firstByte) : nil
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
    let unwanted = guarded.withLock { guarded in
      guarded.state.hasEnded ? timer : guarded.timers.updateValue(timer, forKey: kind)
    }
    unwanted?.cancel()
  }

  private func fired(_ kind: TimeoutState.Kind, _ limit: Duration) {
    let now = clock.now
    switch guarded.withLock({ $0.state.fired(kind, limit: limit, now: now) }) {
    case .nothing: break
    case .again(let delay): set(kind, limit, lookingAfter: delay)
    case .isOver: goOff(kind.error(request, limit))
    }
  }

  private func goOff(_ error: HTTPError) {
    // Who asked to cancel was first: what does not confirm in time is given up as cancelled.
    if alarm.cancelRequest != nil {
      alarm.completeCancelled()
    } else {
      let reason = CancellationReason("timed out: \(error.message)")
      let inner = guarded.withLock { guarded in
        guarded.expiry = reason
        return guarded.inner
      }
      // It is withheld until the race is decided, so that nothing that comes of it can win.
      inner?.cancel(.doNotForwardIfOthersWaiting, reason: reason)
      alarm.fail(error)
    }
    end()
  }

  private func end() {
    let (timers, inner) = guarded.withLock { guarded in
      guarded.state.ended()
      defer { (guarded.timers, guarded.inner) = ([:], nil) }
      return (guarded.timers, guarded.inner)
    }
    for timer in timers.values { timer.cancel() }
    _ = inner  // Freed here, not under the lock.
  }
}

extension TimeoutState.Kind {
  func error(_ request: HTTPRequest, _ limit: Duration) -> HTTPError {
    switch self {
    case .deadline:
      HTTPError(
        .deadlineExceeded,
        limit > .zero
          ? "\(request) was not answered by its deadline, which was \(limit) after it came."
          : "\(request) was not sent: its deadline had passed.")
    case .attempt: HTTPError(.timedOut, "\(request) was not answered within \(limit).")
    case .firstByte: HTTPError(.timedOut, "The answer to \(request) did not begin within \(limit).")
    case .idle: HTTPError(.timedOut, "Nothing was sent or received for \(request) within \(limit).")
    }
  }
}
