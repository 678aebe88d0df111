/// The position of a request in a distributed trace (W3C Trace Context).
///
/// ```swift
/// // A server continues the trace of the incoming request:
/// request.traceContext = TraceContext(
///   traceparent: incoming.headers["traceparent"] ?? "", tracestate: incoming.headers.joined("tracestate"))
/// ```
///
/// `RequestMetrics` sends each load as a child of this context: in the same trace, with a new span identifier.
public struct TraceContext: Sendable, Hashable {
  /// The identifier of the trace: 32 hexadecimal digits in lower case, not all zero.
  public let traceID: String
  /// The identifier of the span, which is the `parent-id` of its child spans: 16 hexadecimal digits in lower case, not
  /// all zero.
  public let spanID: String
  /// Whether the caller may have recorded the trace.
  public let isSampled: Bool
  /// The vendor-specific state, which is the value of `tracestate`, or `nil`.
  public let state: String?

  /// Parses the header fields `traceparent` and `tracestate` (sections 3.2 and 3.3).
  ///
  /// - Parameters:
  ///   - traceparent: The value of `traceparent`, in version 00 or in a later version that begins in the same way.
  ///   - tracestate: The value of `tracestate`. It is ignored if it is not a valid field value, or has more than 32
  ///     members.
  /// - Returns: `nil` if `traceparent` is invalid. The recipient then begins a new trace.
  public init?(traceparent: String, tracestate: String? = nil) {
    let bytes = Array(traceparent.utf8)
    guard bytes.count >= 55, bytes[2] == 0x2D, bytes[35] == 0x2D, bytes[52] == 0x2D else { return nil }
    let parts = [bytes[0..<2], bytes[3..<35], bytes[36..<52], bytes[53..<55]]
    guard parts.allSatisfy({ $0.allSatisfy(TraceContext.isLowerHexDigit) }) else { return nil }
    let texts = parts.map { String(decoding: $0, as: UTF8.self) }
    guard texts[0] != "ff", bytes.count == 55 || texts[0] != "00" && bytes[55] == 0x2D else { return nil }
    guard !parts[1].allSatisfy({ $0 == 0x30 }), !parts[2].allSatisfy({ $0 == 0x30 }) else { return nil }
    traceID = texts[1]
    spanID = texts[2]
    isSampled = UInt8(texts[3], radix: 16)! & 1 == 1  // Two hexadecimal digits always fit into a byte.
    state = tracestate.flatMap { TraceContext.isState($0) ? $0 : nil }
  }

  private init(traceID: String, spanID: String, isSampled: Bool, state: String?) {
    self.traceID = traceID
    self.spanID = spanID
    self.isSampled = isSampled
    self.state = state
  }

  /// The value of `traceparent`, in version 00. Only the sampled flag is passed on (section 3.2.2.5).
  public var traceparent: String { "00-\(traceID)-\(spanID)-\(isSampled ? "01" : "00")" }

  /// Returns the context of a new trace, which is sampled.
  public static func root(random: RandomSource = .system) -> TraceContext {
    TraceContext(traceID: identifier(16, random), spanID: identifier(8, random), isSampled: true, state: nil)
  }

  /// Returns the context of a new span in the same trace.
  public func child(random: RandomSource = .system) -> TraceContext {
    TraceContext(traceID: traceID, spanID: TraceContext.identifier(8, random), isSampled: isSampled, state: state)
  }

  /// Returns a random identifier that is not all zeros, because such an identifier is invalid (section 3.2.2.3).
  private static func identifier(_ count: Int, _ random: RandomSource) -> String {
    var bytes = random.bytes(count)
    if bytes.allSatisfy({ $0 == 0 }) { bytes[count - 1] = 1 }
    return bytes.map { ASCII.hexadecimal($0) }.joined().lowercased()
  }

  private static func isLowerHexDigit(_ byte: UInt8) -> Bool { ASCII.isDigit(byte) || (0x61...0x66).contains(byte) }

  private static func isState(_ text: String) -> Bool {
    !text.isEmpty && FieldSyntax.fault(inValue: text) == nil && FieldSyntax.elements(of: text).count <= 32
  }
}

extension TraceContext: CustomStringConvertible, CustomReflectable {
  /// The value of `traceparent`. The state is not shown, because other systems define its content.
  public var description: String { traceparent }

  public var customMirror: Mirror { Mirror(self, children: ["traceparent": traceparent], displayStyle: .struct) }
}

/// The trace context of the operation that a request belongs to. `RequestMetrics` sends the request as a child of it.
public enum RequestTraceContext: HTTPRequestOption {
  /// No context: each load begins a new trace.
  public static var defaultValue: TraceContext? { nil }
}

extension HTTPRequest {
  /// The trace context of the operation that this request belongs to.
  public var traceContext: TraceContext? {
    get { self[option: RequestTraceContext.self] }
    set { self[option: RequestTraceContext.self] = newValue }
  }
}
