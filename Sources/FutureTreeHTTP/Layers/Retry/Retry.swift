import FutureTree

/// Sends a request again that has failed for now.
///
/// ```swift
/// let api = Timeout(total: .seconds(30)) --> Retry() --> Timeout(attempt: .seconds(10)) --> URLSessionLoader()
///
/// request[option: RequestRetry.self] = .never  // This one is sent once.
/// ```
///
/// By default there are three attempts, and only of requests that may be sent twice (`RetryContext.isRepeatable`) and have
/// failed for now (`RetryContext.isTransientFailure`); before the second, a random part of a quarter of a second passes, before
/// the third of half a second. A `RetryStrategy` says otherwise. What comes of the last attempt is the outcome, an answer as
/// it is and an error as it is. `RequestAttempt` tells the layers behind this one which attempt it is.
///
/// Whatever the strategy says, there is no other attempt
/// - of a body that cannot be sent again (`HTTPBody.isReplayable`),
/// - after a cancellation, nor after the codes `resetInProgress`, `deadlineExceeded` and `bodyNotReplayable`,
/// - before the time that the server asked for (`HTTPResponse.retryAfter(now:)`); if that is longer than `longestRetryAfter`
///   the answer passes at once,
/// - that would begin after the `RequestDeadline` of the request: it fails at once with the code `deadlineExceeded`, with
///   the last answer as `HTTPError.response` or the last error as `HTTPError.underlying`,
/// - where nothing is left of the `RetryBudget` of the server.
///
/// **Cancellation.** A request to cancel that finds an attempt under way is forwarded to it, and what comes of that attempt
/// is the outcome, also if it is a success or an error. One that comes in a back-off ends the load `.cancelled` at once, and
/// its timer is cancelled. After a request to cancel no attempt begins, wherever it comes. With `doNotForwardRequest` the
/// attempt under way goes on, and there is none after it.
///
/// **Reset.** Loads that wait for their next attempt end `.cancelled`. Attempts under way are left to an `Autocancel` before
/// this layer, and have none after them. All budgets are full again.
///
/// **In two chains** the budgets are common, and a reset of either ends the back-offs of both.
public final class Retry: HTTPLayer {
  private let strategy: RetryStrategy
  private let longestRetryAfter: Duration
  private let clock: any FutureClock
  private let date: WallClock
  private let random: RandomSource
  private let state: Locked<RetryState>

  /// - Parameters:
  ///   - strategy: for requests that have none of their own (`RequestRetry`).
  ///   - budget: how many more requests it may send; nil for any number.
  ///   - longestRetryAfter: how long the server may ask to wait: two minutes if nothing else is said. Less than zero is zero.
  ///   - clock: measures the back-off.
  ///   - date: what a `Retry-After` is compared with if the answer has no `Date`.
  ///   - random: for the jitter.
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

  /// Makes so many attempts at most, with exponential back-off: `RetryStrategy.exponential(attempts:first:limit:when:)`.
  ///
  /// ```swift
  /// let api = Retry(attempts: 5) --> URLSessionLoader()
  /// ```
  ///
  /// - Parameters:
  ///   - attempts: The number of attempts, the first included. Values below 1 are treated as 1.
  ///   - budget: How many more requests the layer may send. `nil` disables the limit.
  ///   - clock: Measures the back-off.
  ///   - random: The source of the jitter.
  public convenience init(
    attempts: Int, budget: RetryBudget? = RetryBudget(), clock: any FutureClock = .system,
    random: RandomSource = .system
  ) {
    self.init(.exponential(attempts: attempts), budget: budget, clock: clock, random: random)
  }

  /// Loads, up to as often as the strategy says.
  public func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    let work = RetriedLoad(retry: self, load: state.withLock { $0.came() }, request, next, start: clock.now)
    let future = begin(1, of: work).named(.retry)
    future.observe { _ in work.retry.ended(work.load) }
    return future
  }

  /// Ends the back-offs, fills the budgets, and resets `next`.
  public func reset(next: any HTTPLoader) -> Future<Void> {
    let pauses = state.withLock { $0.reset() }
    for pause in pauses { pause.cancel(reason: Retry.resetReason) }
    return next.reset()
  }

  private static let resetReason: CancellationReason = "the chain was reset"

  /// How many loads wait for their next attempt.
  package var waitingCount: Int { state.withLock { $0.waitingCount } }

  /// Whether no load is known, and every budget is full.
  package var isIdle: Bool { state.withLock { $0.isEmpty } }
}

// MARK: - Attempts

/// One load of a `Retry`. A class, because a closure that captures a single object needs no heap block.
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
  /// Begins an attempt, and after it the next one unless it was the last. Links the futures that bodies return in constant stack
  /// (law 20).
  ///
  /// - Parameter first: The future of the first attempt, which the caller holds. After it receives a request to cancel, no
  ///   attempt begins.
  private func begin(
    _ attempt: Int, of work: RetriedLoad, after first: Future<HTTPResponse>? = nil
  ) -> Future<HTTPResponse> {
    send(attempt, of: work).completed { outcome, future in
      let outer = first ?? future
      guard outer.cancelRequest == nil else { return Completion(outcome) }
      switch work.retry.afterwards(outcome, attempt, of: work) {
      case .ends(let outcome): return Completion(outcome)
      case .goesOn(let pause):
        // These futures have no names, so they are bypassed. Attempts that have ended leave no future behind (law 21).
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
    _ = pause  // Freed here, not under the lock.
    guard isCurrent || attempt == 1 else { return .cancelled(Retry.resetReason) }
    var request = work.request
    if request[option: RequestAttempt.self] != attempt { request[option: RequestAttempt.self] = attempt }
    return work.next.load(request)
  }

  private func ended(_ load: RetryState.Load) {
    let pause = state.withLock { $0.ended(load) }
    // The pause has received no request if the load was cancelled with `doNotForwardRequest` (law 4).
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
    if let deadline = request[option: RequestDeadline.self], deadline.isExceeded(after: delay) {
      return .ends(.failure(context.deadlineExceeded(delay, deadline)))
    }
    let server = Retry.server(of: request)
    guard state.withLock({ $0.spend(load, on: server) }) else { return .ends(outcome) }
    return pause(for: delay, load).map { .goesOn(after: $0) } ?? .ends(outcome)
  }

  /// Returns the key of the server's budget: scheme, host and port.
  private static func server(of request: HTTPRequest) -> String {
    request.url.map { "\($0.scheme.rawValue)://\($0.host):\($0.port)" } ?? ""
  }

  /// How long to wait; nil if there is to be no other attempt, whatever the clock and the budget say.
  private func delay(after context: RetryContext) -> Duration? {
    let strategy = context.request[option: RequestRetry.self] ?? strategy
    guard context.request.body.isReplayable, !context.isFinal, let delay = strategy.delay(after: context) else {
      return nil
    }
    let floor = context.response?.retryAfter(now: date) ?? .zero
    return floor > longestRetryAfter ? nil : max(delay.clampedToMaximumTimerDuration, floor)
  }

  /// Nil if a reset came, or nobody waits any more.
  private func pause(for delay: Duration, _ load: RetryState.Load) -> Future<Void>? {
    guard delay > .zero else { return .succeeded(()) }
    let pause = Future<Void>.after(delay, clock: clock).named(.backOff)
    if state.withLock({ $0.waits(load, for: pause) }) { return pause }
    pause.cancel()
    return nil
  }
}

extension RetryContext {
  fileprivate func deadlineExceeded(_ delay: Duration, _ deadline: HTTPDeadline) -> HTTPError {
    var underlying: (any Error)?
    if case .failure(let error) = result { underlying = error }
    return HTTPError(
      .deadlineExceeded,
      "Attempt \(attempt + 1) of \(request) would begin in \(delay.rounded), and its deadline is in "
        + "\(deadline.remaining.rounded). What came of attempt \(attempt) is the response or the underlying error; "
        + "give it more time.", response: response, underlying: underlying)
  }
}

extension Result<HTTPResponse, any Error> {
  /// Nil for a cancellation.
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
  fileprivate static let backOff = FutureName("back-off")
}
