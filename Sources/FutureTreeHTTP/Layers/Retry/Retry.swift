import FutureTree

/// A layer that retries transient failures.
///
/// ```swift
/// let api = Timeout(total: .seconds(30)) --> Retry() --> Timeout(attempt: .seconds(10)) --> SystemLoader()
///
/// request.retry = .never  // This request is sent once.
/// ```
///
/// By default, a load has up to three attempts. Only requests that can be repeated (`RetryContext.isRepeatable`) are
/// retried, and only after transient failures (`RetryContext.isTransientFailure`). The delay before the second attempt is
/// random, up to 0.25 seconds; before the third, up to 0.5 seconds. A `RetryStrategy` changes these rules. The outcome of
/// the last attempt is the outcome of the load, whether it is a response or an error. A stream is delivered at its head, so
/// a failure of its transfer is not retried. The layers after this one can read
/// the number of the attempt from the option `RequestAttempt`.
///
/// Regardless of the strategy, there is no further attempt in these cases:
///
/// - The body cannot be sent again (`HTTPBody.isReplayable`).
/// - The load was cancelled, or failed with the code `resetInProgress`, `deadlineExceeded` or `bodyNotReplayable`.
/// - The server asked for a delay (`HTTPResponse.retryAfter(now:)`) longer than `longestRetryAfter`. The response is
///   returned at once. Shorter delays are respected.
/// - The attempt would begin after the `RequestDeadline` of the request. The load fails at once with the code
///   `deadlineExceeded`. The error has the last response in `HTTPError.response`, or the last error in
///   `HTTPError.underlying`.
/// - The `RetryBudget` of the server is used up.
///
/// **Cancellation.** A cancellation request during an attempt is forwarded to that attempt, and the outcome of the
/// attempt is the outcome of the load, whether it is a response, an error or a cancellation. A cancellation request
/// during a delay completes the load at once as `.cancelled`, and cancels the timer. No attempt begins after a
/// cancellation request. With `.doNotForwardRequest`, the current attempt continues, and no attempt follows.
///
/// **Reset.** Loads that wait for their next attempt complete as `.cancelled`. Attempts in flight are not cancelled by
/// this layer (an `Autocancel` before it does that), and no attempt follows them. All budgets are refilled.
///
/// **In two chains.** Both chains share the budgets. A reset of either chain cancels the waiting loads of both.
public final class Retry: HTTPLayer {
  private let strategy: RetryStrategy
  private let longestRetryAfter: Duration
  private let clock: any FutureClock
  private let date: WallClock
  private let random: RandomSource
  private let state: Locked<RetryState>

  /// Creates the layer.
  ///
  /// - Parameters:
  ///   - strategy: The strategy for requests that have no strategy of their own (`RequestRetry`).
  ///   - budget: The limit on additional requests to a server. `nil` disables the limit.
  ///   - longestRetryAfter: The longest delay that a server may ask for. If it asks for a longer one, its response is the
  ///     outcome of the load. Defaults to 2 minutes. Values below 0 are treated as 0.
  ///   - clock: The clock that measures delays.
  ///   - date: The clock for the date in `Retry-After`. It is used if the response has no `Date`.
  ///   - random: The source of the jitter.
  public init(
    _ strategy: RetryStrategy = .default, budget: RetryBudget? = RetryBudget(),
    longestRetryAfter: Duration = .seconds(120), clock: any FutureClock = .system, date: WallClock = .system,
    random: RandomSource = .system
  ) {
    self.strategy = strategy
    self.longestRetryAfter = longestRetryAfter.clampedToMaximumTimerDuration
    self.clock = clock
    self.date = date
    self.random = random
    state = Locked(RetryState(budget))
  }

  /// Creates the layer with a limit of attempts and exponential delays:
  /// `RetryStrategy.exponential(attempts:first:limit:when:)`.
  ///
  /// ```swift
  /// let api = Retry(attempts: 5) --> SystemLoader()
  /// ```
  ///
  /// - Parameters:
  ///   - attempts: The maximum number of attempts, including the first. Values below 1 are treated as 1.
  ///   - budget: The limit on additional requests to a server. `nil` disables the limit.
  ///   - clock: The clock that measures delays.
  ///   - random: The source of the jitter.
  public convenience init(
    attempts: Int, budget: RetryBudget? = RetryBudget(), clock: any FutureClock = .system,
    random: RandomSource = .system
  ) {
    self.init(.exponential(attempts: attempts), budget: budget, clock: clock, random: random)
  }

  /// Loads the request, with as many attempts as the strategy allows.
  public func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    let work = RetriedLoad(retry: self, load: state.withLock { $0.came() }, request, next, start: clock.now)
    let future = begin(1, of: work).named(.retry)
    future.observe { _ in work.retry.ended(work.load) }
    return future
  }

  /// Cancels the waiting loads. Loads in flight begin no further attempt.
  public func drain(_ notes: ResetNotes) -> Future<Void> {
    let pauses = state.withLock { $0.drain() }
    notes.drained(pauses.count)
    for pause in pauses { pause.cancel(reason: .chainReset) }
    return .succeeded
  }

  /// Refills the budgets.
  public func wipe(_ notes: ResetNotes) -> Future<Void> {
    state.withLock { $0.wipe() }
    return .succeeded
  }

  /// The number of loads that wait for their next attempt.
  package var waitingCount: Int { state.withLock { $0.waitingCount } }

  /// Whether no load is tracked, and every budget is full.
  package var isIdle: Bool { state.withLock { $0.isEmpty } }
}

// MARK: - Attempts

/// One load of a `Retry`. It is an object, because a closure that captures a single object needs no allocation.
private final class RetriedLoad: Sendable {
  let retry: Retry
  let load: RetryState.Load
  let request: HTTPRequest
  let next: any HTTPLoader
  let start: Duration

  init(retry: Retry, load: RetryState.Load, _ request: HTTPRequest, _ next: any HTTPLoader, start: Duration) {
    self.retry = retry
    self.load = load
    self.request = request
    self.next = next
    self.start = start
  }
}

extension Retry {
  /// Begins an attempt, and the attempts after it. Law 20 (any depth): futures that bodies return are linked without
  /// recursion.
  ///
  /// - Parameter first: The future of the first attempt, which the caller has. After its cancellation no attempt begins.
  private func begin(
    _ attempt: Int, of work: RetriedLoad, after first: Future<HTTPResponse>? = nil
  ) -> Future<HTTPResponse> {
    send(attempt, of: work).completed { outcome, future in
      let outer = first ?? future
      guard outer.cancelRequest == nil else { return Completion(outcome) }
      switch work.retry.afterwards(outcome, attempt, of: work) {
      case .ends(let outcome): return Completion(outcome)
      case .goesOn(let pause):
        outcome.pendingTransfer?.cancel(reason: .of(.superseded, "the request is retried"))
        // The futures have no names, so that they are bypassed, and ended attempts leave nothing behind: Law 21 (bounded
        // memory).
        let next = pause.flatMap { _ -> Future<HTTPResponse> in
          if let asked = outer.cancelRequest { return .cancelled(asked.reason) }
          return work.retry.begin(attempt + 1, of: work, after: outer)
        }
        return .completeUsing(next)
      }
    }
  }

  private func send(_ attempt: Int, of work: RetriedLoad) -> Future<HTTPResponse> {
    let load = work.load
    let (isCurrent, pause) = state.withLock { ($0.isCurrent(load), $0.hasWaited(load)) }
    _ = pause  // Released here, not under the lock.
    guard isCurrent || attempt == 1 else { return .cancelled(.chainReset) }
    var request = work.request
    if request.attempt != attempt { request.attempt = attempt }
    return work.next.load(request)
  }

  private func ended(_ load: RetryState.Load) {
    let pause = state.withLock { $0.ended(load) }
    // The pause received no cancellation request if the load was detached: Law 4 (this future only).
    pause?.cancel()
  }

  private func afterwards(
    _ outcome: Outcome<HTTPResponse>, _ attempt: Int, of work: RetriedLoad
  ) -> AfterAttempt<HTTPResponse> {
    let (request, load) = (work.request, work.load)
    guard let result = Result(outcome) else { return .ends(outcome) }
    let context = RetryContext(
      request: request, attempt: attempt, result: result, elapsed: clock.now - work.start, random: random)
    if context.showsHealthyServer, state.withLock({ $0.hasSpent }) {
      let server = Retry.server(of: request)
      state.withLock { $0.succeeded(load, on: server) }
    }
    guard let delay = delay(after: context) else { return .ends(outcome) }
    if let deadline = request.deadline, deadline.isExceeded(after: delay) {
      return .ends(
        .failure(
          context.deadlineExceeded(
            "Attempt \(attempt + 1) of \(request) would begin", in: delay, deadline,
            "See `response` or `underlying` for attempt \(attempt). ")))
    }
    let server = Retry.server(of: request)
    guard state.withLock({ $0.spend(load, on: server) }) else { return .ends(outcome) }
    return pause(for: delay, load).map { .goesOn(after: $0) } ?? .ends(outcome)
  }

  /// Returns the server that a budget belongs to: the scheme, the host and the port.
  private static func server(of request: HTTPRequest) -> String {
    request.url.map { "\($0.scheme.rawValue)://\($0.host):\($0.port)" } ?? ""
  }

  /// Returns the delay before the next attempt. Returns `nil` if there is none, before deadline and budget are checked.
  private func delay(after context: RetryContext) -> Duration? {
    context.request.body.isReplayable ? context.delay(strategy, longestRetryAfter: longestRetryAfter, now: date) : nil
  }

  /// Returns the future of the pause. Returns `nil` if the chain was reset or the load has ended.
  private func pause(for delay: Duration, _ load: RetryState.Load) -> Future<Void>? {
    guard delay > .zero else { return .succeeded(()) }
    let pause = Future<Void>.after(delay, clock: clock).named(.backOff)
    if state.withLock({ $0.waits(load, for: pause) }) { return pause }
    pause.cancel()
    return nil
  }
}

extension Result<HTTPResponse, any Error> {
  /// Returns `nil` for a cancellation.
  fileprivate init?(_ outcome: Outcome<HTTPResponse>) {
    switch outcome {
    case .success(let response): self = .success(response)
    case .failure(let error): self = .failure(error)
    case .cancelled: return nil
    }
  }
}

extension FutureName {
  fileprivate static let retry = FutureName("Retry")
  fileprivate static let backOff = FutureName("back-off", activity: "waiting before the next attempt")
}
