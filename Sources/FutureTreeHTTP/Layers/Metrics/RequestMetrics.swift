import FutureTree

/// Measures loads in the names of OpenTelemetry, and sends `traceparent` with them (W3C Trace Context).
///
/// ```swift
/// let api = Retry() --> RequestMetrics { measurement in
///   for sample in measurement.samples { meter.add(sample.value, to: sample.name, sample.attributes) }
/// } --> URLSessionLoader()
/// ```
///
/// The observer is told when a load begins and when it has ended, once each, in this order, under no lock: on the thread of
/// the load, and then on that of its end. It cannot change what comes of a load. What it loads itself, in the call or in a
/// task that it starts there, is not measured. A request with the option `RequestMeasurement` set to false is not measured, and
/// sent as it is.
///
/// Each load is an operation of its own in a trace: in that of the option `RequestTraceContext`, or in a new one. What comes
/// behind finds it in that option, so that a second `RequestMetrics` there measures children. A request that has another
/// `traceparent` in its header is sent as it is, and is measured as the operation that it names. Put it behind a `Retry` to
/// measure each attempt, and behind what fills in the host.
///
/// **Cancellation.** It holds nothing back: the future is that of the next loader, and watching it wants nothing. A load
/// that was cancelled has the `error.type` `cancelled`.
///
/// **Reset.** It keeps nothing.
public struct RequestMetrics: HTTPLayer {
  private let observe: @Sendable (HTTPMeasurement) -> Void
  private let redaction: Redaction
  private let clock: any FutureClock
  private let random: RandomSource

  /// - Parameters:
  ///   - redaction: which values of queries `url.full` shows.
  ///   - clock: what measures how long a load took.
  ///   - random: where identifiers of traces come from.
  ///   - observe: is told. It is called from any thread, and for several loads at once.
  public init(
    redacting redaction: Redaction = .standard, clock: any FutureClock = .system, random: RandomSource = .system,
    _ observe: @escaping @Sendable (HTTPMeasurement) -> Void
  ) {
    self.redaction = redaction
    self.clock = clock
    self.random = random
    self.observe = observe
  }

  /// Loads, and measures that.
  ///
  /// - Returns: the future of `next`.
  public func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    guard request[option: RequestMeasurement.self], !Observing.isUnderWay else { return next.load(request) }
    var request = request
    let trace: TraceContext?
    do { trace = try traced(&request) } catch { return .failed(error).named(.requestMetrics) }
    let measurement = HTTPMeasurement(startOf: request, trace, redaction)
    Observing.call { observe(measurement) }
    let start = clock.now
    let future = next.load(request)
    future.observe { [clock, observe] outcome in
      let end = measurement.ended(outcome, after: clock.now - start)
      Observing.call { observe(end) }
    }
    return future
  }

  /// Gives the request its place in a trace.
  private func traced(_ request: inout HTTPRequest) throws(HTTPError) -> TraceContext? {
    let parent = request[option: RequestTraceContext.self]
    // One that a `RequestMetrics` before this one has added is that of the option, and is no reason to be sent as it is.
    if let traceparent = request.headers["traceparent"], traceparent != parent?.traceparent {
      return TraceContext(traceparent: traceparent, tracestate: request.headers.joined("tracestate"))
    }
    let trace = parent?.child(random: random) ?? .root(random: random)
    request[option: RequestTraceContext.self] = trace
    try request.setHeader("traceparent", trace.traceparent)
    if let state = trace.state, !request.headers.contains("tracestate") { try request.setHeader("tracestate", state) }
    return trace
  }
}

/// Whether `RequestMetrics` measures the load of a request.
///
/// ```swift
/// request[option: RequestMeasurement.self] = false  // The upload of the measurements themselves.
/// ```
public enum RequestMeasurement: HTTPRequestOption {
  /// It does.
  public static var defaultValue: Bool { true }
}

extension FutureName {
  fileprivate static let requestMetrics = FutureName("RequestMetrics")
}
