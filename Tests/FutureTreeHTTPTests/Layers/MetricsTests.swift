import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
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

  @Test("a load is measured when it begins and when it has ended, in the names of OpenTelemetry")
  func names() throws {
    let held = mock.hold()
    var request = try HTTPRequest(.post, "https://example.com:8443/feed?page=2")
    request.body = .data(Data("12345".utf8))
    request[option: RequestAttempt.self] = 3
    _ = api.load(request)
    clock.advance(by: .milliseconds(1_500))
    held.answer(status: .created, body: "123")

    let start: [String: HTTPMeasurement.Value] = [
      "http.request.method": "POST", "url.full": "https://example.com:8443/feed?page=REDACTED", "url.scheme": "https",
      "server.address": "example.com", "server.port": 8443, "http.request.resend_count": 2, "http.request.body.size": 5,
    ]
    let added: [String: HTTPMeasurement.Value] = ["http.response.status_code": 201, "http.response.body.size": 3]
    #expect(
      measured.all.map(\.phase) == [.started, .ended] && measured.all.map(\.duration) == [nil, .milliseconds(1_500)])
    #expect(measured.all.first?.attributes == start)
    #expect(measured.all.last?.attributes == start.merging(added) { first, _ in first })
    #expect(measured.all[0].trace == measured.all[1].trace && clock.timerCount == 0)
  }

  @Test("its samples suit a meter: seconds, bytes, and active requests that come back to zero, without the URL")
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
    #expect(
      samples.map(\.name) == [
        "http.client.active_requests", "http.client.request.duration", "http.client.request.body.size",
        "http.client.response.body.size",
      ])
    #expect(samples.map(\.unit) == ["{request}", "s", "By", "By"] && samples.map(\.value) == [-1, 0, 5, 3])
    #expect(samples[0].attributes == start && samples.dropFirst().allSatisfy { $0.attributes == end })
  }

  @Test("the kind of an error is the status, the code, the type, or that the load was cancelled")
  func errors() throws {
    let answer = HTTPResponse(to: anyRequest(), status: .forbidden, body: Data(sentinel.utf8))
    mock.answer(status: .notFound)
    mock.fail(HTTPError(.timedOut, sentinel))
    mock.fail(HTTPError(.unacceptableStatus, sentinel, response: answer))
    mock.fail(HTTPError(.undecodableBody, sentinel, response: HTTPResponse(to: anyRequest(), status: .ok)))
    mock.fail(Oops(name: sentinel))
    mock.answer(status: .notModified)
    let held = mock.hold(whenCancelled: .complete)

    for _ in 0..<7 { api.load(anyRequest()).cancel() }

    let ends = measured.all.filter { $0.phase == .ended }
    #expect(
      ends.map { $0.attributes["error.type"]?.description }
        == ["404", "timedOut", "403", "undecodableBody", "Oops", nil, "cancelled"])
    #expect(
      ends.map { $0.attributes["http.response.status_code"] } == [404, nil, 403, 200, nil, 304, nil])
    withExtendedLifetime(held) {}
  }

  @Test("a method that nobody knows makes no time series of its own", arguments: ["PURGE", "get"])
  func methods(name: String) throws {
    mock.answer()

    _ = api.load(try HTTPRequest(HTTPMethod(name), "http://example.com/"))

    #expect(measured.all[0].attributes["http.request.method"] == "_OTHER")
    #expect(measured.all[0].attributes["http.request.method_original"] == .string(name))
  }

  @Test("an address has no brackets, and a request without a host has no server")
  func addresses() throws {
    mock.onOthers(.status(.ok))

    _ = api.load(try HTTPRequest("http://[::1]/"))
    _ = api.load(try HTTPRequest(.get, path: "a?b=c"))

    #expect(measured.all[0].attributes["server.address"] == "::1")
    #expect(measured.all[2].attributes == ["http.request.method": "GET"])
  }

  @Test("each load begins a trace, and sends what it is told")
  func roots() throws {
    mock.onOthers(.status(.ok))
    let api = api  // Each has a generator of its own.
    let request = anyRequest()

    _ = api.load(request)
    _ = api.load(request)

    let sent = mock.requests.compactMap { $0.headers["traceparent"] }
    #expect(sent == [measured.all[0], measured.all[2]].compactMap(\.trace?.traceparent) && Set(sent).count == 2)
    #expect(sent.allSatisfy { $0.wholeMatch(of: /00-[0-9a-f]{32}-[0-9a-f]{16}-01/) != nil })
    #expect(mock.requests.allSatisfy { !$0.headers.contains("tracestate") })
  }

  @Test("a trace that the request is part of goes on, with its state, and an identifier for each load")
  func children() throws {
    mock.onOthers(.status(.ok))
    let parent = try #require(
      TraceContext(traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00", tracestate: "a=1"))
    var request = anyRequest()
    request[option: RequestTraceContext.self] = parent
    let api = api  // Each has a generator of its own.

    _ = api.load(request)
    _ = api.load(request)

    let traces = try mock.requests.map { try #require(TraceContext(traceparent: $0.headers["traceparent"] ?? "")) }
    #expect(traces.allSatisfy { $0.traceID == parent.traceID && !$0.isSampled })
    #expect(Set(traces.map(\.spanID) + [parent.spanID]).count == 3)
    #expect(mock.requests.map { $0.headers["tracestate"] } == ["a=1", "a=1"])
    #expect(mock.requests.map { $0[option: RequestTraceContext.self]?.spanID } == traces.map(\.spanID))
  }

  @Test("a second one behind it measures children, and sends what they are", arguments: [nil, "a=1"])
  func second(state: String?) throws {
    mock.onOthers(.status(.ok))
    let inner = Measurements()
    var request = anyRequest()
    request[option: RequestTraceContext.self] = TraceContext(
      traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", tracestate: state)

    _ = (metrics --> RequestMetrics(clock: clock, random: .seeded(2)) { inner.add($0) } --> mock).load(request)

    let (outer, child) = (try #require(measured.all.first?.trace), try #require(inner.all.first?.trace))
    #expect(outer.traceID == child.traceID && outer.spanID != child.spanID)
    #expect(mock.requests.map { $0.headers.values(for: "traceparent") } == [[child.traceparent]])
    #expect(mock.requests.map { $0.headers.values(for: "tracestate") } == [state.map { [$0] } ?? []])
  }

  @Test("a header that is there is sent as it is, and reported", arguments: [true, false])
  func existing(isValid: Bool) throws {
    mock.answer()
    let header = isValid ? "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01" : "none"
    var request = anyRequest()
    try request.setHeader("TraceParent", header)
    request[option: RequestTraceContext.self] = .root()

    _ = api.load(request)

    #expect(mock.requests.map { $0.headers.values(for: "traceparent") } == [[header]])
    #expect(measured.all.map { $0.trace?.spanID } == Array(repeating: isValid ? "00f067aa0ba902b7" : nil, count: 2))
  }

  @Test("a request that says so is not measured, and is sent as it is")
  func silenced() {
    mock.answer()
    var request = anyRequest()
    request[option: RequestMeasurement.self] = false

    #expect(api.load(request).text == "success")
    #expect(measured.all.isEmpty && mock.requests[0].headers.isEmpty)
  }

  @Test("an observer that loads is not asked about that for ever")
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

    #expect(load.text == "success" && count.value == 2 && mock.requests.count == 3)
    chain.value = nil
  }

  @Test("what becomes of a load is the next loader's to say: its future is passed on, and forced ends are told once")
  func outcomes() {
    let held = mock.hold()
    let load = api.load(anyRequest())

    #expect(load.tree().entries.count == 1)
    load.cancel(.forceImmediately)
    let told = measured.all.count
    held.answer()

    #expect(told == 2 && measured.all.count == 2 && measured.all[1].attributes["error.type"] == "cancelled")
    #expect(held.cancelRequest != nil)
  }

  @Test("it says in one line what it shows")
  func description() {
    mock.answer()

    _ = api.load(anyRequest("/?key=\(sentinel)"))

    #expect(
      measured.all.first.map { "\($0)" }
        == "started: http.request.method=GET server.address=example.com server.port=80 "
        + "url.full=http://example.com/?key=REDACTED url.scheme=http")
  }

  @Test("a reset passes on")
  func reset() {
    #expect(api.reset().text == "success")
  }
}

private final class Measurements: Sendable {
  private let list = Locked<[HTTPMeasurement]>([])

  var all: [HTTPMeasurement] { list.value }

  func add(_ measurement: HTTPMeasurement) { list.withLock { $0.append(measurement) } }
}
