import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("Activities of loads") struct ExchangeActivityTests {
  private let live = LiveLoads()
  private let clock = ManualClock()

  private func exchange(
    _ configure: (inout HTTPRequest) -> Void = { _ in }
  ) throws -> (HTTPExchange, Future<HTTPResponse>) {
    var request = try HTTPRequest(.post, "http://localhost/")
    configure(&request)
    let limits = HTTPExchange.Limits(timeout: nil, idleTimeout: nil, maximumBodySize: 1000)
    let exchange = try HTTPExchange(of: request, limits, clock: clock)
    return (exchange, exchange.start(in: live) {})
  }

  private func activity(of load: Future<HTTPResponse>) -> String? { load.tree().entries.first?.activity }

  @Test("Each step has its text, and the log of the load has each once")
  func steps() throws {
    let (exchange, load) = try exchange { $0.body = .data(Data(count: 10)) }
    let log = FutureLog(clock: clock)
    load.logged(in: log)
    expectEqual(activity(of: load), "sending the request")

    var texts: [String?] = []
    for step: HTTPExchange.Step in [.queued, .queued, .resolving, .connecting, .securing, .sending] {
      exchange.begin(step)
      texts.append(activity(of: load))
    }
    exchange.bodySent(4)
    texts.append(activity(of: load))
    exchange.bodySent(10)
    texts.append(activity(of: load))
    exchange.receiveHead(HTTPStatus(102), [])
    texts.append(activity(of: load))
    exchange.receiveHead(.ok, [("Content-Length", "100")])
    exchange.begin(.waiting)
    exchange.receive(Data(count: 12))
    texts.append(activity(of: load))
    exchange.receive(Data(count: 88))
    exchange.end(.completed)
    #expect(activity(of: load) == nil)

    expectEqual(
      texts,
      [
        "waiting for a connection", "waiting for a connection", "resolving the host", "connecting",
        "securing the connection", "sending the request", "sending 4 of 10 bytes", "waiting for the response",
        "waiting for the response", "receiving 12 of 100 bytes",
      ])
    let logged = log.recording().events.compactMap { event in
      if case .activity(let text) = event.fact { text } else { nil }
    }
    expectEqual(
      logged,
      [
        "waiting for a connection", "resolving the host", "connecting", "securing the connection",
        "sending the request", "waiting for the response", "receiving 0 of 100 bytes",
      ])
  }

  @Test("A load that waits for its transport stops, and a body without a length has no total")
  func stopping() throws {
    let (exchange, load) = try exchange()
    exchange.receiveHead(.ok, [])
    exchange.receive(Data(count: 7))

    expectEqual(load.cancel().activity, "receiving, 7 bytes until now")
    expectEqual(activity(of: load), "stopping")
    exchange.end(.stopped)
    expectEqual(load.text, "cancelled")
  }

  @Test("The transfer of a stream receives, or waits for its reader")
  func reader() async throws {
    let (exchange, load) = try exchange { $0.delivery = .stream() }
    exchange.begin(.waiting)
    expectEqual(activity(of: load), "waiting for the response")
    exchange.receiveHead(.ok, [])
    #expect(activity(of: load) == nil)  // The load has its response.
    let response = try await load.value
    let transfer = response.transfer
    func state() -> String? { transfer.tree().entries.first?.activity }

    expectEqual(state(), "receiving, 0 bytes until now")
    exchange.receive(Data(count: 7))
    expectEqual(state(), "waiting for the reader, 7 bytes until now")
    var chunks = response.bodyStream.makeAsyncIterator()
    try await expectEqual(chunks.next()?.count, 7)
    expectEqual(state(), "receiving, 7 bytes until now")
    expectEqual(transfer.cancel().activity, "receiving, 7 bytes until now")
    exchange.end(.stopped)
    #expect(state() == nil)
  }

  @Test("Waiting layers say what they wait for")
  func layers() async throws {
    let mock = MockLoader()
    let held = mock.hold()
    let throttle = Throttle(1)
    let api = throttle --> mock
    let first = api.load(anyRequest())
    let queued = api.load(anyRequest())
    expectEqual(queued.cancel().activity, "waiting for a slot")
    held.answer()
    _ = try await first.value

    mock.fail(HTTPError(.connectionLost, ""))
    let retried = (Retry(clock: clock) --> mock).load(anyRequest())
    expectEqual(retried.tree().entries.compactMap(\.activity), ["waiting before the next attempt"])
    expectEqual(retried.cancel().activity, "waiting before the next attempt")
    expectEqual(queued.text, "cancelled")
  }

  @Test("Timings reach the response, through layers, and the measurement of the load", arguments: [false, true])
  func timings(areLate: Bool) throws {
    var timings = HTTPTimings()
    timings.queued = .milliseconds(20)
    timings.connected = .milliseconds(40)
    timings.firstByte = .milliseconds(90)
    timings.isConnectionReused = false
    timings.protocolVersion = "2"
    (timings.peerAddress, timings.peerPort) = ("192.0.2.1", 443)
    let transport = TimedTransport(timings: timings, areLate: areLate)
    let measured = Locked<[HTTPMeasurement]>([])
    let metrics = RequestMetrics { measurement in measured.withLock { $0.append(measurement) } }

    let load = (Timeout(total: .seconds(9), clock: clock) --> metrics --> transport).load(anyRequest())

    let response = try #require(try load.outcomeIfCompleted?.get())
    expectEqual(response.timings, timings)
    expectEqual(
      "\(timings)",
      "HTTP/2, new connection to 192.0.2.1:443, queued 20 ms, connected 40 ms, first byte 90 ms")
    let end = try #require(measured.value.last)
    expectEqual(end.timings, timings)
    expectEqual(end.attributes["network.protocol.version"], "2")
    expectEqual(end.attributes["network.peer.address"], "192.0.2.1")
    expectEqual(end.attributes["network.peer.port"], 443)
    let queue = try #require(end.samples.first { $0.name == "http.client.request.time_in_queue" })
    expectEqual(queue.value, 0.02)
    expectEqual(queue.attributes["network.protocol.version"], "2")
    #expect(queue.attributes["network.peer.address"] == nil)
    #expect(measured.value[0].timings == nil)
  }
}

/// A transport that measures.
private struct TimedTransport: HTTPLoader {
  let timings: HTTPTimings
  /// Whether it has the timings only at the end.
  let areLate: Bool
  private let live = LiveLoads()

  init(timings: HTTPTimings, areLate: Bool) { (self.timings, self.areLate) = (timings, areLate) }

  func reset() -> Future<Void> { live.drain() }

  func load(_ request: HTTPRequest) -> Future<HTTPResponse> {
    let limits = HTTPExchange.Limits(timeout: nil, idleTimeout: nil, maximumBodySize: 1000)
    do {
      let exchange = try HTTPExchange(of: request, limits)
      let load = exchange.start(in: live) {}
      exchange.receiveHead(.ok, [], timings: areLate ? nil : timings)
      if areLate { exchange.receiveTimings(timings) }
      exchange.end(.completed)
      return load
    } catch {
      return .failed(error)
    }
  }
}
