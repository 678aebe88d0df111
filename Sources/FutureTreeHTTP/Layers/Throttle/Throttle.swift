import FutureTree

/// A layer that limits concurrent requests and queues the others.
///
/// ```swift
/// let api = Retry() --> Throttle(4, perHost: 2, rate: .init(100, per: .seconds(60))) --> SystemLoader()
/// ```
///
/// A request begins when fewer than `limit` requests are in flight, fewer than `perHost` of them to its host, and the
/// rate has a token. A request that waits for its host does not delay requests to other hosts. Among the requests that
/// can begin, the one with the highest `RequestPriority` is first, and among requests of equal priority the earliest. A
/// request that has waited for `aging` longer than another counts as one priority higher, so that no request waits
/// forever. One scheduler applies all limits: a sequence of queues would invert priorities.
///
/// A request counts as in flight until the future of the next loader has completed. A stream counts until its transfer has
/// completed. If a caller forces its load to
/// complete or detaches from it, the request still counts until the transport has finished. Hosts are distinguished by
/// name, not by port. All requests that have only a path count as requests to one host. Requests with the option
/// `BypassesThrottle` are counted but do not wait.
///
/// **Limits of servers.** With `followsServerLimits`, the layer reads the limit that each response announces
/// (`HTTPResponse.rateLimit(now:)`), and `Retry-After` of responses with the status 429 or 503. When a server accepts no more
/// requests, requests to its host wait until its reset, and those to other hosts go on. Requests in flight count as requests that
/// the server still has to accept. A response from a cache announces nothing.
///
/// By default, any number of requests can wait, and none is lost. With a `queueLimit`, a load fails with the code `queueFull` if
/// that many requests are queued: a server that sends requests for its own callers sets one. A queued request fails with
/// `deadlineExceeded` when its `RequestDeadline` passes. It fails at once if the deadline has already passed, or if the
/// rate has no token before the deadline, or the server accepts no request before it.
///
/// **Cancellation.** A queued request that is cancelled leaves the queue in O(log n) time. It completes at once as
/// `.cancelled` and takes no token. A request in flight is completed by the next loader. The requests that run before a
/// queued request are neither its upstream nor asked to cancel (the law *Ordering is not interest*).
///
/// **Reset.** Queued requests complete as `.cancelled`, the bucket of the rate is refilled, and the limits of servers are
/// forgotten. Requests in flight count until they complete. The limit and the pause are kept.
///
/// **In two chains.** The limits apply to the requests of both chains together. A reset of either completes the queued
/// requests of both.
public final class Throttle: HTTPLayer {
  private struct State {
    var scheduler: ThrottleState<ThrottleWaiter>
    var wakeTimer = WakeTimer()
  }

  private let state: Locked<State>
  private let clock: any FutureClock
  /// The clock for the dates in the limits of servers. `nil` if they are not followed.
  private let serverDate: WallClock?

  /// Creates the layer.
  ///
  /// - Parameters:
  ///   - limit: The maximum number of requests in flight. Values below 0 are treated as 0, which holds all requests.
  ///   - perHost: The maximum number of requests in flight to one host. Values below 1 are treated as 1. Defaults to
  ///     `nil`, which disables this limit.
  ///   - rate: The rate limit. Defaults to `nil`, which disables it.
  ///   - queueLimit: The maximum number of queued requests. Values below 0 are treated as 0. Defaults to `nil`, which disables
  ///     this limit.
  ///   - aging: The additional waiting time that counts as one priority. Defaults to 10 seconds. `nil` disables aging.
  ///     With 0 or less, the earliest request is first, regardless of its priority.
  ///   - followsServerLimits: Whether requests wait while their server accepts none. Defaults to `false`.
  ///   - clock: The clock that measures the rate and waiting times.
  ///   - date: The clock for the dates of resets in responses that have no `Date`.
  public init(
    _ limit: Int, perHost: Int? = nil, rate: Rate? = nil, queueLimit: Int? = nil, aging: Duration? = .seconds(10),
    followsServerLimits: Bool = false, clock: any FutureClock = .system, date: WallClock = .system
  ) {
    let aging = aging.map(\.clampedToMaximumTimerDuration)
    let scheduler = ThrottleState<ThrottleWaiter>(
      limit: max(0, limit), perHost: perHost.map { max(1, $0) }, rate: rate, queueLimit: queueLimit.map { max(0, $0) },
      aging: aging, followsServerLimits: followsServerLimits)
    serverDate = followsServerLimits ? date : nil
    state = Locked(State(scheduler: scheduler))
    self.clock = clock
  }

  /// Loads the request as soon as the limits allow it.
  ///
  /// - Returns: A future with the outcome of `next`, or a failure with the code `queueFull` or `deadlineExceeded`.
  public func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    let patience = request.deadline?.remaining
    if let patience, patience <= .zero { return .failed(HTTPError.tooLate(request)).named(.throttle) }
    let (host, now, bypasses) = (request.throttledHost, clock.now, request.bypassesThrottle)
    let begins = state.withLock { state in
      guard bypasses else { return state.scheduler.beginsAtOnce(host, at: now) }
      state.scheduler.passed(host, at: now)
      return true
    }
    if begins {
      let load = run(request, host, next)
      let hasEnded = load.isCompleted
      if bypasses || hasEnded { advance() }
      // A separate future: if the caller cancels or forces it, the tracked future does not end.
      return hasEnded ? load : load.forwarded().named(.throttle)
    }
    let (waiter, priority) = (ThrottleWaiter(request, before: next), request.currentPriority)
    let (arrival, limit) = state.withLock { state in
      let arrival = state.scheduler.arrived(
        waiter, host: waiter.host, priority: priority, patience: patience, at: now)
      return (arrival, state.scheduler.queueLimit)
    }
    switch arrival {
    case .queueIsFull: return .failed(HTTPError.queueFull(request, limit)).named(.throttle)
    case .isTooLate: return .failed(HTTPError.tooLate(request)).named(.throttle)
    case .waits(let place): watch(place, priority)
    }
    return waiter.promise.future.named(.throttle)
  }

  /// Cancels the queued requests, and refills the bucket.
  public func drain(_ notes: ResetNotes) -> Future<Void> {
    let waiting = state.withLock { $0.scheduler.reset() }
    notes.drained(waiting.count)
    for waiter in waiting {
      waiter.hasGone()
      waiter.promise.completeCancelled(.chainReset)
    }
    advance()
    return .succeeded
  }
}

// MARK: - Inspecting and changing the throttle

extension Throttle {
  /// The number of requests in flight, including those that bypassed the queue.
  public var runningCount: Int { state.withLock { $0.scheduler.running } }

  /// The number of queued requests.
  public var waitingCount: Int { state.withLock { $0.scheduler.waiting } }

  /// The queued requests, in the order in which they arrived.
  ///
  /// - Complexity: O(n log n) in the number of queued requests.
  public var waitingRequests: [HTTPRequest] { state.withLock { $0.scheduler.items }.map(\.request) }

  /// The maximum number of requests in flight. It can be changed at any time. If it is raised, queued requests begin. If
  /// it is lowered, requests in flight continue, and fewer requests begin. Values below 0 are treated as 0: no request
  /// begins.
  public var limit: Int {
    get { state.withLock { $0.scheduler.limit } }
    set {
      state.withLock { $0.scheduler.limit = max(0, newValue) }
      advance()
    }
  }

  /// Whether the throttle is paused.
  public var isPaused: Bool { state.withLock { $0.scheduler.isPaused } }

  /// Pauses the throttle: no request begins until `resume()` is called. Requests in flight continue.
  public func pause() {
    state.withLock { $0.scheduler.isPaused = true }
    advance()
  }

  /// Ends the pause, regardless of how often `pause()` was called.
  public func resume() {
    state.withLock { $0.scheduler.isPaused = false }
    advance()
  }

  /// Whether no state is kept, except the tokens.
  var isIdle: Bool { state.withLock { $0.scheduler.isIdle } }
}

// MARK: - Queued requests

extension Throttle {
  private func watch(
    _ place: LimitedQueue<ThrottleWaiter>.Entry, _ priority: RequestPriority
  ) {
    let waiter = place.item
    waiter.promise.onRequestCancel { [weak self, weak place] received in
      let hasLeft = place.map { self?.leave($0) ?? false } ?? false
      return hasLeft || received.options.contains(.doNotForwardRequest) ? .complete(.cancelled) : .continue
    }
    advance()
    waiter.followPriority(in: self, place, queuedAs: priority)
    waiter.watchDeadline { [weak self] in
      guard self?.leave(place) == true else { return }
      waiter.promise.fail(HTTPError.tooLate(waiter.request))
    }
  }

  /// Removes a queued request. Returns `false` if it is not queued.
  private func leave(_ place: LimitedQueue<ThrottleWaiter>.Entry) -> Bool {
    guard state.withLock({ $0.scheduler.left(place) }) else { return false }
    place.item.hasGone()
    advance()
    return true
  }

  /// Begins all requests that the limits allow, one after the other. Sets the timer if the next request needs a token.
  ///
  /// It is called after each change. Loads that complete immediately do not recurse, however many requests are queued:
  /// each is counted as completed before the next begins. Loads that complete later call this method separately. If a
  /// loader after the throttle loads through the throttle inside its own `load`, each such call adds one level of
  /// recursion.
  private func advance() {
    while true {
      let now = clock.now
      let (step, number, timer) = state.withLock { state -> (ThrottleState<ThrottleWaiter>.Step, Int?, FutureTimer?) in
        let step = state.scheduler.next(at: now)
        guard case .waitForTime(let duration) = step else { return (step, nil, state.wakeTimer.isNotNeeded()) }
        let (number, obsolete) = state.wakeTimer.isNeeded(at: now + duration)
        return (step, number, obsolete)
      }
      timer?.cancel()
      switch step {
      case .begin(let waiter): begin(waiter)
      case .waitForTime(let duration): return setWakeTimer(number, after: duration)
      case .wait: return
      }
    }
  }

  private func setWakeTimer(_ number: Int?, after duration: Duration) {
    guard let number else { return }
    let timer = clock.schedule(after: duration) {
      self.state.release { $0.wakeTimer.fired(number) }
      self.advance()
    }
    state.withLock { $0.wakeTimer.didSet(timer, number) }?.cancel()
  }
}

// MARK: - Requests in flight

extension Throttle {
  /// Loads an admitted request. If it was cancelled or its deadline has passed, returns its slot instead.
  private func begin(_ waiter: ThrottleWaiter) {
    waiter.hasGone()
    let promise = waiter.promise
    let isAsked = promise.cancelRequest != nil
    if isAsked || waiter.deadline?.isExceeded() == true {
      // The returned token may be available before the timer fires, so the timer is set again.
      let timer = state.withLock { state in
        state.scheduler.withdrew(waiter.host)
        return state.wakeTimer.isNotNeeded()
      }
      timer?.cancel()
      promise.complete(isAsked ? .cancelled : .failure(HTTPError.tooLate(waiter.request)))
      return
    }
    let load = run(waiter.request, waiter.host, waiter.next)
    if promise.seal(onto: load), promise.cancelRequest?.options.contains(.doNotForwardRequest) == true {
      // The request came too late for the answer of the handler, and too early for the load: Law 4 (this future only).
      promise.future.cancel([.doNotForwardRequest, .forceImmediately], reason: promise.cancelRequest?.reason)
    }
  }

  /// Loads an admitted request, and counts it until it has completed, with its transfer.
  private func run(_ request: HTTPRequest, _ host: String, _ next: any HTTPLoader) -> Future<HTTPResponse> {
    let load = next.load(request)
    if let serverDate {
      load.observe { outcome in
        if case .success(let response) = outcome { self.follow(response, serverDate) }
      }
    }
    if let outcome = load.outcomeIfCompleted, outcome.pendingTransfer == nil {
      ended(host)
    } else {
      load.observeTransfer(with: (self, host)) { context, _, _ in
        let (throttle, host) = context
        throttle.ended(host)
        throttle.advance()
      }
    }
    return load
  }

  /// Follows the limit that a response announces, before its request ends. After a redirect, its host is another one.
  private func follow(_ response: HTTPResponse, _ date: WallClock) {
    guard !response.marks.contains(.isCached) else { return }
    let refuses = response.status == .tooManyRequests || response.status == .serviceUnavailable
    let pause = refuses ? response.retryAfter(now: date).map { RateLimit(remaining: 0, reset: $0) } : nil
    guard let limit = pause ?? response.rateLimit(now: date) else { return }
    let now = clock.now
    state.withLock { $0.scheduler.announced(limit, by: response.request.throttledHost, at: now) }
    advance()
  }

  private func ended(_ host: String) {
    state.withLock { $0.scheduler.ended(host) }
  }
}

extension Throttle: PriorityQueue {
  func changed(_ place: AnyObject, to priority: RequestPriority) {
    guard let place = place as? LimitedQueue<ThrottleWaiter>.Entry else { return }
    state.withLock { $0.scheduler.changed(place, to: priority) }
  }
}

extension Throttle: CustomReflectable {
  /// The counts, without the requests.
  public var customMirror: Mirror {
    Mirror(
      self, children: ["limit": limit, "runningCount": runningCount, "waitingCount": waitingCount], displayStyle: .class
    )
  }
}

extension HTTPError {
  fileprivate static func queueFull(_ request: HTTPRequest, _ limit: Int) -> HTTPError {
    HTTPError(
      .queueFull,
      "\(request) was not sent. The request queue is full (\(limit) waiting). Raise the `queueLimit` of Throttle, or send fewer requests at once."
    )
  }

  fileprivate static func tooLate(_ request: HTTPRequest) -> HTTPError {
    HTTPError(
      .deadlineExceeded,
      "\(request) was not sent. Throttle has no free slot before the deadline of the request. Allow more time, or raise its priority."
    )
  }
}

extension FutureName {
  fileprivate static let throttle = FutureName("Throttle", activity: "waiting for a slot")
}

extension Throttle {
  /// A rate limit: a token bucket from which each request takes one token.
  ///
  /// ```swift
  /// Throttle.Rate(100, per: .seconds(60))           // Up to 100 at once, then one every 0.6 seconds.
  /// Throttle.Rate(100, per: .seconds(60), burst: 1)  // One every 0.6 seconds from the start.
  /// ```
  ///
  /// The bucket begins full, with `burst` tokens, and gains `count` tokens in each `duration`. At most `burst + count`
  /// requests begin in one `duration`.
  public struct Rate: Sendable, Hashable {
    /// The number of tokens added in a `duration`.
    public let count: Int
    /// The time during which `count` tokens are added at a constant rate.
    public let duration: Duration
    /// The maximum number of tokens in the bucket.
    public let burst: Int

    /// Creates a rate limit.
    ///
    /// - Parameters:
    ///   - count: The number of tokens added in a `duration`, from 1 to 1,000,000,000. Values outside this range are
    ///     clamped.
    ///   - duration: The time in which the tokens are added, from one nanosecond to 100 years. Defaults to 1 second.
    ///     Values outside this range are clamped.
    ///   - burst: The maximum number of tokens in the bucket, with the same bounds as `count`. Defaults to `count`.
    public init(_ count: Int, per duration: Duration = .seconds(1), burst: Int? = nil) {
      self.count = Rate.bounded(count)
      self.duration = min(max(duration, .nanoseconds(1)), .century)
      self.burst = Rate.bounded(burst ?? count)
    }

    /// Limits the count, so that products of the bucket do not overflow.
    private static func bounded(_ count: Int) -> Int { min(max(count, 1), 1_000_000_000) }
  }
}
