import FutureTree

/// A layer that sends a second, identical request if the first has no response after the usual time, and takes the first good
/// response.
///
/// ```swift
/// let api = Retry() --> Hedge(after: .percentile(0.95)) --> Throttle(4) --> SystemLoader()
/// ```
///
/// A page that needs many responses waits for the slowest of them. By default, the second request is sent when the first has
/// taken longer than 95% of the latest responses of its origin (scheme, host and port). The time to the head of the response
/// counts.
///
/// A request is hedged if it can be repeated without another effect: its method is idempotent (RFC 9110, section 9.2.2) or it
/// has the header `Idempotency-Key`, its body can be sent again, and its response is not delivered into a file. The option
/// `RequestHedging` turns the layer off for a request. The `budget` limits the second requests to an origin.
///
/// The first response that is neither a server error (500 or more) nor 408 or 429 is the response of the load. The other
/// request is then asked to cancel (the law *Deciding detaches*). If the first request fails before the second is sent, its
/// outcome is the outcome of the load: a `Retry` before this layer decides. If both fail, the outcome of the first request is
/// the outcome of the load. The second request reports no progress to a `ProgressHandler`.
///
/// **Cancellation.** A cancellation request is forwarded to both requests. If it arrives before the second request is sent, that
/// request is not sent.
///
/// **Reset.** The measured times are removed, and the budgets are refilled. Loads from before the reset send no second request
/// and are not measured. An `Autocancel` before this layer cancels them.
///
/// **In two chains.** Both chains share the measured times and the budgets.
public final class Hedge: HTTPLayer {
  private let delay: HedgeDelay
  private let clock: any FutureClock
  private let state: Locked<HedgeState>

  /// Creates the layer.
  ///
  /// - Parameters:
  ///   - delay: The time after which the second request is sent. Defaults to the 95th percentile of the latest responses.
  ///   - budget: The limit on second requests to an origin. Defaults to 10, and 1 for each 20 good responses. `nil` disables the
  ///     limit.
  ///   - clock: The clock that measures the times.
  public init(
    after delay: HedgeDelay = .percentile(0.95), budget: RetryBudget? = RetryBudget(reserve: 10, perSuccess: 0.05),
    clock: any FutureClock = .system
  ) {
    self.delay = delay
    self.clock = clock
    state = Locked(HedgeState(delay, budget))
  }

  /// Loads the request, and loads it again if the first response is late.
  public func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    guard let origin = request.url?.origin, delay.isAdaptive || request.canBeHedged else { return next.load(request) }
    let (delay, generation) = state.withLock { ($0.delay(for: origin), $0.generation) }
    let work = HedgedLoad(hedge: self, request, origin, next, generation)
    let first = send(request, of: work)
    guard let delay, request.canBeHedged, !first.isCompleted, !request.isLate(after: delay) else { return first }
    let pause = Future<Void>.after(delay, clock: clock).named(.pause)
    let second = pause.flatMap { _ -> Future<HTTPResponse> in
      guard work.hedge.begins(work) else { return .cancelled(.of(.decided, "the second request was not sent")) }
      return work.hedge.send(work.request.withoutProgress(), of: work)
    }
    // A first request that fails early ends the load.
    first.observe { outcome in
      if !outcome.isGoodResponse { pause.cancel() }
    }
    let load = Future.any([first.goodResponse().named(.first), second.goodResponse().named(.second)])
      .completed { outcome, _ in Hedge.completion(with: outcome) }
      .named(.hedge)
    load.observe { _ in
      work.progress.withLock { $0.hasEnded = true }
      // Without effect if the pause has ended. Otherwise the caller has detached: no second request is sent.
      pause.cancel()
    }
    return load
  }

  /// Prevents second requests of the loads in flight.
  public func drain(_ notes: ResetNotes) -> Future<Void> {
    state.withLock { $0.drain() }
    return .succeeded
  }

  /// Removes the measured times, and refills the budgets.
  public func wipe(_ notes: ResetNotes) -> Future<Void> {
    let count = state.withLock { $0.wipe() }
    notes.wiped(count, "measured origin")
    return .succeeded
  }

  /// The number of origins with measured times.
  var count: Int { state.withLock { $0.count } }

  /// Sends one request, and measures the time to its response.
  private func send(_ request: HTTPRequest, of work: HedgedLoad) -> Future<HTTPResponse> {
    let start = clock.now
    let future = work.next.load(request)
    future.observe { outcome in
      let progress = work.progress.value
      if progress.hasEnded {
        outcome.pendingTransfer?.cancel(reason: .of(.decided, "the load has ended without this response"))
      }
      // A request that was cancelled after its hedge had begun took at least this time. Without it, slow responses would be
      // missing from the measured times.
      let counts = outcome.isGoodResponse || outcome.ending == .cancelled && progress.hasHedge
      if counts { work.hedge.measured(work.hedge.clock.now - start, of: work, isGood: outcome.isGoodResponse) }
    }
    return future
  }

  private func begins(_ work: HedgedLoad) -> Bool {
    let begins = state.withLock { $0.begins(work.origin, work.generation) }
    if begins { work.progress.withLock { $0.hasHedge = true } }
    return begins
  }

  private func measured(_ time: Duration, of work: HedgedLoad, isGood: Bool) {
    let now = clock.now
    state.withLock { $0.measured(time, work.origin, work.generation, isGood: isGood, at: now) }
  }

  /// Returns the outcome of a load. Without a good response, it is that of the first request.
  private static func completion(with outcome: Outcome<HTTPResponse>) -> Completion<HTTPResponse> {
    switch outcome {
    case .success(let response): return .success(response)
    case .cancelled(let reason): return .cancelled(reason)
    case .failure(let error):
      let first = (error as? AllFailed)?.errors.first ?? error
      return (first as? BadResponse).map { .success($0.response) } ?? .failure(first)
    }
  }
}

/// One load of a `Hedge`.
private final class HedgedLoad: Sendable {
  let hedge: Hedge
  let request: HTTPRequest
  let origin: String
  let next: any HTTPLoader
  let generation: Int
  let progress = Locked(Progress())

  struct Progress {
    /// Whether the second request was sent.
    var hasHedge = false
    /// Whether the future of the load has completed.
    var hasEnded = false
  }

  init(hedge: Hedge, _ request: HTTPRequest, _ origin: String, _ next: any HTTPLoader, _ generation: Int) {
    self.hedge = hedge
    self.request = request
    self.origin = origin
    self.next = next
    self.generation = generation
  }
}

/// A response that does not end a load while the other request is in flight.
private struct BadResponse: Error {
  let response: HTTPResponse
}

extension Future<HTTPResponse> {
  /// Fails with `BadResponse` if the response indicates a problem of the server. A response that arrives after a cancellation
  /// request is kept.
  fileprivate func goodResponse() -> Future {
    completed { outcome, _ in
      switch outcome {
      case .success(let response) where response.status.showsHealthyServer: .success(response)
      case .success(let response): .failure(BadResponse(response: response))
      case .failure(let error): .failure(error)
      case .cancelled(let reason): .cancelled(reason)
      }
    }
  }
}

extension Outcome<HTTPResponse> {
  fileprivate var isGoodResponse: Bool {
    if case .success(let response) = self { response.status.showsHealthyServer } else { false }
  }
}

extension HTTPRequest {
  fileprivate var canBeHedged: Bool {
    guard isRepeatable, body.isReplayable, self.isHedged else { return false }
    if case .file = self.delivery.place { return false }
    return true
  }

  fileprivate func isLate(after delay: Duration) -> Bool {
    self.deadline?.isExceeded(after: delay) ?? false
  }

  fileprivate func withoutProgress() -> HTTPRequest {
    guard self.progress != nil else { return self }
    var request = self
    request.progress = nil
    return request
  }
}

extension FutureName {
  fileprivate static let hedge = FutureName("Hedge")
  fileprivate static let pause = FutureName("hedge delay", activity: "waiting before the second request")
  fileprivate static let first = FutureName("first request")
  fileprivate static let second = FutureName("second request")
}

/// The measured times and the budgets of a `Hedge`. Pure: takes no lock, calls no closure, reads no clock.
struct HedgeState {
  private struct Origin {
    var latencies = LatencyWindow()
    var lastUse = Duration.zero
  }

  private static let originLimit = 1000

  private let delay: HedgeDelay
  private var origins: [String: Origin] = [:]
  private var budgets: RetryBudgets
  /// The number of resets. A load that outlives a reset must send no second request, and must not be measured.
  private(set) var generation = 0

  init(_ delay: HedgeDelay, _ budget: RetryBudget?) {
    self.delay = delay
    budgets = RetryBudgets(budget)
  }

  var count: Int { origins.count }

  /// Returns the delay before a second request, or `nil` if too few times were measured.
  func delay(for origin: String) -> Duration? {
    switch delay.rule {
    case .constant(let delay): return delay
    case .percentile(let share, let minimum, let samples):
      guard let latencies = origins[origin]?.latencies, latencies.count >= samples else { return nil }
      return max(minimum, latencies.percentile(share)).clampedToMaximumTimerDuration
    }
  }

  /// Takes the cost of a second request. Returns `false` if the budget is used up, or the load began before a reset.
  mutating func begins(_ origin: String, _ generation: Int) -> Bool {
    generation == self.generation && budgets.spend(origin)
  }

  /// Adds the time to a response. A good response also adds to the budget.
  mutating func measured(_ time: Duration, _ origin: String, _ generation: Int, isGood: Bool, at now: Duration) {
    guard generation == self.generation else { return }
    if isGood { budgets.succeeded(origin) }
    guard delay.isAdaptive else { return }
    origins.makeRoom(for: origin, limit: HedgeState.originLimit) { $0.lastUse < $1.lastUse }
    origins[origin, default: Origin()].latencies.add(time)
    origins[origin]!.lastUse = now
  }

  /// Excludes all loads so far.
  mutating func drain() {
    generation += 1
  }

  /// Removes the times and refills the budgets. Returns the number of origins with measured times.
  mutating func wipe() -> Int {
    budgets.clear()
    defer { origins = [:] }
    return origins.count
  }
}

/// The latest response times of one origin.
struct LatencyWindow {
  static let limit = 128

  /// The times in ascending order.
  private var sorted: [Duration] = []
  /// The same times in the order of their arrival. When the window is full, `oldest` is the index of the oldest.
  private var arrivals: [Duration] = []
  private var oldest = 0

  var count: Int { sorted.count }

  /// - Precondition: At least one time was added.
  func percentile(_ share: Double) -> Duration {
    sorted[min(sorted.count - 1, Int(share * Double(sorted.count)))]
  }

  mutating func add(_ time: Duration) {
    if arrivals.count < LatencyWindow.limit {
      arrivals.append(time)
    } else {
      sorted.remove(at: index(of: arrivals[oldest]))
      arrivals[oldest] = time
      oldest = (oldest + 1) % LatencyWindow.limit
    }
    sorted.insert(time, at: index(of: time))
  }

  /// Returns the index of the first time that is not smaller.
  private func index(of time: Duration) -> Int {
    var (low, high) = (0, sorted.count)
    while low < high {
      let middle = (low + high) / 2
      if sorted[middle] < time { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
