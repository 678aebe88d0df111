import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting
import FutureTreeTracing
import InMemoryTracing
import Testing
import Tracing

@Suite("A span for each load") struct TracingTests {
  private let tracer = InMemoryTracer()
  private let mock = MockLoader()

  private var api: any HTTPLoader { RequestTracing(with: tracer) --> mock }
  private let request = try! HTTPRequest("https://example.com/users?token=secret")  // A literal that is valid.

  @Test("The span has the method, the server and the status, and no secrets")
  func attributes() throws {
    mock.on("/users", .status(.created))

    _ = api.load(request)

    let span = try #require(tracer.finishedSpans.first)
    #expect(span.operationName == "GET")
    #expect(span.kind == .client)
    #expect(span.attributes.get("http.request.method") == .string("GET"))
    #expect(span.attributes.get("server.address") == .string("example.com"))
    #expect(span.attributes.get("server.port") == .int64(443))
    #expect(span.attributes.get("http.response.status_code") == .int64(201))
    #expect(span.attributes.get("url.full") == .string("https://example.com/users?token=REDACTED"))
    #expect(span.attributes.get("url.scheme") == .string("https"))
    #expect(span.attributes.get("http.response.body.size") == .int64(0))
    #expect(span.attributes.count == 7)
    #expect(span.status == nil)
  }

  @Test("The tracer adds its fields to the request")
  func injects() throws {
    mock.answer()

    _ = api.load(request)

    let span = try #require(tracer.finishedSpans.first?.context.inMemorySpanContext)
    let sent = try #require(mock.requests.first)
    #expect(sent.headers["in-memory-trace-id"] == span.traceID)
    #expect(sent.headers["in-memory-span-id"] == span.spanID)
  }

  @Test("A span is a child of the request's context, otherwise of the task's context")
  func parents() throws {
    mock.onOthers(.status(.ok))
    let (first, second) = (tracer.startSpan("incoming"), tracer.startSpan("other"))
    var given = request
    given[option: RequestServiceContext.self] = first.context

    ServiceContext.$current.withValue(second.context) {
      _ = api.load(given)
      _ = api.load(request)
    }

    #expect(tracer.finishedSpans.map(\.parentSpanID) == [first.spanID, second.spanID])
  }

  @Test("Retries and queued loads belong to the context in which the load began")
  func contextOfLoad() throws {
    mock.on(.any, .status(.serviceUnavailable))
    mock.onOthers(.status(.ok))
    let (first, other) = (tracer.startSpan("first"), tracer.startSpan("other"))
    let clock = ManualClock()
    let chain = RequestTracing.context --> Retry(clock: clock) --> api

    let load = ServiceContext.$current.withValue(first.context) { chain.load(request) }
    ServiceContext.$current.withValue(other.context) { clock.advance(by: .seconds(60)) }

    #expect(load.isCompleted && tracer.finishedSpans.map(\.parentSpanID) == [first.spanID, first.spanID])
  }

  @Test("A trace in the fields of the request is the parent of the span")
  func traceInFields() throws {
    mock.answer()
    let incoming = tracer.startSpan("incoming")
    var request = request
    var fields: [(String, String)] = []
    tracer.inject(incoming.context, into: &fields, using: PairInjector())
    for (name, value) in fields { try request.setHeader(name, value) }

    _ = api.load(request)

    #expect(tracer.finishedSpans.map(\.parentSpanID) == [incoming.spanID])
  }

  private struct PairInjector: Injector {
    func inject(_ value: String, forKey key: String, into list: inout [(String, String)]) { list.append((key, value)) }
  }

  @Test("A status of an error is one of the span, and an address has no brackets")
  func errorStatus() throws {
    mock.answer(status: .notFound)

    _ = api.load(try HTTPRequest("http://[::1]/"))

    let span = try #require(tracer.finishedSpans.first)
    #expect(span.attributes.get("error.type") == .string("404") && span.status?.code == .error)
    #expect(span.attributes.get("server.address") == .string("::1"))
  }

  @Test("An unknown method is not part of the name of the span")
  func unknownMethod() throws {
    mock.answer()
    var request = request
    request.method = try HTTPMethod("PURGE-secret")

    _ = api.load(request)

    let span = try #require(tracer.finishedSpans.first)
    #expect(span.operationName == "HTTP" && span.attributes.get("http.request.method") == .string("_OTHER"))
    #expect(span.attributes.get("http.request.method_original") == .string("PURGE-secret"))
  }

  @Test("The name of a span has the template of the path")
  func template() throws {
    mock.onOthers(.status(.ok))

    _ = api.get("http://example.com/users/\(7)")

    #expect(try #require(tracer.finishedSpans.first).operationName == "GET /users/{}")
    #expect(tracer.finishedSpans.first?.attributes.get("url.template") == .string("/users/{}"))
  }

  @Test("A failure because of a status has that status")
  func unacceptableStatus() throws {
    let response = HTTPResponse(to: request, status: .serviceUnavailable)
    mock.fail(HTTPError(.unacceptableStatus, "The server refuses.", response: response))

    _ = api.load(request)

    let span = try #require(tracer.finishedSpans.first)
    #expect(span.attributes.get("http.response.status_code") == .int64(503))
    #expect(span.attributes.get("error.type") == .string("503") && span.status?.code == .error)
  }

  @Test("A second layer records a child of the first span")
  func nests() throws {
    mock.answer()

    _ = (RequestTracing(with: tracer) --> api).load(request)

    #expect(tracer.finishedSpans.map(\.parentSpanID) == [tracer.finishedSpans.last?.spanID, nil])
  }

  @Test("A failed load ends its span with the code of the error")
  func failure() throws {
    mock.fail(HTTPError(.connectionLost, "The server closed the connection."))

    _ = api.load(request)

    let span = try #require(tracer.finishedSpans.first)
    #expect(span.attributes.get("error.type") == .string("connectionLost"))
    #expect(span.status?.code == .error)
  }

  @Test("A cancelled load ends its span when the transport has confirmed the cancellation")
  func cancellation() throws {
    let held = mock.hold()
    let load = api.load(request)
    load.cancel()
    #expect(tracer.finishedSpans.isEmpty)

    held.complete(.cancelled)

    let span = try #require(tracer.finishedSpans.first)
    #expect(span.attributes.get("error.type") == .string("cancelled"))
    #expect(span.status == nil)
  }

  @Test("The span of a stream ends with its transfer")
  func stream() throws {
    let stream = mock.stream()
    var request = request
    request.delivery = .stream()
    let load = api.load(request)
    #expect(load.isCompleted)
    #expect(tracer.finishedSpans.isEmpty)

    stream.finish()

    #expect(tracer.finishedSpans.count == 1)
    withExtendedLifetime(load) {}
  }

  @Test("A load whose tracer adds an invalid field fails, and ends its span")
  func invalidField() throws {
    let tracer = InMemoryTracer(idGenerator: .init(nextTraceID: { "a\nb" }, nextSpanID: { "1" }))
    let load = (RequestTracing(with: tracer) --> mock).load(request)

    guard case .failure(let error as HTTPError)? = load.outcomeIfCompleted else { throw LoadDidNotFail() }
    #expect(error.code == .invalidHeaderValue)
    #expect(tracer.finishedSpans.count == 1)
    #expect(mock.requests.isEmpty)
  }

  private struct LoadDidNotFail: Error {}
}
