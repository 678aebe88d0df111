import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeMetrics
import FutureTreeTesting
import MetricsTestKit
import Testing

@Suite("Metrics of loads for swift-metrics") struct MetricsTests {
  private let metrics = TestMetrics()
  private let mock = MockLoader()
  private let clock = ManualClock()

  private var api: any HTTPLoader { RequestMetrics(to: metrics, clock: clock) --> mock }

  private static func dimensions(_ rest: (String, String)...) -> [(String, String)] {
    let common = [
      ("http.request.method", "GET"), ("server.address", "example.com"), ("server.port", "443"),
      ("url.scheme", "https"),
    ]
    return (rest + common).sorted { $0.0 < $1.0 }
  }

  @Test("Loads are counted and timed by outcome")
  func countsByOutcome() throws {
    let held = mock.hold("/slow")
    mock.on("/ok", .respond(body: Data("hello".utf8)).times(2))
    mock.on("/lost", .fail(HTTPError(.connectionLost, "The server closed the connection.")))

    let slow = api.load(try HTTPRequest("https://example.com/slow?token=secret"))
    for path in ["ok", "ok", "lost"] { _ = api.load(try HTTPRequest("https://example.com/\(path)")) }
    clock.advance(by: .milliseconds(1500))
    slow.cancel()
    held.complete(.cancelled)

    let succeeded = Self.dimensions(("http.response.status_code", "200"))
    let lost = Self.dimensions(("error.type", "connectionLost"))
    let cancelled = Self.dimensions(("error.type", "cancelled"))
    #expect(try metrics.expectCounter("http.client.requests", succeeded).totalValue == 2)
    #expect(try metrics.expectCounter("http.client.requests", lost).totalValue == 1)
    #expect(try metrics.expectCounter("http.client.requests", cancelled).totalValue == 1)
    #expect(try metrics.expectTimer("http.client.request.duration", cancelled).values == [1_500_000_000])
    #expect(try metrics.expectRecorder("http.client.response.body.size", succeeded).values == [5, 5])
  }

  @Test("A stream is measured when its transfer ends")
  func measuresTransfer() throws {
    let stream = mock.stream()
    var request = try HTTPRequest("https://example.com/feed")
    request.delivery = .stream()
    let load = api.load(request)
    #expect(load.isCompleted)
    #expect(metrics.counters.isEmpty)

    stream.finish()

    #expect(metrics.counterTotal(label: "http.client.requests") == 1)
    withExtendedLifetime(load) {}
  }
}
