import FutureTree

/// A layer that measures loads, with attribute names of OpenTelemetry, and sends the header `traceparent` (W3C Trace
/// Context).
///
/// ```swift
/// let api = Retry() --> RequestMetrics { measurement in
///   for sample in measurement.samples { meter.add(sample.value, to: sample.name, sample.attributes) }
/// } --> SystemLoader()
/// ```
///
/// The observer is called twice for each load, outside every lock: when the load begins, on the thread that begins it,
/// and when the load completes, on the thread on which it completes. A stream completes with its transfer. The observer cannot change the outcome. Requests
/// that it loads itself, in the call or in a task that it starts there, are not measured. Requests whose option
/// `RequestMeasurement` is `false` are not measured, and are forwarded unchanged.
///
/// Each load is a span in a trace: in the trace of the option `RequestTraceContext`, or in a new trace. The layer stores
/// the span in that option, so that a second `RequestMetrics` after it measures child spans. If a request has another
/// `traceparent` in its headers, it is forwarded unchanged and measured as the span in that header. To measure each
/// attempt, put the layer after `Retry`. Put it after the layer that fills in the host.
///
/// **Cancellation.** The layer holds no requests. It returns the future of the next loader and observes it without
/// interest. For a cancelled load, the attribute `error.type` is `timeout` or `deadline` if that is the kind of the reason, and
/// `cancelled` otherwise.
///
/// **Reset.** The layer keeps no state.
public struct RequestMetrics: HTTPLayer {
  private let observe: @Sendable (HTTPMeasurement) -> Void
  private let redaction: Redaction
  private let clock: any FutureClock
  private let random: RandomSource

  /// Creates the layer.
  ///
  /// - Parameters:
  ///   - redaction: The query values that `url.full` shows.
  ///   - clock: The clock that measures the duration of loads.
  ///   - random: The source of trace and span identifiers.
  ///   - observe: The observer. It is called from any thread, and concurrently for several loads.
  public init(
    redacting redaction: Redaction = .standard, clock: any FutureClock = .system, random: RandomSource = .system,
    _ observe: @escaping @Sendable (HTTPMeasurement) -> Void
  ) {
    self.redaction = redaction
    self.clock = clock
    self.random = random
    self.observe = observe
  }

  /// Forwards the request, and measures the load.
  ///
  /// - Returns: The future of `next`.
  public func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    guard request.isMeasured, !Observing.isUnderWay else { return next.load(request) }
    var request = request
    let trace: TraceContext?
    do { trace = try traced(&request) } catch { return .failed(error).named(.requestMetrics) }
    let measurement = HTTPMeasurement(startOf: request, trace, redaction)
    Observing.call { observe(measurement) }
    let start = clock.now
    let future = next.load(request)
    future.observeTransfer(with: (self, measurement, start)) { context, outcome, transfer in
      let (layer, measurement, start) = context
      let end = measurement.ended(outcome, transfer, after: layer.clock.now - start)
      Observing.call { layer.observe(end) }
    }
    return future
  }

  /// Adds the trace context to the request.
  private func traced(_ request: inout HTTPRequest) throws(HTTPError) -> TraceContext? {
    let parent = request.traceContext
    // A `traceparent` that an earlier `RequestMetrics` added equals the option. In that case the request gets a child
    // span.
    if let traceparent = request.headers["traceparent"], traceparent != parent?.traceparent {
      return TraceContext(traceparent: traceparent, tracestate: request.headers.joined("tracestate"))
    }
    let trace = parent?.child(random: random) ?? .root(random: random)
    request.traceContext = trace
    try request.setHeader("traceparent", trace.traceparent)
    if let state = trace.state, !request.headers.contains("tracestate") { try request.setHeader("tracestate", state) }
    return trace
  }
}

/// A request option that determines whether `RequestMetrics` measures the load.
///
/// ```swift
/// request.isMeasured = false  // The upload of the measurements.
/// ```
public enum RequestMeasurement: HTTPRequestOption {
  /// Defaults to `true`.
  public static var defaultValue: Bool { true }
}

extension HTTPRequest {
  /// Whether `RequestMetrics` measures this load.
  public var isMeasured: Bool {
    get { self[option: RequestMeasurement.self] }
    set { self[option: RequestMeasurement.self] = newValue }
  }
}

extension FutureName {
  fileprivate static let requestMetrics = FutureName("RequestMetrics")
}
