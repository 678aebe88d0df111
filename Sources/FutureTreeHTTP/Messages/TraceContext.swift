/// The place of a request in a trace that crosses machines (W3C Trace Context).
///
/// ```swift
/// // A server goes on with the trace of what it was asked:
/// request[option: RequestTraceContext.self] = TraceContext(
///   traceparent: incoming.headers["traceparent"] ?? "", tracestate: incoming.headers.joined("tracestate"))
/// ```
///
/// `RequestMetrics` sends each load as a child of it: in the same trace, with an identifier of its own.
public struct TraceContext: Sendable, Hashable {
  /// The whole trace: 32 hexadecimal digits in lower case, not all of them zero.
  public let traceID: String
  /// One operation in it, the `parent-id` of what it causes: 16 hexadecimal digits in lower case, not all of them zero.
  public let spanID: String
  /// Whether its caller may have recorded it.
  public let isSampled: Bool
  /// What tracing systems pass on, as the value of `tracestate`; nil if there is nothing.
  public let state: String?

  /// What the header fields `traceparent` and `tracestate` say (sections 3.2 and 3.3).
  ///
  /// - Parameters:
  ///   - traceparent: of version 00, or of a later one that begins as that does.
  ///   - tracestate: is left out if it is no value of a header field, or has more than 32 members.
  /// - Returns: nil if `traceparent` is none: whoever receives that begins a trace of its own.
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
    isSampled = UInt8(texts[3], radix: 16)! & 1 == 1  // Two hexadecimal digits are a byte.
    state = tracestate.flatMap { TraceContext.isState($0) ? $0 : nil }
  }

  private init(traceID: String, spanID: String, isSampled: Bool, state: String?) {
    self.traceID = traceID
    self.spanID = spanID
    self.isSampled = isSampled
    self.state = state
  }

  /// The value of `traceparent`, of version 00. Flags other than that of the sample are not passed on (section 3.2.2.5).
  public var traceparent: String { "00-\(traceID)-\(spanID)-\(isSampled ? "01" : "00")" }

  /// A trace that begins here. It is sampled.
  public static func root(random: RandomSource = .system) -> TraceContext {
    TraceContext(traceID: identifier(16, random), spanID: identifier(8, random), isSampled: true, state: nil)
  }

  /// Another operation in the same trace.
  public func child(random: RandomSource = .system) -> TraceContext {
    TraceContext(traceID: traceID, spanID: TraceContext.identifier(8, random), isSampled: isSampled, state: state)
  }

  /// All zeros are no identifier (section 3.2.2.3).
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
  /// The value of `traceparent`. What other systems put into the state is not shown.
  public var description: String { traceparent }

  public var customMirror: Mirror { Mirror(self, children: ["traceparent": traceparent], displayStyle: .struct) }
}

/// The operation that a request is part of: `RequestMetrics` sends it as a child of this one.
public enum RequestTraceContext: HTTPRequestOption {
  /// None: a load begins a trace of its own.
  public static var defaultValue: TraceContext? { nil }
}
