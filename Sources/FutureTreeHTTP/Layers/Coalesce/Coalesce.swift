import FutureTree

/// Lets identical requests that are under way at the same time share one load.
///
/// ```swift
/// let api = Coalesce() --> Retry() --> Throttle(4) --> URLSessionLoader()
/// let (first, second) = (api.load(request), api.load(request))  // One request is sent, and both get its answer.
/// ```
///
/// Requests with a safe method and no body are shared; others if they say so with `RequestCoalescing`. Two are identical if all
/// is equal that could change the answer: the loader behind this layer, method, URL with its query, all header fields, the
/// body, the size that `ResponseDelivery` allows, and every other option that was set, such as `RequestTimeout`. An option
/// whose value cannot be compared keeps its request from being shared, unless the layer is told to ignore it; so does a
/// delivery into a file. Put layers that add credentials before this one, or let them be the same for all.
///
/// Nothing is cached: who comes when the answer is there loads anew.
///
/// Each caller gets a response with its own request. What is each caller's own:
///
/// - `ProgressHandler`: everybody is told, until the own future has ended; who comes later, from the next report on. A
///   report that is under way when a caller leaves may still come to it.
/// - `RequestDeadline`: who has one fails with `deadlineExceeded` when it passes, and leaves as by a cancellation; the shared
///   load has none.
/// - `RequestPriority` and `RequestAttempt`: those of the first caller hold for the load.
///
/// A `RequestTimeout` counts from the beginning of the shared load.
///
/// **Cancellation.** Who cancels leaves at once, `.cancelled`, while others wait: they are not touched, whatever the options
/// are. The last one cancels the load, and its future ends when the next loader has confirmed it. Who comes while the load
/// is being cancelled starts a new one.
///
/// **Reset.** It wipes nothing but who may be joined: no load of the time before is joined afterwards. An `Autocancel` before
/// this layer cancels the callers, and so the loads.
///
/// **In two chains** loads are shared between them if the same loader stands behind it in both.
public final class Coalesce: HTTPLayer {
  private let flights = SingleFlight<CoalesceKey, HTTPResponse>()
  /// The options that are not compared.
  private let ignored: Set<ObjectIdentifier>
  private let generation = Locked(0)

  /// - Parameter options: options that do not change the answer, such as a mark for a log. Those of the first caller hold
  ///   for the shared load.
  public init(ignoring options: any HTTPRequestOption.Type...) {
    ignored = CoalesceKey.ownOptions.union(options.map { ObjectIdentifier($0) })
  }

  /// How many shared loads are under way, those included that are being cancelled.
  public var flightCount: Int { flights.count }

  /// Joins the load of an identical request, or begins one.
  ///
  /// - Returns: a future of the caller's own, with the outcome of `next`, or a failure with the code `deadlineExceeded`.
  public func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    guard let key = CoalesceKey(request, before: next, ignoring: ignored, generation: generation.value) else {
      return next.load(request)
    }
    let deadline = request[option: RequestDeadline.self]
    let remaining = deadline?.remaining
    if let remaining, remaining <= .zero { return .failed(HTTPError.tooLate(request)).named(.coalesce) }
    let handler = request[option: ProgressHandler.self]
    var number: Int?
    let answering = { (flight: Future<HTTPResponse>) in flight.answering(request) }
    let (answer, flightKey) = flights.join(key, as: answering) { flight in
      _ = flight.named(.sharedLoad)
      // Before anything can be told.
      number = handler.map { key.relay.add($0) }
      return next.load(shared(request, key.relay))
    }
    var own = answer
    if let deadline, let remaining {
      own = own.named(.caller).ending(after: remaining, deadline.clock, HTTPError.tooLate(request))
    }
    if let handler {
      let relay = flightKey.relay
      relay.follow(number ?? relay.add(handler), own)
    }
    return own.named(.coalesce)
  }

  /// Lets nobody join what is under way, and resets `next`.
  public func reset(next: any HTTPLoader) -> Future<Void> {
    generation.withLock { $0 += 1 }
    return next.reset()
  }

  /// The request without what is the caller's own.
  private func shared(_ request: HTTPRequest, _ relay: ProgressRelay) -> HTTPRequest {
    var request = request
    request[option: ProgressHandler.self] = { relay.tell($0) }
    if request[option: RequestDeadline.self] != nil { request[option: RequestDeadline.self] = nil }
    return request
  }
}

extension Coalesce: CustomReflectable {
  /// A count: what is compared has secrets.
  public var customMirror: Mirror { Mirror(self, children: ["flightCount": flightCount], displayStyle: .class) }
}

// MARK: - What is a caller's own

extension Future<HTTPResponse> {
  /// The same, with the caller's request in the answer. An answer that was faster than a cancel stays one.
  fileprivate func answering(_ request: HTTPRequest) -> Future {
    completed { outcome, _ in
      switch outcome {
      case .success(let response): .success(response.answering(request))
      case .failure(let error): .failure((error as? HTTPError)?.answering(request) ?? error)
      case .cancelled(let reason): .cancelled(reason)
      }
    }
  }

  /// The same, unless it takes too long.
  fileprivate func ending(after duration: Duration, _ clock: any FutureClock, _ expiry: HTTPError) -> Future {
    // An error from behind is no expiry, whatever it is.
    mapError { FromBehind(error: $0) }
      .timeout(after: duration, clock: clock)
      .mapError { ($0 as? FromBehind)?.error ?? expiry }
  }
}

private struct FromBehind: Error {
  let error: any Error
}

extension HTTPError {
  fileprivate func answering(_ request: HTTPRequest) -> HTTPError {
    replacingResponse(response?.answering(request))
  }

  fileprivate static func tooLate(_ request: HTTPRequest) -> HTTPError {
    HTTPError(
      .deadlineExceeded,
      "\(request) was not answered before its deadline, and left the load that it shared. Give it more time.")
  }
}

extension FutureName {
  fileprivate static let coalesce = FutureName("Coalesce")
  fileprivate static let sharedLoad = FutureName("shared load")
  fileprivate static let caller = FutureName("caller")
}
