import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("Layers: Metrics")
struct MetricsTests {
  private let mock = MockLoader()
  private let clock = ManualClock()
  private let measured = Measurements()

  private var metrics: RequestMetrics {
    RequestMetrics(clock: clock, random: .seeded(1)) { [measured] in measured.add($0) }
  }

  private var api: any HTTPLoader { metrics --> mock }

  @Test("A load is measured at its start and its end, in the names of OpenTelemetry")
  func names() throws {
    let held = mock.hold()
    var request = try HTTPRequest(.post, "https://example.com:8443/feed?page=2")
    request.body = .data(Data("12345".utf8))
    request.attempt = 3
    _ = api.load(request)
    clock.advance(by: .milliseconds(1_500))
    held.answer(status: .created, body: "123")

    let start: [String: HTTPMeasurement.Value] = [
      "http.request.method": "POST", "url.full": "https://example.com:8443/feed?page=REDACTED", "url.scheme": "https",
      "server.address": "example.com", "server.port": 8443, "http.request.resend_count": 2, "http.request.body.size": 5,
    ]
    let added: [String: HTTPMeasurement.Value] = ["http.response.status_code": 201, "http.response.body.size": 3]
    expectEqual(measured.all.map(\.phase), [.started, .ended])
    expectEqual(measured.all.map(\.duration), [nil, .milliseconds(1_500)])
    expectEqual(measured.all.first?.attributes, start)
    expectEqual(measured.all.last?.attributes, start.merging(added) { first, _ in first })
    #expect(measured.all[0].trace == measured.all[1].trace && clock.timerCount == 0)
  }

  @Test("The template of a literal is an attribute of spans and metrics, with the prefix of the server")
  func template() throws {
    mock.onOthers(.status(.ok))
    let server = try ServerEnvironment(host: "example.com", pathPrefix: "/v1")
    let id = 7

    _ = (ApplyEnvironment(server) --> api).get("users/\(id)/posts", query: ["page": "2"])
    _ = (ApplyEnvironment(server) --> api).load(try HTTPRequest("http://example.com/users/7"))

    expectEqual(
      measured.all.map { $0.attributes["url.template"] }.prefix(2), ["/v1/users/{}/posts", "/v1/users/{}/posts"])
    let samples = measured.all.prefix(2).flatMap(\.samples)
    expectEqual(Set(samples.map { $0.attributes["url.template"] }), ["/v1/users/{}/posts"])
    #expect(measured.all.suffix(2).allSatisfy { $0.attributes["url.template"] == nil })
    expectEqual(Set(samples.map(\.bucketLimits.count)), [0, 14])
  }

  @Test("Samples have seconds, bytes and active requests, without the URL")
  func samples() {
    mock.answer(body: "123")
    var request = anyRequest("/a")
    request.body = .data(Data("12345".utf8))

    _ = api.load(request)

    let start: [String: HTTPMeasurement.Value] = [
      "http.request.method": "GET", "url.scheme": "http", "server.address": "example.com", "server.port": 80,
    ]
    let end = start.merging(["http.response.status_code": 200]) { first, _ in first }
    typealias Sample = HTTPMeasurement.Sample
    #expect(measured.all[0].samples.map(\.value) == [1] && measured.all[0].samples[0].attributes == start)
    let samples = measured.all[1].samples
    expectEqual(
      samples.map(\.name),
      [
        "http.client.active_requests", "http.client.request.duration", "http.client.request.body.size",
        "http.client.response.body.size",
      ])
    expectEqual(samples.map(\.unit), ["{request}", "s", "By", "By"])
    expectEqual(samples.map(\.value), [-1, 0, 5, 3])
    #expect(samples[0].attributes == start && samples.dropFirst().allSatisfy { $0.attributes == end })
  }

  @Test("The type of an error is the status, the code, the type, or the cancellation")
  func errors() throws {
    let answer = HTTPResponse(to: anyRequest(), status: .forbidden, body: Data(sentinel.utf8))
    mock.answer(status: .notFound)
    mock.fail(HTTPError(.timedOut, sentinel))
    mock.fail(HTTPError(.unacceptableStatus, sentinel, response: answer))
    mock.fail(HTTPError(.undecodableBody, sentinel, response: HTTPResponse(to: anyRequest(), status: .ok)))
    mock.fail(Oops(name: sentinel))
    mock.answer(status: .notModified)
    let held = (0..<4).map { _ in mock.hold(whenCancelled: .complete) }

    for _ in 0..<7 { api.load(anyRequest()).cancel() }
    for kind in [CancellationReason.Kind.timeout, .deadline, .reset] {
      api.load(anyRequest()).cancel(reason: CancellationReason("", kind: kind))
    }

    let ends = measured.all.filter { $0.phase == .ended }
    expectEqual(
      ends.map { $0.attributes["error.type"]?.description },
      ["404", "timedOut", "403", "undecodableBody", "Oops", nil, "cancelled", "timeout", "deadline", "cancelled"])
    expectEqual(
      ends.map { $0.attributes["http.response.status_code"] }, [404, nil, 403, 200, nil, 304, nil, nil, nil, nil])
    withExtendedLifetime(held) {}
  }

  @Test("An unknown method makes no time series of its own", arguments: ["PURGE", "get"])
  func methods(name: String) throws {
    mock.answer()

    _ = api.load(try HTTPRequest(HTTPMethod(name), "http://example.com/"))

    expectEqual(measured.all[0].attributes["http.request.method"], "_OTHER")
    expectEqual(measured.all[0].attributes["http.request.method_original"], .string(name))
  }

  @Test("An address has no brackets, and a request without a host has no server")
  func addresses() throws {
    mock.onOthers(.status(.ok))

    _ = api.load(try HTTPRequest("http://[::1]/"))
    _ = api.load(try HTTPRequest(.get, path: "a?b=c"))

    expectEqual(measured.all[0].attributes["server.address"], "::1")
    expectEqual(measured.all[2].attributes, ["http.request.method": "GET"])
  }

  @Test("Each load begins a trace and sends it")
  func roots() throws {
    mock.onOthers(.status(.ok))
    let api = api  // Each access creates a generator.
    let request = anyRequest()

    _ = api.load(request)
    _ = api.load(request)

    let sent = mock.requests.compactMap { $0.headers["traceparent"] }
    #expect(sent == [measured.all[0], measured.all[2]].compactMap(\.trace?.traceparent) && Set(sent).count == 2)
    #expect(sent.allSatisfy { $0.wholeMatch(of: /00-[0-9a-f]{32}-[0-9a-f]{16}-01/) != nil })
    #expect(mock.requests.allSatisfy { !$0.headers.contains("tracestate") })
  }

  @Test("A load continues the trace of its request, with its state and a new span identifier")
  func children() throws {
    mock.onOthers(.status(.ok))
    let parent = try #require(
      TraceContext(traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00", tracestate: "a=1"))
    var request = anyRequest()
    request.traceContext = parent
    let api = api  // Each access creates a generator.

    _ = api.load(request)
    _ = api.load(request)

    let traces = try mock.requests.map { try #require(TraceContext(traceparent: $0.headers["traceparent"] ?? "")) }
    #expect(traces.allSatisfy { $0.traceID == parent.traceID && !$0.isSampled })
    expectEqual(Set(traces.map(\.spanID) + [parent.spanID]).count, 3)
    expectEqual(mock.requests.map { $0.headers["tracestate"] }, ["a=1", "a=1"])
    expectEqual(mock.requests.map { $0.traceContext?.spanID }, traces.map(\.spanID))
  }

  @Test("An inner layer measures child spans and sends them", arguments: [nil, "a=1"])
  func second(state: String?) throws {
    mock.onOthers(.status(.ok))
    let inner = Measurements()
    var request = anyRequest()
    request.traceContext = TraceContext(
      traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", tracestate: state)

    _ = (metrics --> RequestMetrics(clock: clock, random: .seeded(2)) { inner.add($0) } --> mock).load(request)

    let (outer, child) = (try #require(measured.all.first?.trace), try #require(inner.all.first?.trace))
    expectEqual(outer.traceID, child.traceID)
    #expect(outer.spanID != child.spanID)
    expectEqual(mock.requests.map { $0.headers.values(for: "traceparent") }, [[child.traceparent]])
    expectEqual(mock.requests.map { $0.headers.values(for: "tracestate") }, [state.map { [$0] } ?? []])
  }

  @Test("An existing header is sent unchanged and reported", arguments: [true, false])
  func existing(isValid: Bool) throws {
    mock.answer()
    let header = isValid ? "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01" : "none"
    var request = anyRequest()
    try request.setHeader("TraceParent", header)
    request.traceContext = .root()

    _ = api.load(request)

    expectEqual(mock.requests.map { $0.headers.values(for: "traceparent") }, [[header]])
    expectEqual(measured.all.map { $0.trace?.spanID }, Array(repeating: isValid ? "00f067aa0ba902b7" : nil, count: 2))
  }

  @Test("A request can turn measuring off, and is sent unchanged")
  func silenced() {
    mock.answer()
    var request = anyRequest()
    request.isMeasured = false

    expectEqual(api.load(request).text, "success")
    #expect(measured.all.isEmpty && mock.requests[0].headers.isEmpty)
  }

  @Test("Loads of the observer are not measured")
  func observerLoads() {
    let chain = Locked<(any HTTPLoader)?>(nil)
    let count = Locked(0)
    mock.onOthers(.status(.ok))
    let metrics = RequestMetrics(clock: clock) { _ in
      count.withLock { $0 += 1 }
      _ = chain.value?.load(anyRequest())
    }
    let api = metrics --> mock
    chain.value = api

    let load = api.load(anyRequest())

    expectEqual(load.text, "success")
    expectEqual(count.value, 2)
    expectEqual(mock.requests.count, 3)
    chain.value = nil
  }

  @Test("The future of the next loader is returned, and a forced end is measured once")
  func outcomes() {
    let held = mock.hold()
    let load = api.load(anyRequest())

    expectEqual(load.tree().entries.count, 1)
    load.cancel(.forceImmediately)
    let reported = measured.all.count
    held.answer()

    #expect(reported == 2 && measured.all.count == 2 && measured.all[1].attributes["error.type"] == "cancelled")
    #expect(held.cancelRequest != nil)
  }

  @Test("The description of a measurement is one line")
  func description() {
    mock.answer()

    _ = api.load(anyRequest("/?key=\(sentinel)"))

    #expect(
      measured.all.first.map { "\($0)" }
        == "started: http.request.method=GET server.address=example.com server.port=80 "
        + "url.full=http://example.com/?key=REDACTED url.scheme=http")
  }

  @Test("A reset is forwarded")
  func reset() {
    expectEqual(api.reset().text, "success")
  }
}

private final class Measurements: Sendable {
  private let list = Locked<[HTTPMeasurement]>([])

  var all: [HTTPMeasurement] { list.value }

  func add(_ measurement: HTTPMeasurement) { list.withLock { $0.append(measurement) } }
}
