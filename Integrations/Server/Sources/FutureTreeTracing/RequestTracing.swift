import FutureTree
import FutureTreeHTTP
import Tracing

/// A layer that records a span of swift-distributed-tracing for each load.
///
/// ```swift
/// let api = RequestTracing.context --> Retry() --> RequestTracing(with: InstrumentationSystem.tracer) --> URLSessionLoader()
/// ```
///
/// The parent is the option `RequestServiceContext`, the trace in the fields of the request, or the context of the task. `Retry` and
/// `Throttle` send from other tasks: put `context` before them. A span ends with its transfer. Its attributes have no secrets.
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
    let span = tracer.startSpan(request.method.name, context: context, ofKind: .client)
    span.attributes["http.request.method"] = request.method.name
    span.attributes["server.address"] = request.url?.host.filter { !"[]".contains($0) }
    span.attributes["server.port"] = request.url.map { Int($0.port) }
    request[option: RequestServiceContext.self] = span.context
    tracer.inject(span.context, into: &fields, using: Fields())
    do {
      for (name, value) in fields { try request.setHeader(name, value) }
      return ended(span, next.load(request))
    } catch { return ended(span, .failed(error)) }
  }

  private func ended(_ span: any Span, _ future: Future<HTTPResponse>) -> Future<HTTPResponse> {
    future.observeTransfer { outcome, transfer in
      let status = (try? outcome.get())?.status.code
      var fault = status.flatMap { $0 < 400 ? nil : "\($0)" }
      if case .failure(let error) = transfer { fault = (error as? HTTPError)?.code.description ?? "\(type(of: error))" }
      if fault != nil { span.setStatus(SpanStatus(code: .error)) }
      if case .cancelled = transfer { fault = "cancelled" }
      (span.attributes["http.response.status_code"], span.attributes["error.type"]) = (status, fault)
      span.end()
    }
    return future
  }
}

/// The context of the operation that a request belongs to. Defaults to `nil`.
public enum RequestServiceContext: HTTPRequestOption { public static var defaultValue: ServiceContext? { nil } }

private struct Fields: Injector, Extractor {
  func inject(_ value: String, forKey key: String, into list: inout [(String, String)]) { list.append((key, value)) }
  func extract(key: String, from list: [(String, String)]) -> String? { list.first { $0.0 == key.lowercased() }?.1 }
}
