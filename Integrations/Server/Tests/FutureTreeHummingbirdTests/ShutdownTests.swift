import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeHummingbird
import FutureTreeLifecycle
import Hummingbird
import ServerTestSupport
import ServiceLifecycleTestKit
import Testing

@Suite("A graceful shutdown of a server", .timeLimit(.minutes(20))) struct ShutdownTests {
  private let router = Router(context: TestContext.self)
  private let work = Work()
  private let clock = ReportingClock()
  private let reported = Promise<ShutdownReport>()
  private let service: ScopeService

  init() {
    service = ScopeService(
      CancelScope("handlers"), drain: .seconds(20), force: .seconds(5), clock: clock
    ) { [reported] in reported.succeed($0) }
    router.add(middleware: HandlerShutdown(service))
  }

  /// Sends a request, and begins the shutdown when its handler has the work. Calls `body` in the drain.
  private func shutDown(during path: String, _ body: (RawClient) async throws -> Void) async throws {
    try await testGracefulShutdown { trigger in
      try await withServer(router, service: service) { address in
        let client = try await RawClient.get(path, from: address)
        try await work.begun.value
        trigger.triggerGracefulShutdown()
        try await clock.timers(1).value
        try await body(client)
      }
    }
  }

  @Test("A handler that completes in the drain sends its response")
  func drains() async throws {
    router.future(.get, "users/:id") { [work] _, _ in work.begin() }

    try await shutDown(during: "/users/1") { client async throws in
      work.promise.succeed("in time")
      #expect(try await client.receiveAll().contains("in time"))
      let report = try await reported.future.value
      #expect(report.inFlight == ["GET /users/{id}"] && report.drainedCount == 1 && report.grace == nil)
    }
  }

  @Test("After the drain, the future of a handler receives the request of the shutdown, and its client gets 503")
  func cancels() async throws {
    let kind = Promise<CancellationReason.Kind>()
    router.future(.get, "slow") { [work] _, _ in work.begin().onCancel { kind.succeed($0.kind) } }

    try await shutDown(during: "/slow") { client async throws in
      clock.manual.advance(by: .seconds(20))
      #expect(try await kind.future.value == .shutdown)
      #expect(try await client.receiveAll().hasPrefix("HTTP/1.1 503 "))
      #expect(try await reported.future.value.cancelled == ["GET /slow"])
    }
  }

  @Test("A handler that ignores the request is forced, and the report names its source")
  func forces() async throws {
    let stuck = Promise<String>()
    stuck.onRequestCancel { _ in .continue }
    router.future(.get, "slow") { [work] _, _ in
      _ = work.begin()
      return stuck.future.named("stuck")
    }

    try await shutDown(during: "/slow") { client async throws in
      clock.manual.advance(by: .seconds(25))
      #expect(try await client.receiveAll().hasPrefix("HTTP/1.1 503 "))
      #expect(try await reported.future.value.grace?.pending == ["stuck"])
    }
  }

  @Test("A request after the shutdown has begun gets 503, and its handler is not called")
  func refuses() async throws {
    router.future(.get, "slow") { [work] _, _ in work.begin() }

    try await withServer(router, service: service) { address in
      service.shutDown()
      let text = try await RawClient.get("/slow", "Connection: close", from: address).receiveAll()
      #expect(text.hasPrefix("HTTP/1.1 503 ") && !work.begun.isCompleted)
    }
  }

  @Test("A shutdown that begins while a stream is sent waits for it, and cancels its transfer after the drain")
  func stream() async throws {
    let feed = Feed(at: router)

    try await testGracefulShutdown { trigger in
      try await withServer(router, service: service) { address in
        let client = try await RawClient.get("/feed", from: address)
        _ = try await client.receive(through: "\r\n\r\n")
        #expect(feed.stream.send("one"))
        _ = try await client.receive(through: "one")
        trigger.triggerGracefulShutdown()
        try await clock.timers(1).value
        #expect(feed.stream.send("two"))
        _ = try await client.receive(through: "two")
        clock.manual.advance(by: .seconds(20))
        let reason = try #require(try await feed.cancellationReason)
        #expect(reason.kind == .shutdown)
        #expect(try await reported.future.value.cancelled.count == 1)
        _ = try await client.receiveAll()
      }
    }
  }

  @Test("A handler that fails cancels no other handler, and a client that disconnects cancels its own")
  func failureAndDisconnect() async throws {
    router.future(.get, "slow") { [work] _, _ in work.begin() }
    router.future(.get, "failed") { _, _ in Future<String>.failed(HTTPError(.cannotConnect, "?")) }

    try await withServer(router, service: service) { address in
      let client = try await RawClient.get("/slow", from: address)
      try await work.begun.value
      let failed = try await RawClient.get("/failed", "Connection: close", from: address).receiveAll()
      #expect(failed.hasPrefix("HTTP/1.1 502 ") && work.promise.cancelRequest == nil)
      try await client.close()
      #expect(try await work.reason.value == "the client closed the connection")
    }
  }
}
