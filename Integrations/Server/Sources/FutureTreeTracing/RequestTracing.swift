import FutureTree
import FutureTreeHTTP
import Tracing

/// A layer that records a span of swift-distributed-tracing for each load.
///
/// ```swift
/// let api = Retry() --> RequestTracing(with: InstrumentationSystem.tracer) --> URLSessionLoader()
/// request[option: RequestServiceContext.self] = context  // Otherwise the task's `ServiceContext.current`.
/// ```
///
/// The span begins with the load and ends with its transfer. Its attributes have the names of OpenTelemetry and contain no
/// secrets. The tracer adds header fields, which replace fields with the same names. If a field is invalid, the load fails.
///
/// **Cancellation** is forwarded, and a cancelled load ends its span. **Reset.** The layer keeps no state.
public struct RequestTracing: HTTPLayer {
  private let tracer: any Tracer

  /// Creates a layer whose spans belong to a tracer.
  public init(with tracer: any Tracer) { self.tracer = tracer }

  /// Forwards the request with the header fields of the tracer. Returns the future of `next`.
  public func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    let parent = request[option: RequestServiceContext.self] ?? ServiceContext.current ?? .topLevel
    let span = tracer.startSpan(request.method.name, context: parent, ofKind: .client)
    span.attributes["http.request.method"] = request.method.name
    span.attributes["server.address"] = request.url?.host
    span.attributes["server.port"] = request.url.map { Int($0.port) }
    var (request, fields) = (request, [(String, String)]())
    request[option: RequestServiceContext.self] = span.context
    tracer.inject(span.context, into: &fields, using: FieldInjector())
    do { for (name, value) in fields { try request.setHeader(name, value) } } catch {
      return ended(span, .failed(error))
    }
    return ended(span, next.load(request))
  }

  private func ended(_ span: any Span, _ future: Future<HTTPResponse>) -> Future<HTTPResponse> {
    future.observeTransfer { outcome, transfer in
      span.attributes["http.response.status_code"] = (try? outcome.get())?.status.code
      if case .cancelled = transfer { span.attributes["error.type"] = "cancelled" }
      if case .failure(let error) = transfer {
        span.attributes["error.type"] = (error as? HTTPError)?.code.description ?? "\(type(of: error))"
        span.setStatus(SpanStatus(code: .error))
      }
      span.end()
    }
    return future
  }
}

/// The context of the operation that a request belongs to. It defaults to `nil`: the context of the current task.
public enum RequestServiceContext: HTTPRequestOption {
  public static var defaultValue: ServiceContext? { nil }
}

private struct FieldInjector: Injector {
  func inject(_ value: String, forKey key: String, into list: inout [(String, String)]) { list.append((key, value)) }
}
