import FutureTree

/// A layer that stops sending requests to an origin whose requests fail.
///
/// ```swift
/// let api = Retry() --> CircuitBreaker() --> Throttle(4) --> SystemLoader()
/// ```
///
/// Each origin (scheme, host and port) has a circuit with three states:
///
/// - *Closed*: Requests are sent, and their results are counted. If the rate of failures reaches the `threshold`, the circuit
///   opens.
/// - *Open*: Loads fail at once with the code `circuitOpen`. After `openDuration`, the next request half-opens the circuit.
/// - *Half-open*: `probes` requests are sent, and the other loads fail with the code `circuitOpen`. If all probes succeed, the
///   circuit closes, and counting begins again. If one fails, the circuit opens again.
///
/// A result is counted in the state in which its request was sent. Results that arrive later are ignored. A stream is counted
/// when its transfer has completed. If `Redirect` comes after this layer, the result of the last hop counts for the origin of the
/// first request. `Retry` returns `circuitOpen` at once, because no request was sent. Requests without a host
/// are forwarded.
///
/// **Cancellation.** A cancellation request is forwarded to the next loader. A cancelled load is not counted, nor is a stream
/// that is cancelled after its head. A cancelled probe gives its turn back. If a caller forces its probe to complete or detaches
/// from it, the turn is given back when the next loader has completed the load.
///
/// **Reset.** All circuits are closed, and all counts are removed. Loads from before the reset are not counted.
///
/// **In two chains.** Both chains share the circuits. A reset of either chain closes them.
public final class CircuitBreaker: HTTPLayer {
  /// The state of the circuit of an origin.
  public enum State: Sendable, Hashable {
    /// Requests are sent.
    case closed
    /// Loads fail for this time.
    case open(remaining: Duration)
    /// Probes are sent, and other loads fail.
    case halfOpen
  }

  /// The meaning of a result for the circuit.
  public enum Verdict: Sendable, Hashable {
    /// The server is healthy.
    case success
    /// The server is not healthy.
    case failure
    /// The result is not evidence, such as the error of a request that was not sent.
    case ignored
  }

  private let state: Locked<CircuitStates>
  private let clock: any FutureClock
  private let verdict: @Sendable (Result<HTTPResponse, any Error>) -> Verdict
  private let onChange: @Sendable (_ origin: String, _ state: State) -> Void

  /// Creates the layer.
  ///
  /// ```swift
  /// let breaker = CircuitBreaker { result in
  ///   if case .success(let response) = result, response.status == .tooManyRequests { return .failure }
  ///   return CircuitBreaker.defaultVerdict(result)
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - threshold: The rate of failures that opens a circuit. Defaults to 50% of at least 10 requests in 30 seconds.
  ///   - openDuration: The time that a circuit remains open. Defaults to 30 seconds. Values below 0 are treated as 0.
  ///   - probes: The number of requests that are sent while a circuit is half-open, and must succeed to close it. Values below 1
  ///     are treated as 1. Defaults to 1.
  ///   - origins: The maximum number of origins with a circuit. If there are more, the closed circuit that was unused for the
  ///     longest time is removed. Values below 1 are treated as 1. Defaults to 1,000.
  ///   - clock: The clock of the counts and of `openDuration`.
  ///   - verdict: Returns the meaning of a result. It runs outside every lock. Defaults to `defaultVerdict(_:)`.
  ///   - onChange: Receives each change of a circuit, outside every lock. Concurrent changes can arrive out of order. Defaults
  ///     to a closure that does nothing.
  public init(
    _ threshold: CircuitThreshold = CircuitThreshold(), openDuration: Duration = .seconds(30), probes: Int = 1,
    origins: Int = 1000, clock: any FutureClock = .system,
    verdict: @escaping @Sendable (Result<HTTPResponse, any Error>) -> Verdict = CircuitBreaker.defaultVerdict,
    onChange: @escaping @Sendable (_ origin: String, _ state: State) -> Void = { _, _ in }
  ) {
    state = Locked(
      CircuitStates(
        threshold, openDuration: max(.zero, openDuration).clampedToMaximumTimerDuration, probes: max(1, probes),
        limit: max(1, origins)))
    self.clock = clock
    self.onChange = onChange
    self.verdict = verdict
  }

  /// Returns the default meaning of a result.
  ///
  /// A failure is a response with the status 500, 502, 503 or 504, or an error with the code `unknownHost`, `cannotConnect`,
  /// `connectionLost`, `truncatedBody` or `timedOut`. Other responses are successes. Other errors are ignored.
  public static func defaultVerdict(_ result: Result<HTTPResponse, any Error>) -> Verdict {
    if let status = result.response?.status { return [500, 502, 503, 504].contains(status.code) ? .failure : .success }
    guard case .failure(let error as HTTPError) = result else { return .ignored }
    let codes: Set<HTTPError.Code> = [.unknownHost, .cannotConnect, .connectionLost, .truncatedBody, .timedOut]
    return codes.contains(error.code) ? .failure : .ignored
  }

  /// Loads the request, unless the circuit of its origin is open.
  ///
  /// - Returns: The future of `next`, or a failure with the code `circuitOpen`.
  public func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    guard let origin = request.url?.origin else { return next.load(request) }
    let now = clock.now
    let (admission, change) = state.withLock { $0.admit(origin, at: now) }
    if let change { onChange(origin, change) }
    switch admission {
    case .refused(let remaining):
      return .failed(HTTPError.circuitOpen(request, origin, remaining)).named(.circuitBreaker)
    case .admitted(let ticket):
      let load = next.load(request)
      load.observeTransfer(with: (self, ticket)) { context, outcome, transfer in
        let (breaker, ticket) = context
        breaker.ended(ticket, outcome, transfer)
      }
      // A separate future: if the caller cancels or forces it, the tracked future does not end.
      return ticket.isProbe ? load.forwarded().named(.circuitBreaker) : load
    }
  }

  /// Closes all circuits.
  public func wipe(_ notes: ResetNotes) -> Future<Void> {
    let count = state.withLock { $0.reset() }
    notes.wiped(count, "circuit")
    return .succeeded
  }

  /// Returns the state of the circuit of an origin: the scheme, the host and the port of a URL.
  public func state(of url: HTTPURL) -> State {
    let now = clock.now
    return state.withLock { $0.state(of: url.origin, at: now) }
  }

  /// The number of origins with a circuit.
  var count: Int { state.withLock { $0.count } }

  private func ended(_ ticket: CircuitStates.Ticket, _ outcome: Outcome<HTTPResponse>, _ transfer: Outcome<Void>) {
    let verdict =
      switch (outcome, transfer) {
      case (.cancelled, _), (.success, .cancelled): Verdict.ignored
      case (.failure(let error), _), (.success, .failure(let error)): self.verdict(.failure(error))
      case (.success(let response), _): self.verdict(.success(response))
      }
    let now = clock.now
    if let change = state.withLock({ $0.ended(ticket, verdict, at: now) }) { onChange(ticket.origin, change) }
  }
}

extension HTTPError {
  fileprivate static func circuitOpen(_ request: HTTPRequest, _ origin: String, _ remaining: Duration) -> HTTPError {
    let time = remaining > .zero ? "for \(remaining.rounded)" : "until its probes have succeeded"
    return HTTPError(
      .circuitOpen,
      "\(request) was not sent. Too many requests to \(origin) failed, so its circuit is open \(time). "
        + "Load it again later.")
  }
}

extension FutureName {
  fileprivate static let circuitBreaker = FutureName("CircuitBreaker")
}
