import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTypes
import Hummingbird
import Logging
import NIOEmbedded
import ServerTestSupport
import Testing

@testable import FutureTreeHummingbird

@Suite("Deadlines and traces across services") struct DeadlineTests {
  private let router = Router(context: TestContext.self)
  private let mock = MockLoader()
  private let work = Work()
  private let clock = ReportingClock()

  @Test(
    "Digits with a unit are a grpc-timeout",
    arguments: [
      ("1H", .seconds(3600)), ("2M", .seconds(120)), ("3S", .seconds(3)), ("4m", .milliseconds(4)),
      ("5u", .microseconds(5)), ("6n", .nanoseconds(6)), ("0S", .zero), ("00000001S", .seconds(1)),
      ("99999999H", .seconds(99_999_999 * 3600)), ("", nil), ("S", nil), ("1", nil), ("1s", nil), ("1h", nil),
      ("100000000S", nil), ("000000001S", nil), ("-1S", nil), ("+1S", nil), ("1.5S", nil), ("1 S", nil), ("1SS", nil),
      ("١S", nil), ("1S, 2S", nil), ("1é", nil),
    ] as [(String, Duration?)])
  func grpcTimeout(text: String, duration: Duration?) {
    #expect(FutureDeadline(grpcTimeout: text, clock: clock)?.remaining == duration)
  }

  @Test("The earlier deadline of both fields applies", arguments: ["300, 2S", "500, 300m"])
  func earlierField(values: String) throws {
    let values = values.split(separator: ", ").map(String.init)
    var incoming = IncomingRequest(
      source: .init(channel: EmbeddedChannel(), logger: Logger(label: "test")), clock: clock)
    try incoming.read([.requestTimeout: values[0], .grpcTimeout: values[1]])
    #expect(incoming.deadline?.remaining == .milliseconds(300))
    try incoming.read([:])
    #expect(incoming.deadline == nil)
  }

  @Test("At the deadline, the client gets 504, and the handler's future is asked to cancel")
  func passesWhileHandlerWaits() async throws {
    router.future(.get, "slow") { [work] _, _ in work.begin() }

    try await withServer(router, clock: clock) { address in
      let client = try await RawClient.get("/slow", "request-timeout: 500", "Connection: close", from: address)
      try await clock.firstTimer.value
      clock.manual.advance(by: .milliseconds(499))
      #expect(!work.reason.isCompleted)
      clock.manual.advance(by: .milliseconds(1))
      #expect(try await work.reason.value == "timed out after 500 ms")
      #expect(try await client.receiveAll().hasPrefix("HTTP/1.1 504 Gateway Timeout\r\n"))
    }
  }

  @Test("The time in a middleware counts")
  func middleware() async throws {
    router.add(middleware: Late(clock: clock))
    router.future(.get, "slow") { [work] _, _ in work.begin() }

    try await withServer(router, clock: clock) { address in
      let client = try await RawClient.get("/slow", "request-timeout: 500", "Connection: close", from: address)
      #expect(try await client.receiveAll().hasPrefix("HTTP/1.1 504 "))
    }
    #expect(!work.begun.isCompleted)
  }

  /// A middleware that takes a second.
  private struct Late: RouterMiddleware {
    let clock: ReportingClock

    func handle(
      _ request: Request, context: TestContext, next: (Request, TestContext) async throws -> Response
    ) async throws -> Response {
      clock.manual.advance(by: .seconds(1))
      return try await next(request, context)
    }
  }

  @Test("At the deadline, a client that does not read loses its connection", arguments: [true, false])
  func stalledReader(isReceived: Bool) async throws {
    let closed = Promise<Void>()
    let transfer = Promise<Future<Void>>()
    let chunk = Data(count: 1 << 20)
    router.future(.get, "feed") { _, context in
      context.incoming.channel.closeFuture.whenComplete { _ in closed.succeed() }
      var request = try HTTPRequest("http://backend/feed")
      request.delivery = .stream(bufferLimit: 64 << 20)
      let (stream, writer) = HTTPBodyStream.makeStream(for: request)
      for _ in 0..<32 { try writer.write(chunk) }  // More than the buffers of the sockets hold.
      if isReceived { writer.finish() }
      writer.onStop { writer.fail(HTTPError(.connectionLost, "The connection was closed. Load again.")) }
      transfer.succeed(stream.transfer)
      return .succeeded(HTTPResponse(to: request, status: .ok, content: .stream(stream)))
    }

    try await withServer(router, clock: clock) { address in
      let client = try await RawClient.paused(to: address)
      try await client.send("GET /feed HTTP/1.1\r\nHost: a\r\nrequest-timeout: 500\r\n\r\n")
      try await clock.firstTimer.value
      clock.manual.advance(by: .milliseconds(500))
      try await closed.future.value
      #expect(try await transfer.future.value.isCompleted)
      withExtendedLifetime(client) {}
    }
  }

  @Test("A response before the deadline cancels its timer")
  func releasesTimer() async throws {
    router.future(.get, "slow") { [work] _, _ in work.begin() }

    try await withServer(router, clock: clock) { address in
      let client = try await RawClient.get("/slow", "grpc-timeout: 5S", from: address)
      try await clock.firstTimer.value
      work.promise.succeed("done")
      _ = try await client.receive(through: "done")
      #expect(clock.manual.timerCount == 0)
    }
  }

  @Test("At the deadline, the transfer of a stream is asked to cancel")
  func passesDuringStream() async throws {
    let feed = Feed(at: router)

    try await withServer(router, clock: clock) { address in
      let client = try await RawClient.get("/feed", "request-timeout: 500", from: address)
      _ = try await client.receive(through: "\r\n\r\n")
      #expect(feed.stream.send("one"))
      _ = try await client.receive(through: "3\r\none\r\n")
      clock.manual.advance(by: .milliseconds(500))
      let reason = try #require(try await feed.cancellationReason)
      #expect(reason.message == "the deadline of the request passed" && reason.kind == .deadline)
      #expect(try await client.receiveAll() == "")
    }
  }

  @Test(
    "The handler is not called for a deadline that has passed, or for an invalid field",
    arguments: [
      ("request-timeout: 0", "504"), ("grpc-timeout: 0n", "504"), ("request-timeout: soon", "400"),
      ("grpc-timeout: 5", "400"), ("request-timeout: 1\r\nrequest-timeout: 2", "400"),
    ])
  func refuses(field: String, status: String) async throws {
    router.future(.get, "slow") { [work] _, _ in work.begin() }

    try await withServer(router, clock: clock) { address in
      let text = try await RawClient.get("/slow", field, "Connection: close", from: address).receiveAll()
      #expect(text.hasPrefix("HTTP/1.1 \(status) "))
      #expect(!work.begun.isCompleted)
    }
  }

  @Test("A request through the outgoing layer carries the remaining time and the trace")
  func outgoing() async throws {
    let traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    mock.answer()
    let backend =
      ModifyRequest { [clock] _ in clock.manual.advance(by: .milliseconds(100)) }
      --> ModifyRequest.sendingDeadline() --> mock
    router.future(.get, "users") { _, context in
      (context.outgoing --> backend).load(try HTTPRequest("http://backend/"))
    }

    try await withServer(router, clock: clock) { address in
      let fields = "request-timeout: 500\r\ntraceparent: \(traceparent)\r\ntracestate: a=1"
      _ = try await RawClient.get("/users", fields, from: address).receive(through: "\r\n\r\n")
    }

    let sent = try #require(mock.requests.first)
    #expect(sent.headers["request-timeout"] == "400")
    #expect(sent.headers["traceparent"] == traceparent)
    #expect(sent.headers["tracestate"] == "a=1")
    #expect(sent.traceContext?.traceparent == traceparent)
  }

  @Test("A request keeps its own trace, and its own deadline if that is earlier")
  func ownDeadlineAndTrace() async throws {
    let own = "00-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-bbbbbbbbbbbbbbbb-00"
    mock.onOthers(.status(.ok))
    router.future(.get, "users") { [mock, clock] _, context in
      let api = context.outgoing --> ModifyRequest.sendingDeadline() --> mock
      var (earlier, later) = (try HTTPRequest("http://backend/"), try HTTPRequest("http://backend/"))
      earlier.deadline = .after(.milliseconds(50), clock: clock)
      later.deadline = .after(.milliseconds(900), clock: clock)
      try later.setHeader("traceparent", own)
      return Future.zip(api.load(earlier), api.load(later)).map { $0.1 }
    }

    try await withServer(router, clock: clock) { address in
      let fields = "request-timeout: 500\r\ntraceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
      _ = try await RawClient.get("/users", fields, from: address).receive(through: "\r\n\r\n")
    }

    #expect(mock.requests.map { $0.headers["request-timeout"] } == ["50", "500"])
    #expect(mock.requests.last?.headers["traceparent"] == own)
    #expect(mock.requests.last?.traceContext == nil)
  }

  @Test("A measured load is a child of the incoming trace")
  func measuredTrace() async throws {
    let traceID = "0af7651916cd43dd8448eb211c80319c"
    mock.answer()
    router.future(.get, "users") { [mock] _, context in
      (context.outgoing --> RequestMetrics { _ in } --> mock).load(try HTTPRequest("http://backend/"))
    }

    try await withServer(router) { address in
      let field = "traceparent: 00-\(traceID)-b7ad6b7169203331-01"
      _ = try await RawClient.get("/users", field, from: address).receive(through: "\r\n\r\n")
    }

    let sent = try #require(mock.requests.first?.headers["traceparent"])
    #expect(sent.hasPrefix("00-\(traceID)-"))
    #expect(!sent.contains("b7ad6b7169203331"))
  }
}

extension HTTPField.Name {
  fileprivate static let requestTimeout = HTTPField.Name("request-timeout")!  // A token.
  fileprivate static let grpcTimeout = HTTPField.Name("grpc-timeout")!  // A token.
}
