import FutureTree

/// A layer that deduplicates identical requests in flight: they share one load.
///
/// ```swift
/// let api = Coalesce() --> Retry() --> Throttle(4) --> SystemLoader()
/// let (first, second) = (api.load(request), api.load(request))  // One request is sent, and both futures get its response.
/// ```
///
/// Requests with a safe method and no body are shared. Other requests are shared if their option `RequestCoalescing`
/// allows it. Two requests are identical if everything that could change the response is equal:
///
/// - the loader after this layer
/// - the method, and the URL with its query
/// - all header fields, and the body
/// - the size limit of `ResponseDelivery`
/// - every other option that is set, such as `RequestTimeout`
///
/// A request is not shared if an option has a value that cannot be compared, unless the layer ignores that option. A
/// request that is delivered into a file is not shared either. Put layers that add credentials before this layer, unless
/// the credentials are the same for all requests.
///
/// The layer caches nothing: a request that begins after the shared load has completed is loaded again.
///
/// Each caller gets a response with its own request. If the response is that of another URL, or of a redirect, it has the request
/// that was sent last, with the options of the caller. The following options are handled for each caller:
///
/// - `ProgressHandler`: Every handler is called until the future of its caller has completed. The handler of a caller that
///   joins later is called starting with the next report. A report that is being delivered when a caller detaches may still
///   reach its handler.
/// - `RequestDeadline`: When the deadline of a caller passes, the caller's future fails with `deadlineExceeded` and
///   detaches, as if the caller had cancelled it. The shared load has no deadline.
/// - `RequestPriority`: The highest priority of the callers whose futures have not completed applies to the load. It changes
///   when a caller joins or detaches, also while the load waits in a `Throttle`.
/// - `RequestAttempt`: The value of the first caller applies to the load.
///
/// A `RequestTimeout` starts when the shared load begins.
///
/// **Cancellation.** If a caller cancels while others wait, its future completes immediately as `.cancelled`. The other
/// callers are not affected, regardless of the options. When the last caller cancels, the load is cancelled, and the
/// future of that caller completes when the next loader has confirmed the cancellation. A request that arrives while
/// the load is being cancelled begins a new load.
///
/// **Linger.** With `Coalesce(linger: .seconds(5))`, the future of the last caller completes immediately as well, and the load
/// continues for that time. An identical request joins it. Otherwise the load is then cancelled. A caller that uses
/// `forceImmediately` does not wait for the linger. The guide *Cancellation* of FutureTree has the law of lingering.
///
/// **Reset.** After a reset, no request joins an earlier load. A load that lingers is cancelled, and awaited for up to 5 seconds
/// before the next loader is drained. Other loads are not cancelled. An `Autocancel` before this layer cancels the callers, and
/// therefore the loads.
///
/// **In two chains.** Loads of both chains are shared if the layer is followed by the same loader in both.
public final class Coalesce: HTTPLayer {
  private let flights: SingleFlight<CoalesceKey, HTTPResponse>
  /// The options that are not compared.
  private let ignored: Set<ObjectIdentifier>
  private let generation = Locked(0)
  private let clock: any FutureClock
  /// The time that a reset waits for loads that lingered. The transport waits for what is left of them.
  private static let drainTimeout = Duration.seconds(5)

  /// Creates the layer.
  ///
  /// - Parameters:
  ///   - options: Options that do not change the response, such as a label for a log. The values of the first
  ///     caller apply to the shared load.
  ///   - linger: The time for which a load continues after its last caller has cancelled. Defaults to zero.
  ///   - clock: The clock of the linger. Defaults to `.system`.
  public init(
    ignoring options: any HTTPRequestOption.Type..., linger: Duration = .zero, clock: any FutureClock = .system
  ) {
    flights = SingleFlight(linger: linger, clock: clock)
    self.clock = clock
    ignored = CoalesceKey.ownOptions.union(options.map { ObjectIdentifier($0) })
  }

  /// The number of shared loads in flight, including loads that linger or are being cancelled.
  public var flightCount: Int { flights.count }

  /// Joins the load of an identical request, or begins a load.
  ///
  /// - Returns: A future that belongs to the caller, with the outcome of `next`, or a failure with the code
  ///   `deadlineExceeded`.
  public func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    share(request, before: next) { next.load($0) }
  }

  /// Joins the load of an identical request, or begins one with a closure. Loads are compared as if `next` loaded them.
  package func share(
    _ request: HTTPRequest, before next: any HTTPLoader, _ load: (HTTPRequest) -> Future<HTTPResponse>
  ) -> Future<HTTPResponse> {
    guard let key = CoalesceKey(request, before: next, ignoring: ignored, generation: generation.value) else {
      return load(request)
    }
    let deadline = request.deadline
    let remaining = deadline?.remaining
    if let remaining, remaining <= .zero { return .failed(HTTPError.tooLate(request)).named(.coalesce) }
    let handler = request[option: ProgressHandler.self]
    var number: Int?
    var isFirst = false
    let answering = { [ignored] (flight: Future<HTTPResponse>) in flight.answering(request, ignored) }
    let (answer, flightKey) = flights.join(key, as: answering) { flight in
      _ = flight.named(.sharedLoad)
      // The handler is added before the load begins, so that it receives all reports.
      number = handler.map { key.callers.add($0) }
      isFirst = true
      return load(shared(request, key))
    }
    let (callers, priorityCallers) = (flightKey.callers, flightKey.priorityCallers)
    if !isFirst { priorityCallers.join(key.priority) }
    var own = answer
    if let deadline, let remaining {
      own = own.named(.caller).ending(after: remaining, deadline.clock, HTTPError.tooLate(request))
    }
    if let handler { callers.follow(number ?? callers.add(handler), own) }
    if !isFirst || flightKey.outer == nil { priorityCallers.follow(key.priority, own, isFirst: isFirst) }
    return own.named(.coalesce)
  }

  /// Excludes the loads in flight from sharing, cancels the loads that linger, and waits for them.
  public func drain(_ notes: ResetNotes) -> Future<Void> {
    generation.withLock { $0 += 1 }
    let lingering = flights.stopLingering()
    guard !lingering.isEmpty else { return .succeeded }
    notes.drained(lingering.count)
    return Future.allSettled(lingering).timeout(after: Coalesce.drainTimeout, clock: clock).onComplete { _ in .success }
  }

  /// Returns the request without the options that belong to the caller.
  private func shared(_ request: HTTPRequest, _ key: CoalesceKey) -> HTTPRequest {
    var request = request
    let callers = key.callers
    request[option: ProgressHandler.self] = { callers.tell($0) }
    if key.outer == nil { request.sharedCallers = callers }
    if request.deadline != nil { request.deadline = nil }
    return request
  }
}

extension Coalesce: LingeringLayer {
  var lingeringLoads: [ResetPreview.Load] {
    flights.all.map { ResetPreview.Load($0.key.request, $0.value.tree()) }.filter(\.isLingering)
  }
}

extension Coalesce: CustomReflectable {
  /// The number of shared loads. The keys are omitted, because they contain secrets.
  public var customMirror: Mirror { Mirror(self, children: ["flightCount": flightCount], displayStyle: .class) }
}

// MARK: - Futures of the callers

extension Future<HTTPResponse> {
  /// Returns a future of the response to a caller. If the response arrives before a cancellation, it is kept.
  fileprivate func answering(_ caller: HTTPRequest, _ options: Set<ObjectIdentifier>) -> Future {
    completed { outcome, _ in
      switch outcome {
      case .success(let response): .success(response.answering(caller, options))
      case .failure(let error): .failure((error as? HTTPError)?.answering(caller, options) ?? error)
      case .cancelled(let reason): .cancelled(reason)
      }
    }
  }

  /// Returns a future that fails with `expiry` if it does not complete in time.
  fileprivate func ending(after duration: Duration, _ clock: any FutureClock, _ expiry: HTTPError) -> Future {
    // An error of the load is not an expiry, whatever its type is.
    mapError { FromBehind(error: $0) }
      .timeout(after: duration, clock: clock)
      .mapError { ($0 as? FromBehind)?.error ?? expiry }
  }
}

private struct FromBehind: Error {
  let error: any Error
}

extension HTTPResponse {
  /// Returns the response to a caller: to its request, or to the request that was sent last, if that has another URL or follows a
  /// redirect. Relative links are resolved against that URL, and its origin decides about credentials.
  ///
  /// - Parameter options: The options that belong to each caller.
  fileprivate func answering(_ caller: HTTPRequest, _ options: Set<ObjectIdentifier>) -> HTTPResponse {
    var last = request
    // Usually the targets are equal, and no canonical form is created.
    let isCallers = last.target == caller.target || last.target.canonical == caller.target.canonical
    guard !isCallers || !redirections.isEmpty else { return answering(caller) }
    last.takeOptions(options, from: caller)
    last.sharedLoad = caller.sharedLoad
    return answering(last)
  }
}

extension HTTPError {
  fileprivate func answering(_ caller: HTTPRequest, _ options: Set<ObjectIdentifier>) -> HTTPError {
    replacingResponse(response?.answering(caller, options))
  }

  fileprivate static func tooLate(_ request: HTTPRequest) -> HTTPError {
    HTTPError(
      .deadlineExceeded,
      "\(request) did not complete before its deadline, and detached from the shared load. Allow more time.")
  }
}

extension FutureName {
  fileprivate static let coalesce = FutureName("Coalesce")
  fileprivate static let sharedLoad = FutureName("shared load")
  fileprivate static let caller = FutureName("caller")
}
