import FutureTree

/// What `RequestMetrics` tells of a load, when it begins and when it has ended, in the names of OpenTelemetry.
///
/// ```swift
/// for sample in measurement.samples { meter.add(sample.value, to: sample.name, sample.attributes) }
/// if measurement.phase == .ended { exporter.export(span: measurement.trace, measurement.attributes) }
/// ```
///
/// It shows no secret (H11).
public struct HTTPMeasurement: Sendable {
  /// When it was taken.
  public enum Phase: Sendable, Hashable {
    /// The load begins.
    case started
    /// The load has ended.
    case ended
  }

  /// The value of an attribute.
  public enum Value: Sendable, Hashable {
    /// A text, such as a method.
    case string(String)
    /// A number, such as a status.
    case int(Int)
  }

  /// What a load adds to one instrument of a meter.
  public struct Sample: Sendable, Hashable {
    /// `http.client.active_requests` (an up-down counter); or one of the histograms `http.client.request.duration`,
    /// `http.client.request.body.size` and `http.client.response.body.size`.
    public let name: String
    /// As in UCUM: `{request}`, `s` or `By`.
    public let unit: String
    /// In the unit. Active requests are 1 at the start and -1 at the end.
    public let value: Double
    /// Those of few values, which suit a metric: no URL.
    public let attributes: [String: Value]
  }

  /// When it was taken.
  public let phase: Phase
  /// How long the load took; nil at its start.
  public let duration: Duration?
  /// The trace that it is in, with the identifier of this load; nil if the request has a `traceparent` that is none.
  public let trace: TraceContext?
  /// All that is known, for a span: method, URL, server, status, kind of error, number of the resend, sizes.
  public let attributes: [String: Value]

  /// What is to be added to which instrument.
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
    for part in ["request", "response"] {
      guard case .int(let size)? = attributes["http.\(part).body.size"] else { continue }
      samples.append(
        Sample(name: "http.client.\(part).body.size", unit: "By", value: Double(size), attributes: few))
    }
    return samples
  }

  /// Those that are the same at the start and at the end, so that an up-down counter comes back to zero.
  private static let startAttributes: Set<String> = [
    "http.request.method", "url.scheme", "server.address", "server.port",
  ]
  private static let metricAttributes = startAttributes.union(["http.response.status_code", "error.type"])
}

extension HTTPMeasurement {
  init(startOf request: HTTPRequest, _ trace: TraceContext?, _ redaction: Redaction) {
    phase = .started
    duration = nil
    self.trace = trace
    attributes = request.measured(redaction)
  }

  private init(_ start: HTTPMeasurement, duration: Duration, adding added: [String: Value]) {
    phase = .ended
    self.duration = duration
    trace = start.trace
    attributes = start.attributes.merging(added) { _, new in new }
  }

  /// The same load, when it has ended. A clock that went back is zero.
  func ended(_ outcome: Outcome<HTTPResponse>, after duration: Duration) -> HTTPMeasurement {
    HTTPMeasurement(self, duration: max(duration, .zero), adding: outcome.measured)
  }
}

extension HTTPMeasurement.Value: CustomStringConvertible, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
  public init(stringLiteral value: String) { self = .string(value) }

  public init(integerLiteral value: Int) { self = .int(value) }

  /// The text, or the number.
  public var description: String {
    switch self {
    case .string(let text): text
    case .int(let number): "\(number)"
    }
  }
}

extension HTTPMeasurement: CustomStringConvertible {
  /// The phase, and the attributes by name.
  public var description: String {
    let texts = attributes.sorted { $0.key < $1.key }.map { "\($0.key)=\(OneLine.text($0.value.description))" }
    return "\(phase): " + texts.joined(separator: " ")
  }
}
