import FutureTree
import FutureTreeHTTPTesting
import TestSupport
import Testing

@Suite("LoopbackServer: waits", .onSockets, .timeLimit(.minutes(20))) struct LoopbackServerWaitingTests {
  let server: LoopbackServer
  let client: RawClient

  init() throws {
    server = try LoopbackServer()
    client = try RawClient(port: server.port)
  }

  @Test("A wait for a past event succeeds at once")
  func alreadyTrue() async throws {
    client.get("/a")
    _ = client.response()

    let record = try await server.waitForRequest(to: "/a").value

    expectEqual(record.requests.map(\.path), ["/a"])
  }

  @Test("A wait does not miss a short-lived state")
  func transient() async throws {
    let wait = server.waitUntil { $0.openConnectionCount == 2 }
    _ = try await server.waitUntil { $0.connections.count == 1 }.value

    let other = try RawClient(port: server.port)
    other.close()

    try await expectEqual(wait.value.openConnectionCount, 2)
  }

  @Test("A wait that times out fails with the server's record, without headers and bodies")
  func timeout() async throws {
    client.send("POST /a?secret=1 HTTP/1.1\r\nAuthorization: secret\r\nContent-Length: 6\r\n\r\nsecret")
    _ = client.response()

    let error = await #expect(throws: LoopbackWaitError.self) {
      _ = try await server.waitForRequest(to: "/b", within: .milliseconds(20)).value
    }

    expectEqual(error?.isTimeout, true)
    expectEqual(error?.description.contains("connection 1, open: POST /a"), true)
    expectEqual(error?.description.contains("LoopbackServerWaitingTests.swift:"), true)
    expectEqual(error?.description.contains("secret"), false)
  }

  @Test("A wait fails when the server stops or has stopped")
  func stopped() async throws {
    let before = server.waitForRequest(to: "/never")
    server.stop()
    let after = server.waitForRequest(to: "/never")

    for wait in [before, after] {
      let error = await #expect(throws: LoopbackWaitError.self) { _ = try await wait.value }
      expectEqual(error?.isTimeout, false)
    }
  }

  @Test("A wait observes the connections that stop() closes")
  func stopIsAChange() async throws {
    client.get("/a")
    _ = client.response()
    let wait = server.waitUntil { $0.connections.first?.state == .closedByServer }

    server.stop()

    try await expectEqual(wait.value.openConnectionCount, 0)
  }

  @Test("A cancelled wait completes and evaluates its condition no more")
  func cancelled() async throws {
    let wait = server.waitForRequest(to: "/never")

    wait.cancel()

    if case .cancelled = await wait.outcome {} else { Issue.record("not cancelled") }
    client.get("/never")
    #expect(client.response() != nil)
  }

  @Test("A condition runs outside every lock and can use the server")
  func reentrant() async throws {
    let inner = LoopbackGate()
    let wait = server.waitUntil { [weak server] record in
      guard let server else { return true }
      _ = server.waitUntil { _ in true }
      server.on("/late", .text("said in a condition"))
      if server.requestCount != record.requests.count { inner.open() }
      return record.requests.count == 1
    }

    client.get("/a")

    _ = try await wait.value
    _ = client.response()
    client.get("/late")
    expectEqual(client.response()?.hasSuffix("said in a condition"), true)
    #expect(!inner.isOpen)
  }

  @Test("A handler and a condition can stop the server")
  func stopInside() async throws {
    server.on("/stop") { [weak server] _ in
      server?.stop()
      return .status(200)
    }

    client.get("/stop")
    _ = client.readToEnd()
    _ = try await server.waitUntilAllClosed().value

    expectEqual(server.connections[0].state, .closedByServer)
  }

  @Test("A consumer that blocks does not stop the server")
  func blockingConsumer() async throws {
    server.on("/a", .text("yes"))
    let answered = Promise<Bool>()
    server.waitForRequest(to: "/a").observe { [server] _ in
      let other = try? RawClient(port: server.port)
      other?.get("/b")
      answered.succeed(other?.response()?.contains("404") == true)
    }

    client.get("/a")

    #expect(try await answered.future.value)
  }

  @Test("A record is a snapshot that does not change")
  func snapshot() async throws {
    client.get("/a")
    _ = client.response()
    let record = server.record

    client.get("/b")
    _ = client.response()

    expectEqual(record.requests.map(\.path), ["/a"])
    expectEqual(server.requests.map(\.path), ["/a", "/b"])
  }
}
