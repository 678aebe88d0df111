import FutureTree

/// A layer that fails loads that exceed a time limit.
///
/// ```swift
/// let api =
///   Timeout(total: .seconds(30)) --> Retry() --> Timeout(attempt: .seconds(10), idle: .seconds(5)) --> SystemLoader()
///
/// request.deadline = .after(.seconds(2))  // For this request, regardless of the layers.
/// ```
///
/// There are four limits. Each starts when the request reaches this layer:
///
/// | limit | meaning | error |
/// | --- | --- | --- |
/// | `total` | becomes the `RequestDeadline`, unless the request has an earlier one | `deadlineExceeded` |
/// | `attempt` | the time until the next loader completes; for a stream, until its head | `timedOut` |
/// | `firstByte` | the time until the head of the response arrives | `timedOut` |
/// | `idle` | the time in which no data is sent or received | `timedOut` |
///
/// To limit a request with all its retries, put a `Timeout(total:)` before `Retry`, or set the `RequestDeadline` of the
/// request. After a `Retry`, `total` applies to each attempt separately. Every `Timeout`, even one without limits, fails a
/// request at its deadline. A request whose deadline has passed fails at once and is not loaded. The same applies to every
/// request if a limit is 0 or less. Limits above 100 years are treated as 100 years.
///
/// **Streams.** `total` and `idle` apply until the transfer has completed, and fail the transfer. `attempt` and `firstByte`
/// end with the head. While bytes wait for the reader, `idle` does not apply: see the `idleReadTimeout` of
/// `ResponseDelivery.stream`.
///
/// `firstByte` and `idle` depend on the reports of the loader to `ProgressHandler`. The request's own handler is called as
/// well. If the loader reports no progress, both limits apply to the whole response. Put them after `Retry` and `Redirect`: the
/// first head that arrives stops the `firstByte` limit of this layer.
///
/// The limits of the transport apply as well, and the shortest limit takes effect. To prevent the general limits of a
/// loader (`SystemLoader.Configuration`) from taking effect first, this layer sets `RequestTimeout` to `attempt` plus
/// one second, and `RequestIdleTimeout` to `idle` plus one second. It does not replace values that the request has.
///
/// When a limit is exceeded, the load fails at once. The next loader receives a cancellation request with a reason that
/// names the limit, and its outcome is ignored. As with `.forceImmediately`, its connection may still be in use at that
/// time.
///
/// **Cancellation.** A cancellation request is forwarded, and the limits stay active. If the next loader has not
/// confirmed the cancellation when a limit is exceeded, the load completes as `.cancelled`. If a limit is exceeded
/// before the cancellation request arrives, the load fails. Timers are cancelled when the load completes. With
/// `.doNotForwardRequest`, the next loader continues without these limits.
///
/// **Reset.** The layer keeps no state.
public struct Timeout: HTTPLayer {
  private let total: Duration?
  private let attempt: Duration?
  private let firstByte: Duration?
  private let idle: Duration?
  private let clock: any FutureClock

  /// Creates the layer. `nil`, the default of all limits, disables a limit.
  ///
  /// - Parameters:
  ///   - total: The maximum duration of a request, including all loaders after this layer. The request carries it as a
  ///     deadline.
  ///   - attempt: The maximum duration of the load by the next loader.
  ///   - firstByte: The maximum time until the head of the response arrives.
  ///   - idle: The maximum time in which no data is sent or received.
  ///   - clock: The clock of the limits.
  public init(
    total: Duration? = nil, attempt: Duration? = nil, firstByte: Duration? = nil, idle: Duration? = nil,
    clock: any FutureClock = .system
  ) {
    self.total = total?.clampedToMaximumTimerDuration
    self.attempt = attempt?.clampedToMaximumTimerDuration
    self.firstByte = firstByte?.clampedToMaximumTimerDuration
    self.idle = idle?.clampedToMaximumTimerDuration
    self.clock = clock
  }

  /// Forwards the request. Fails with the code `deadlineExceeded` or `timedOut` when a limit is exceeded.
  public func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    let deadline = deadline(of: request)
    let remaining = deadline?.remaining.clampedToMaximumTimerDuration
    var isTimed = false
    var over: (kind: TimeoutState.Kind, limit: Duration)?
    eachTime(deadline, remaining) { kind, limit, _ in
      isTimed = true
      if over == nil, limit <= .zero { over = (kind, limit) }
    }
    guard isTimed else { return next.load(request) }
    if let over { return .failed(over.kind.error(request, over.limit)).named(.timeout) }

    let watch = TimeoutWatch(request, clock: clock)
    eachTime(deadline, remaining) { kind, limit, clock in watch.set(kind, limit, clock: clock) }
    return watch.watch(next.load(prepared(request, deadline, watch)))
  }

  /// Calls `body` for each limit. The deadline is first, so that it is reported if several limits are exceeded at the
  /// same time.
  private func eachTime(
    _ deadline: FutureDeadline?, _ remaining: Duration?,
    _ body: (TimeoutState.Kind, _ limit: Duration, any FutureClock) -> Void
  ) {
    if let deadline, let remaining { body(.deadline, remaining, deadline.clock) }
    if let attempt { body(.attempt, attempt, clock) }
    if let firstByte { body(.firstByte, firstByte, clock) }
    if let idle { body(.idle, idle, clock) }
  }

  /// Returns the earlier of the request's deadline and the deadline of this layer.
  private func deadline(of request: HTTPRequest) -> FutureDeadline? {
    let given = request.deadline
    guard let total, given.map({ total < $0.remaining }) ?? true else { return given }
    return .after(total, clock: clock)
  }

  private func prepared(_ request: HTTPRequest, _ deadline: FutureDeadline?, _ watch: TimeoutWatch) -> HTTPRequest {
    var request = request
    if total != nil { request.deadline = deadline }
    let grace = Duration.seconds(1)
    if let attempt, request.timeout == nil {
      request.timeout = attempt + grace
    }
    if let idle, request.idleTimeout == nil {
      request.idleTimeout = idle + grace
    }
    if firstByte != nil || idle != nil {
      let handler = request[option: ProgressHandler.self]
      // Weak: the response contains the request and may live long.
      request[option: ProgressHandler.self] = { [weak watch] progress in
        watch?.progressed(progress)
        handler?(progress)
      }
    }
    return request
  }
}

extension FutureName {
  static let timeout = FutureName("Timeout")
}
