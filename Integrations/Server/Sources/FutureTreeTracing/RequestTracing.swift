import FutureTree
import FutureTreeHTTP
import Tracing

/// A layer that records a span of swift-distributed-tracing for each load.
///
/// ```swift
/// let api = RequestTracing.context --> Retry() --> RequestTracing(with: InstrumentationSystem.tracer) --> URLSessionLoader()
/// ```
///
/// The parent is the option `RequestServiceContext`, the trace in the fields of the request, or the context of the task.
/// `Retry` and `Throttle` send from other tasks: put `context` before them. The attributes are those of `HTTPMeasurement`.
public struct RequestTracing: HTTPLayer {
  /// A layer that gives `ServiceContext.current` to each request that has no `RequestServiceContext`.
  public static let context = ModifyRequest { request in
    if request[option: RequestServiceContext.self] == nil { request[option: RequestServiceContext.self] = .current }
  }
  private let tracer: any Tracer
  /// Creates a layer whose spans belong to a tracer.
  public init(with tracer: any Tracer) { self.tracer = tracer }
  /// Forwards the request with the fields of the tracer. Returns the future of `next`, or a failure if a field is invalid.
  public func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    var (request, fields, parent) = (request, [(String, String)](), ServiceContext.current ?? .topLevel)
    tracer.extract(request.headers.map { ($0.name.lowercased(), $0.value) }, into: &parent, using: Fields())
    let context = request[option: RequestServiceContext.self] ?? parent
    let start = HTTPMeasurement(startOf: request)
    let method = start.attributes["http.request.method"] == "_OTHER" ? "HTTP" : request.method.name
    let name = request.urlTemplate.map { "\(method) \($0)" } ?? method
    let span = tracer.startSpan(name, context: context, ofKind: .client)
    span.set(start)
    request[option: RequestServiceContext.self] = span.context
    tracer.inject(span.context, into: &fields, using: Fields())
    let future = Future<HTTPResponse>.attempt {
      for (name, value) in fields { try request.setHeader(name, value) }
      return next.load(request)
    }
    future.observeTransfer { outcome, transfer in
      span.set(start.ended(outcome, transfer, after: .zero))
      span.end()
    }
    return future
  }
}

extension Span {
  fileprivate func set(_ measurement: HTTPMeasurement) {
    for (name, value) in measurement.attributes {
      if case .int(let number) = value { attributes[name] = number } else { attributes[name] = value.description }
    }
    if ![nil, "cancelled"].contains(measurement.attributes["error.type"]) { setStatus(SpanStatus(code: .error)) }
  }
}

/// The context of the operation that a request belongs to. Defaults to `nil`.
public enum RequestServiceContext: HTTPRequestOption { public static var defaultValue: ServiceContext? { nil } }

private struct Fields: Injector, Extractor {
  func inject(_ value: String, forKey key: String, into list: inout [(String, String)]) { list.append((key, value)) }
  func extract(key: String, from list: [(String, String)]) -> String? { list.first { $0.0 == key.lowercased() }?.1 }
}
