import FutureTree

/// A measurement of a load at its beginning or at its end, with attribute names of OpenTelemetry.
///
/// ```swift
/// for sample in measurement.samples { meter.add(sample.value, to: sample.name, sample.attributes) }
/// if measurement.phase == .ended { exporter.export(span: measurement.trace, measurement.attributes) }
/// ```
///
/// Measurements contain no secrets. The `Redaction` of the layer defines which query values are shown.
public struct HTTPMeasurement: Sendable {
  /// The phase of a load.
  public enum Phase: Sendable, Hashable {
    /// The load begins.
    case started
    /// The load has completed.
    case ended
  }

  /// The value of an attribute.
  public enum Value: Sendable, Hashable {
    /// A string, such as a method.
    case string(String)
    /// A number, such as a status.
    case int(Int)
  }

  /// The contribution of a load to one instrument of a meter.
  public struct Sample: Sendable, Hashable {
    /// The name of the instrument: `http.client.active_requests` (an up-down counter), or one of the histograms
    /// `http.client.request.duration`, `http.client.request.time_in_queue`, `http.client.request.body.size` and
    /// `http.client.response.body.size`.
    public let name: String
    /// The unit in the notation of UCUM: `{request}`, `s` or `By`.
    public let unit: String
    /// The value in the unit. For active requests it is 1 at the beginning and -1 at the end.
    public let value: Double
    /// The upper limits of the buckets that OpenTelemetry recommends for a histogram of durations. Empty for other instruments.
    public var bucketLimits: [Double] { unit == "s" ? Sample.durationLimits : [] }
    private static let durationLimits = [
      0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
    ]
    /// The attributes with few distinct values, which are suitable for metrics. The template of the URL is one of them, and the URL is
    /// not.
    public let attributes: [String: Value]
  }

  /// The phase of the load.
  public let phase: Phase
  /// The duration of the load, or `nil` at its beginning.
  public let duration: Duration?
  /// The timings of the response, if its transport measures them. `nil` at the beginning.
  public let timings: HTTPTimings?
  /// The trace of the load, with the span identifier of this load. `nil` if the `traceparent` of the request is invalid.
  public let trace: TraceContext?
  /// All attributes, for a span: the method, the URL and its template, the server, the peer, the version of the protocol, the
  /// status, the kind of error, the number of the resend, and sizes.
  public let attributes: [String: Value]

  /// The samples of the measurement, one for each instrument.
  public var samples: [Sample] {
    let few = attributes.filter { HTTPMeasurement.metricAttributes.contains($0.key) }
    let stable = few.filter { HTTPMeasurement.startAttributes.contains($0.key) }
    let active = Sample(
      name: "http.client.active_requests", unit: "{request}", value: phase == .started ? 1 : -1, attributes: stable)
    guard let duration else { return [active] }
    var samples = [
      active,
      Sample(name: "http.client.request.duration", unit: "s", value: duration / .seconds(1), attributes: few),
    ]
    if let queued = timings?.queued {
      samples.append(
        Sample(name: "http.client.request.time_in_queue", unit: "s", value: queued / .seconds(1), attributes: few))
    }
    for part in ["request", "response"] {
      guard case .int(let size)? = attributes["http.\(part).body.size"] else { continue }
      samples.append(
        Sample(name: "http.client.\(part).body.size", unit: "By", value: Double(size), attributes: few))
    }
    return samples
  }

  /// The attributes that are equal at the beginning and at the end, so that an up-down counter returns to zero.
  private static let startAttributes: Set<String> = [
    "http.request.method", "url.scheme", "url.template", "server.address", "server.port",
  ]
  private static let metricAttributes = startAttributes.union([
    "http.response.status_code", "error.type", "network.protocol.version",
  ])
}

extension HTTPMeasurement {
  /// Creates the measurement of a load that begins, for layers that report to other systems.
  ///
  /// ```swift
  /// let start = HTTPMeasurement(startOf: request)
  /// let future = api.load(request)
  /// future.observeTransfer { outcome, transfer in
  ///   print(start.ended(outcome, transfer, after: .seconds(1)).attributes)
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - redaction: The query values that are shown. Defaults to none.
  public init(startOf request: HTTPRequest, _ redaction: Redaction = .standard) {
    self.init(startOf: request, nil, redaction)
  }

  init(startOf request: HTTPRequest, _ trace: TraceContext?, _ redaction: Redaction) {
    phase = .started
    duration = nil
    timings = nil
    self.trace = trace
    attributes = request.measured(redaction)
  }

  private init(
    _ start: HTTPMeasurement, duration: Duration, _ timings: HTTPTimings?, adding added: [String: Value]
  ) {
    phase = .ended
    self.timings = timings
    self.duration = duration
    trace = start.trace
    attributes = start.attributes.merging(added) { _, new in new }
  }

  /// Returns the measurement for the end of the load.
  ///
  /// - Parameters:
  ///   - outcome: The outcome of the load.
  ///   - transfer: The outcome of the transfer of its body.
  ///   - duration: The duration of the load. A negative duration is treated as zero.
  public func ended(
    _ outcome: Outcome<HTTPResponse>, _ transfer: Outcome<Void>, after duration: Duration
  ) -> HTTPMeasurement {
    HTTPMeasurement(
      self, duration: max(duration, .zero), outcome.response?.timings, adding: outcome.measured(with: transfer))
  }
}

extension HTTPMeasurement.Value: CustomStringConvertible, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
  public init(stringLiteral value: String) { self = .string(value) }

  public init(integerLiteral value: Int) { self = .int(value) }

  /// The string or the number.
  public var description: String {
    switch self {
    case .string(let text): text
    case .int(let number): "\(number)"
    }
  }
}

extension HTTPMeasurement: CustomStringConvertible {
  /// The phase, and the attributes sorted by name.
  public var description: String {
    let texts = attributes.sorted { $0.key < $1.key }.map { "\($0.key)=\(OneLine.text($0.value.description))" }
    return "\(phase): " + texts.joined(separator: " ")
  }
}

/// Attributes of OpenTelemetry's semantic conventions for HTTP clients.
extension HTTPRequest {
  func measured(_ redaction: Redaction) -> [String: HTTPMeasurement.Value] {
    var attributes: [String: HTTPMeasurement.Value] = [:]
    if HTTPRequest.measuredMethods.contains(method.name) {
      attributes["http.request.method"] = .string(method.name)
    } else {
      // An unknown method must not create a time series of its own.
      attributes["http.request.method"] = "_OTHER"
      attributes["http.request.method_original"] = .string(method.name)
    }
    if let url {
      attributes["url.full"] = .string(redaction.target(of: self))
      attributes["url.scheme"] = .string(url.scheme.rawValue)
      attributes["server.address"] = .string(url.host.trimming("[", "]"))
      attributes["server.port"] = .int(Int(url.port))
    }
    if let urlTemplate { attributes["url.template"] = .string(urlTemplate) }
    let attempt = self.attempt
    if attempt > 1 { attributes["http.request.resend_count"] = .int(attempt - 1) }
    if !body.isEmpty, let size = body.contentLength { attributes["http.request.body.size"] = .int(size) }
    return attributes
  }

  /// The known methods (RFC 9110, section 9, and RFC 5789). Methods compare case-sensitively.
  private static let measuredMethods: Set<String> = [
    "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE",
  ]
}

extension Outcome<HTTPResponse> {
  /// The response, or that of an error with a response.
  fileprivate var response: HTTPResponse? {
    switch self {
    case .success(let response): response
    case .failure(let error): (error as? HTTPError)?.response
    case .cancelled: nil
    }
  }

  /// The attributes that are added when the load ends.
  func measured(with transfer: Outcome<Void>) -> [String: HTTPMeasurement.Value] {
    switch self {
    case .success(let response):
      var attributes = response.measured
      switch transfer {
      case .success: break
      case .failure(let error): attributes["error.type"] = .string(LogText.name(of: error))
      case .cancelled(let reason): attributes["error.type"] = .string(reason.errorType)
      }
      return attributes
    case .cancelled(let reason): return ["error.type": .string(reason.errorType)]
    case .failure(let error):
      var attributes = (error as? HTTPError)?.response?.measured ?? [:]
      // An error status describes the failure better than the code `unacceptableStatus`.
      if (error as? HTTPError)?.code != .unacceptableStatus || attributes["error.type"] == nil {
        attributes["error.type"] = .string(LogText.name(of: error))
      }
      return attributes
    }
  }
}

extension CancellationReason {
  /// The type of the error in metrics. A load that took too long is an error that dashboards show. A cancelled load is not.
  fileprivate var errorType: String {
    [.timeout, .deadline].contains(kind) ? kind.description : "cancelled"
  }
}

extension HTTPResponse {
  fileprivate var measured: [String: HTTPMeasurement.Value] {
    var attributes: [String: HTTPMeasurement.Value] = [
      "http.response.status_code": .int(status.code), "http.response.body.size": .int(bodySize),
    ]
    if status.code >= 400 { attributes["error.type"] = .string("\(status.code)") }
    guard let timings else { return attributes }
    attributes["network.protocol.version"] = timings.protocolVersion.map { .string($0) }
    attributes["network.peer.address"] = timings.peerAddress.map { .string($0) }
    attributes["network.peer.port"] = timings.peerPort.map { .int(Int($0)) }
    return attributes
  }
}

extension String {
  /// Removes the brackets that an address has in a URL.
  fileprivate func trimming(_ prefix: Character, _ suffix: Character) -> String {
    first == prefix && last == suffix ? String(dropFirst().dropLast()) : self
  }
}
