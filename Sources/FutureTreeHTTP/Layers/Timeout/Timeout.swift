import FutureTree

/// Ends loads that take too long.
///
/// ```swift
/// let api = Timeout(total: .seconds(30)) --> Retry() --> Timeout(attempt: .seconds(10), idle: .seconds(5)) --> URLSessionLoader()
///
/// request[option: RequestDeadline.self] = .after(.seconds(2))  // For this one, whatever the layers say.
/// ```
///
/// There are four times, each of which counts from the moment that the request comes to this layer:
///
/// | time | what it is | error |
/// | --- | --- | --- |
/// | `total` | becomes the `RequestDeadline`, unless the request has an earlier one | `deadlineExceeded` |
/// | `attempt` | until the answer of what lies behind this layer | `timedOut` |
/// | `firstByte` | until the head of the answer is there | `timedOut` |
/// | `idle` | how long nothing may be sent and nothing received | `timedOut` |
///
/// For a whole request with its retries, put a `Timeout(total:)` before `Retry`, or give the request a `RequestDeadline`:
/// behind a `Retry` each attempt has a `total` of its own. Any `Timeout`, also one without times, ends a request at its
/// deadline, and fails at once one that comes after it. A time of zero or less fails each request at once. What fails at
/// once is not loaded. More than a century is a century.
///
/// `firstByte` and `idle` are told by what the loader reports to `ProgressHandler`; the one that the request has is called as
/// before. Where a loader reports nothing, both count until the answer is there. Put them behind `Retry` and redirects: the
/// first head that comes ends the `firstByte` of this layer.
///
/// The limits of the transport count as well, and the shortest wins. Those that suit all requests of a loader
/// (`URLSessionLoader.Configuration`) give way: where this layer has an `attempt` or an `idle`, it sets `RequestTimeout` or
/// `RequestIdleTimeout` to a second more, unless the request has its own.
///
/// When a time is over the load fails at once, and what lies behind is asked to cancel, with a reason that says why; whatever
/// comes of it is dropped. As with `forceImmediately`, its connection may not be free yet then.
///
/// **Cancellation.** A request to cancel is forwarded, and the times go on: what has not confirmed when one is over ends
/// `.cancelled`. Whichever came first decides, the request or the time. Timers are cancelled when the load has ended, however
/// it has; with `doNotForwardRequest` what lies behind goes on without these times.
///
/// **Reset.** It keeps nothing.
public struct Timeout: HTTPLayer {
  private let total: Duration?
  private let attempt: Duration?
  private let firstByte: Duration?
  private let idle: Duration?
  private let clock: any FutureClock

  /// - Parameters:
  ///   - total: how long a request may take in all, with everything that lies behind; it travels with the request.
  ///   - attempt: how long what lies behind may take.
  ///   - firstByte: how long until the head of the answer.
  ///   - idle: how long nothing may be sent and nothing received.
  ///   - clock: what measures them.
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

  /// Loads, and fails with the code `deadlineExceeded` or `timedOut` when a time is over.
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

  /// Calls `body` for each time limit, the deadline first. If several limits have passed, the load fails with the first of them.
  private func eachTime(
    _ deadline: HTTPDeadline?, _ remaining: Duration?,
    _ body: (TimeoutState.Kind, _ limit: Duration, any FutureClock) -> Void
  ) {
    if let deadline, let remaining { body(.deadline, remaining, deadline.clock) }
    if let attempt { body(.attempt, attempt, clock) }
    if let firstByte { body(.firstByte, firstByte, clock) }
    if let idle { body(.idle, idle, clock) }
  }

  /// The earlier of that of the request and that of this layer.
  private func deadline(of request: HTTPRequest) -> HTTPDeadline? {
    let given = request[option: RequestDeadline.self]
    guard let total, given.map({ total < $0.remaining }) ?? true else { return given }
    return .after(total, clock: clock)
  }

  private func prepared(_ request: HTTPRequest, _ deadline: HTTPDeadline?, _ watch: TimeoutWatch) -> HTTPRequest {
    var request = request
    if total != nil { request[option: RequestDeadline.self] = deadline }
    let grace = Duration.seconds(1)
    if let attempt, request[option: RequestTimeout.self] == nil {
      request[option: RequestTimeout.self] = attempt + grace
    }
    if let idle, request[option: RequestIdleTimeout.self] == nil {
      request[option: RequestIdleTimeout.self] = idle + grace
    }
    if firstByte != nil || idle != nil {
      let handler = request[option: ProgressHandler.self]
      // Weak: the request is in the answer, which may live long.
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
