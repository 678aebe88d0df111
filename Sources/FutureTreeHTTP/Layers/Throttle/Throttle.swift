import FutureTree

/// Lets only so many requests be under way at once, and lets the others wait for their turn.
///
/// ```swift
/// let api = Retry() --> Throttle(4, perHost: 2, rate: .init(100, per: .seconds(60))) --> URLSessionLoader()
/// ```
///
/// A request goes on when fewer than `limit` are under way, fewer than `perHost` to its host, and the rate has a token for it.
/// One that waits for its host holds up no other host. Among those that could go on, the one with the higher
/// `RequestPriority` is first, and among equals the one that came first. Who has waited for `aging` longer than another counts
/// as one priority higher, so that nothing waits for ever behind what is more important. All that is decided in one place: in
/// a row of queues, priorities would be inverted.
///
/// A request is under way until the future of the next loader has ended, and not only until the caller's has: one whose
/// caller has forced its end, or let go of it, keeps its place until the transport is done with it. The host is that of the
/// URL, whatever the port; requests that have only a path are all of one host. Those with the option `BypassesThrottle` are
/// counted and do not wait.
///
/// A load fails with an `HTTPError` of the code `queueFull` if `queueLimit` requests wait already. One with a `RequestDeadline`
/// fails with `deadlineExceeded` when that passes while it waits, and at once if it has passed, or if the rate has no token
/// before it.
///
/// **Cancellation.** A request that waits leaves the queue in constant time (amortised where hosts are counted), completes
/// `.cancelled` at once and takes no token. The next loader completes a request that is in flight. What runs before a request
/// that waits is neither counted nor asked (law 22).
///
/// **Reset.** What waits completes `.cancelled`, the bucket of the rate is full again, and the next loader is reset. What is
/// under way keeps its place until it ends; limit and pause stay.
///
/// **In two chains** it counts the requests of both together, and a reset of either sends away what waits in both.
public final class Throttle: HTTPLayer {
  private struct State {
    var scheduler: ThrottleState<ThrottleWaiter>
    var refillTimer = RefillTimer()
  }

  private let state: Locked<State>
  private let clock: any FutureClock

  /// - Parameters:
  ///   - limit: how many requests may be under way at once; 0 holds all back, and so does less.
  ///   - perHost: how many of them to one host; at least 1. As many as `limit` if nothing is said.
  ///   - rate: how many may begin in a time; as many as like if nothing is said.
  ///   - queueLimit: how many may wait, a thousand if nothing is said; less than 0 counts as 0.
  ///   - aging: how much longer than another a request must wait to count as one priority higher; nil if waiting shall make
  ///     up for nothing. Zero or less: the one that has waited longest is first, whatever its priority.
  ///   - clock: what measures rate and waiting.
  public init(
    _ limit: Int, perHost: Int? = nil, rate: Rate? = nil, queueLimit: Int = 1000, aging: Duration? = .seconds(10),
    clock: any FutureClock = .system
  ) {
    let aging = aging.map(\.clampedToMaximumTimerDuration)
    let scheduler = ThrottleState<ThrottleWaiter>(
      limit: max(0, limit), perHost: perHost.map { max(1, $0) }, rate: rate, queueLimit: max(0, queueLimit),
      aging: aging)
    state = Locked(State(scheduler: scheduler))
    self.clock = clock
  }

  /// Loads, as soon as there is a place.
  ///
  /// - Returns: a future with the outcome of `next`, or a failure with the code `queueFull` or `deadlineExceeded`.
  public func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    let patience = request[option: RequestDeadline.self]?.remaining
    if let patience, patience <= .zero { return .failed(HTTPError.tooLate(request)).named(.throttle) }
    let (host, now, bypasses) = (request.url?.host, clock.now, request[option: BypassesThrottle.self])
    let begins = state.withLock { state in
      guard bypasses else { return state.scheduler.beginsAtOnce(host, at: now) }
      state.scheduler.passed(host, at: now)
      return true
    }
    if begins {
      let load = run(request, host, next)
      let hasEnded = load.isCompleted
      if bypasses || hasEnded { advance() }
      // Returns a derived future while the load is pending. A caller that cancels or forces it ends only its own future.
      return hasEnded ? load : load.forwarded().named(.throttle)
    }
    let waiter = ThrottleWaiter(request, before: next)
    let (arrival, limit) = state.withLock { state in
      let arrival = state.scheduler.arrived(
        waiter, host: waiter.host, priority: request[option: RequestPriority.self], patience: patience, at: now)
      return (arrival, state.scheduler.queueLimit)
    }
    switch arrival {
    case .queueIsFull: return .failed(HTTPError.queueFull(request, limit)).named(.throttle)
    case .isTooLate: return .failed(HTTPError.tooLate(request)).named(.throttle)
    case .waits(let ticket): watch(waiter, ticket)
    }
    return waiter.promise.future.named(.throttle)
  }

  /// Sends away what waits, fills the bucket, and resets `next`.
  public func reset(next: any HTTPLoader) -> Future<Void> {
    // What was the time of the next token is not, in a full bucket.
    let (waiting, timer) = state.withLock { ($0.scheduler.reset(), $0.refillTimer.isNotNeeded()) }
    timer?.cancel()
    for waiter in waiting {
      waiter.hasGone()
      waiter.promise.completeCancelled("the chain was reset")
    }
    advance()
    return next.reset()
  }
}

// MARK: - Looking at it, and changing it

extension Throttle {
  /// How many requests are under way, those included that passed by the queue.
  public var runningCount: Int { state.withLock { $0.scheduler.running } }

  /// How many wait.
  public var waitingCount: Int { state.withLock { $0.scheduler.waiting } }

  /// How many requests may be under way at once. It can be changed at any time: with a greater one, requests that wait go
  /// on; with a smaller one, those under way go on, and fewer begin. With 0 none begins; less counts as 0.
  public var limit: Int {
    get { state.withLock { $0.scheduler.limit } }
    set {
      state.withLock { $0.scheduler.limit = max(0, newValue) }
      advance()
    }
  }

  /// Whether it is paused.
  public var isPaused: Bool { state.withLock { $0.scheduler.isPaused } }

  /// Lets nothing begin until `resume()`. What is under way goes on.
  public func pause() {
    state.withLock { $0.scheduler.isPaused = true }
    advance()
  }

  /// Ends a pause, however often `pause()` was called.
  public func resume() {
    state.withLock { $0.scheduler.isPaused = false }
    advance()
  }

  /// Whether nothing is kept, but for the tokens.
  var isIdle: Bool { state.withLock { $0.scheduler.isIdle } }
}

// MARK: - Waiting

extension Throttle {
  private func watch(_ waiter: ThrottleWaiter, _ ticket: ThrottleQueue<ThrottleWaiter>.Ticket) {
    waiter.promise.onRequestCancel { [weak self] received in
      let hasLeft = self?.leave(ticket) != nil
      return hasLeft || received.options.contains(.doNotForwardRequest) ? .complete(.cancelled) : .continue
    }
    advance()
    waiter.watchDeadline { [weak self] in
      guard let waiter = self?.leave(ticket) else { return }
      waiter.promise.fail(HTTPError.tooLate(waiter.request))
    }
  }

  /// Takes out one that waits. Returns nil if it does not.
  private func leave(_ ticket: ThrottleQueue<ThrottleWaiter>.Ticket) -> ThrottleWaiter? {
    guard let waiter = state.withLock({ $0.scheduler.left(ticket) }) else { return nil }
    waiter.hasGone()
    advance()
    return waiter
  }

  /// Lets begin what may, one after the other, and sets the timer if the next waits for a token.
  ///
  /// It is called after each change. Loads that end at once do not nest, however many wait: each is counted out before the
  /// next begins, and one that ends later calls this in a turn of its own. A loader behind the throttle that itself loads
  /// through it, inside its `load`, nests as deep as it does so.
  private func advance() {
    while true {
      let now = clock.now
      let (step, timer, number) = state.withLock { state in
        let step = state.scheduler.next(at: now)
        if case .waitForToken = step { return (step, nil as FutureTimer?, state.refillTimer.isNeeded()) }
        return (step, state.refillTimer.isNotNeeded(), nil)
      }
      timer?.cancel()
      switch step {
      case .begin(let waiter): begin(waiter)
      case .waitForToken(let duration): return setRefillTimer(number, after: duration)
      case .wait: return
      }
    }
  }

  private func setRefillTimer(_ number: Int?, after duration: Duration) {
    guard let number else { return }
    let timer = clock.schedule(after: duration) {
      let fired = self.state.withLock { $0.refillTimer.fired(number) }
      _ = fired  // Freed here, not under the lock.
      self.advance()
    }
    state.withLock { $0.refillTimer.didSet(timer, number) }?.cancel()
  }
}

// MARK: - Running

extension Throttle {
  /// Loads what was admitted, or gives its place back if it is not wanted any more.
  private func begin(_ waiter: ThrottleWaiter) {
    waiter.hasGone()
    let promise = waiter.promise
    let isAsked = promise.cancelRequest != nil
    if isAsked || waiter.deadline?.isExceeded() == true {
      // The token that comes back may be there before the timer fires: the timer is set again.
      let timer = state.withLock { state in
        state.scheduler.withdrew(waiter.host)
        return state.refillTimer.isNotNeeded()
      }
      timer?.cancel()
      promise.complete(isAsked ? .cancelled : .failure(HTTPError.tooLate(waiter.request)))
      return
    }
    let load = run(waiter.request, waiter.host, waiter.next)
    if promise.seal(onto: load), promise.cancelRequest?.options.contains(.doNotForwardRequest) == true {
      // It came too late for the handler's answer and too early for the load (law 4).
      promise.future.cancel([.doNotForwardRequest, .forceImmediately], reason: promise.cancelRequest?.reason)
    }
  }

  /// Loads an admitted request, and counts it as running until it has ended.
  private func run(_ request: HTTPRequest, _ host: String?, _ next: any HTTPLoader) -> Future<HTTPResponse> {
    let load = next.load(request)
    if load.isCompleted {
      ended(host)
    } else {
      load.observe { _ in
        self.ended(host)
        self.advance()
      }
    }
    return load
  }

  private func ended(_ host: String?) {
    state.withLock { $0.scheduler.ended(host) }
  }
}

extension Throttle: CustomReflectable {
  /// Counts, and none of the requests.
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
      "\(request) was not sent: \(limit) requests wait in the throttle already. Load it later, or raise `queueLimit`.")
  }

  fileprivate static func tooLate(_ request: HTTPRequest) -> HTTPError {
    HTTPError(
      .deadlineExceeded,
      "\(request) was not sent: the throttle has no place for it before its deadline. Give it more time, or a priority."
    )
  }
}

extension FutureName {
  fileprivate static let throttle = FutureName("Throttle")
}
