import FutureTree

/// The owner of the work that a sequence of events has in flight, which is a load with its stream, or a pause.
///
///     transfer ──request to cancel──► the work in flight ──has ended──► transfer completes
///
/// # Invariants
/// 1. At most one load or pause is in flight. None begins after a cancellation request, or after the end.
/// 2. `transfer` completes after the work in flight has ended, unless it is forced.
final class EventConnection: Sendable {
  private enum Work {
    case idle
    /// The loader is being called. `connect` handles a cancellation request that arrives meanwhile.
    case beginning
    case load(Future<HTTPResponse>)
    case pause(Future<Void>)
  }

  private struct Asked {
    let options: CancellationOptions
    let reason: CancellationReason
  }

  private struct Guarded {
    var work = Work.idle
    var asked: Asked?
    var hasEnded = false
  }

  private let guarded = Locked(Guarded())
  private let promise = Promise<Void>()
  private let source: EventSource

  init(_ source: EventSource) {
    self.source = source
    promise.future.named("events of \(source.request)")
    promise.onRequestCancel { [weak self] received in
      self?.cancelAsked(Asked(options: received.options, reason: received.reason)) ?? .complete(.cancelled)
    }
  }

  /// Completes when the sequence has ended.
  var transfer: Future<Void> { promise.future }

  /// - Throws: `FutureCancelled` after a cancellation request.
  func checkCancellation() throws(FutureCancelled) {
    if let asked = guarded.withLock({ $0.asked }) { throw FutureCancelled(reason: asked.reason) }
  }

  /// Begins a load.
  ///
  /// - Throws: `FutureCancelled` after a cancellation request.
  func connect(_ request: HTTPRequest) throws(FutureCancelled) -> Future<HTTPResponse> {
    try begin(.beginning)
    let load = source.loader.load(request)
    try begin(.load(load))
    return load
  }

  /// Begins a pause.
  ///
  /// - Throws: `FutureCancelled` after a cancellation request.
  func pause(for delay: Duration) throws(FutureCancelled) -> Future<Void> {
    let pause = Future<Void>.after(delay, clock: source.clock).named(.reconnection)
    try begin(.pause(pause))
    return pause
  }

  private func begin(_ work: Work) throws(FutureCancelled) {
    var replaced = work
    let asked = guarded.withLock { guarded in
      if guarded.asked == nil { swap(&replaced, &guarded.work) }
      return guarded.asked
    }
    _ = replaced  // Released here, not under the lock.
    guard let asked else { return }
    end(work, asked.options, .cancelled(asked.reason))
    throw FutureCancelled(reason: asked.reason)
  }

  private func cancelAsked(_ request: Asked) -> CancelRequestResponse<Void> {
    let work: Work? = guarded.withLock { guarded in
      guard !guarded.hasEnded else { return nil }
      guarded.asked = request
      return guarded.work
    }
    switch work {
    case .idle?: return .complete(.cancelled(request.reason))
    case .beginning?, nil: return .continue
    case .load?, .pause?:
      end(work ?? .idle, request.options, .cancelled(request.reason))
      return .continue
    }
  }

  /// Ends the sequence with an outcome, as soon as the work in flight has ended. Has no effect after a cancellation request.
  func end(_ outcome: Outcome<Void>) {
    let (work, isFirst) = guarded.withLock { guarded in
      let isFirst = !guarded.hasEnded && guarded.asked == nil
      guarded.hasEnded = true
      var work = Work.idle
      swap(&work, &guarded.work)
      return (work, isFirst)
    }
    // The work is released here, not under the lock: it can hold the last reference to a response.
    if isFirst { end(work, .doNotForwardIfOthersWaiting, outcome) }
  }

  /// Cancels work in flight, and completes `transfer` when it has ended.
  private func end(_ work: Work, _ options: CancellationOptions, _ outcome: Outcome<Void>) {
    let reason = outcome.cancelReason ?? .of(.abandoned, "the sequence of events has ended")
    // Law 4 (this future only) limits the request to `transfer`, and the work belongs to it.
    let options = options.subtracting(.doNotForwardRequest)
    switch work {
    case .idle, .beginning: promise.complete(with: outcome)
    case .pause(let pause):
      pause.cancel(reason: reason)
      promise.complete(with: outcome)
    case .load(let load):
      if case .withheld = load.cancel(options, reason: reason).effect {
        promise.complete(with: outcome)
      } else {
        load.observe { [promise] response in
          guard let transfer = response.pendingTransfer else {
            promise.complete(with: outcome)
            return
          }
          // The stream may not have been read, so that it is a consumer of its own transfer.
          transfer.cancel(options.subtracting(.doNotForwardIfOthersWaiting), reason: reason)
          transfer.observe { _ in promise.complete(with: outcome) }
        }
      }
    }
  }
}

/// The interest of a reader in a sequence of events. It is withdrawn when it is dropped.
final class EventInterest: Sendable {
  let connection: EventConnection
  private let token: CancelToken

  init(in connection: EventConnection) {
    self.connection = connection
    token = connection.transfer.cancelToken()
  }

  deinit {
    withdraw("the reader left the events")
  }

  func withdraw(_ reason: CancellationReason) {
    token.cancel(.doNotForwardIfOthersWaiting, reason: reason)
    // Without a reader nothing connects, even if the request was withheld.
    connection.end(.cancelled(reason))
  }
}

extension Outcome<Void> {
  fileprivate var cancelReason: CancellationReason? {
    if case .cancelled(let reason) = self { reason } else { nil }
  }
}

extension FutureName {
  fileprivate static let reconnection = FutureName(
    "pause before a reconnection", activity: "waiting before the next connection")
}
