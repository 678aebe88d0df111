import FutureTree
import FutureTreeHTTP
import FutureTreeLifecycle
import HTTPTypes
import Hummingbird
import NIOCore

/// A context for handlers that return futures.
///
/// ```swift
/// struct AppContext: FutureRequestContext {
///   var coreContext: CoreRequestContextStorage
///   var incoming: IncomingRequest
///
///   init(source: ApplicationRequestContextSource) {
///     coreContext = CoreRequestContextStorage(source: source)
///     incoming = IncomingRequest(source: source)
///   }
/// }
/// ```
///
/// A child context copies `incoming` from its parent. ``BasicFutureRequestContext`` has no other properties.
public protocol FutureRequestContext: RequestContext {
  /// The client, the deadline and the trace of the request.
  var incoming: IncomingRequest { get set }
}

extension FutureRequestContext {
  /// A layer that gives the deadline and the trace of the incoming request to each request that it forwards.
  ///
  /// ```swift
  /// router.future(.get, "users/:id") { request, context in
  ///   (context.outgoing --> backend).load(try HTTPRequest("http://users.internal/\(context.parameters.require("id"))"))
  /// }
  /// ```
  ///
  /// The layer sets `RequestDeadline`, unless the request has an earlier one. It sets `RequestTraceContext`, and the fields
  /// `traceparent` and `tracestate`, unless the request has a trace. The backend sends the deadline if it has the layer
  /// `ModifyRequest.sendingDeadline()`.
  public var outgoing: ModifyRequest { incoming.outgoing }
}

/// The client, the deadline and the trace of a request.
public struct IncomingRequest: Sendable {
  /// The instant by which the client expects the response, or `nil`. It is known in handlers that return futures.
  ///
  /// The time begins when the server creates the context, before its middleware. A pipelined request may have waited before.
  public private(set) var deadline: FutureDeadline?
  /// The trace that the client sent in `traceparent` and `tracestate`, or `nil`. It is known in handlers that return futures.
  public private(set) var trace: TraceContext?

  /// The service that shuts down the handler, if the router has the middleware ``HandlerShutdown``.
  var service: ScopeService?
  /// The scope of this request, inside that of the service.
  var work: CancelScope?

  let channel: any Channel
  private let clock: any FutureClock
  private let received: Duration

  /// Creates the value for a context that Hummingbird creates.
  ///
  /// - Parameters:
  ///   - source: The source of the context.
  ///   - clock: The clock of the deadline. Defaults to `.system`.
  public init(source: ApplicationRequestContextSource, clock: any FutureClock = .system) {
    channel = source.channel
    self.clock = clock
    received = clock.now
  }

  /// Reads the deadline and the trace. Of two deadlines, the earlier one applies. An invalid trace is ignored, as W3C Trace
  /// Context requires.
  mutating func read(_ fields: HTTPFields) throws(InvalidTimeoutField) {
    let deadlines = try [
      deadline(fields, "request-timeout") { FutureDeadline(requestTimeout: $0, clock: clock) },
      deadline(fields, "grpc-timeout") { FutureDeadline(grpcTimeout: $0, clock: clock) },
    ]
    let earliest = deadlines.compactMap { $0 }.min { $0.instant < $1.instant }
    deadline = earliest.map { FutureDeadline($0.instant - (clock.now - received), of: clock) }
    trace = fields[.traceparent].flatMap { TraceContext(traceparent: $0, tracestate: fields[.tracestate]) }
  }

  private func deadline(
    _ fields: HTTPFields, _ name: String, _ parse: (String) -> FutureDeadline?
  ) throws(InvalidTimeoutField) -> FutureDeadline? {
    guard let text = fields[HTTPField.Name(name)!] else { return nil }  // Both names are tokens.
    guard let deadline = parse(text) else { throw InvalidTimeoutField(name: name) }
    return deadline
  }

  fileprivate var outgoing: ModifyRequest {
    ModifyRequest { [deadline, trace] request in
      if let deadline, request.deadline.map({ deadline.remaining < $0.remaining }) ?? true {
        request.deadline = deadline
      }
      let hasTrace = request.traceContext != nil || request.headers.contains("traceparent")
      guard let trace, !hasTrace else { return }
      request.traceContext = trace
      try request.setHeader("traceparent", trace.traceparent)
      if let state = trace.state { try request.setHeader("tracestate", state) }
    }
  }

  /// Calls a closure when the client disconnects.
  func whenClientDisconnects(_ body: @escaping @Sendable (CancellationReason) -> Void) -> DisconnectWatch {
    DisconnectWatch(channel) { body(CancellationReason("the client closed the connection", kind: .disconnected)) }
  }
}

/// A field with an invalid remaining time.
struct InvalidTimeoutField: Error {
  let name: String

  var message: String {
    "The field \(name) is invalid. Send 1 to 8 digits\(name == "grpc-timeout" ? " and a unit" : "")."
  }
}

extension HTTPField.Name {
  fileprivate static let traceparent = HTTPField.Name("traceparent")!  // A token.
  fileprivate static let tracestate = HTTPField.Name("tracestate")!  // A token.
}

/// A context with nothing but the properties that handlers that return futures need.
public struct BasicFutureRequestContext: FutureRequestContext {
  public var coreContext: CoreRequestContextStorage
  public var incoming: IncomingRequest

  /// Creates the context of a request.
  public init(source: ApplicationRequestContextSource) {
    coreContext = CoreRequestContextStorage(source: source)
    incoming = IncomingRequest(source: source)
  }
}
