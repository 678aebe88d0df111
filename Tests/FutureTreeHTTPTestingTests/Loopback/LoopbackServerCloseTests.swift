import FutureTree
import FutureTreeHTTPTesting
import TestSupport
import Testing

@Suite("LoopbackServer: connections closed by the client", .onSockets, .timeLimit(.minutes(20)))
struct LoopbackServerCloseTests {
  let server: LoopbackServer
  let client: RawClient

  init() throws {
    server = try LoopbackServer()
    client = try RawClient(port: server.port)
  }

  static let gate = LoopbackGate()
  static let slowAnswers: [String: LoopbackAnswer] = [
    "held": .text("late").held(by: gate),
    "stalled": .stall,
    "stalled in its body": [.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n0"), .stall],
    "paused": .text("late").delayed(by: .seconds(3_600)),
    "dripping": [.drip([UInt8](repeating: 97, count: 90_000), every: .milliseconds(2))],
    "not reading": [.stopReading, .stall],
  ]

  @Test(
    "The server detects a FIN and a RST during a slow response", arguments: slowAnswers.keys.sorted(),
    [false, true])
  func slow(_ answer: String, resets: Bool) async throws {
    server.on("/slow", try #require(Self.slowAnswers[answer]))

    client.get("/slow?a=b")
    _ = try await server.waitForRequest(to: "/slow").value
    if resets { client.reset() } else { client.close() }
    let record = try await server.waitForClose(of: "/slow").value

    expectEqual(record.connections[0].state, .closedByClient(while: "/slow"))
    expectEqual(record.connections[0].abandonedTarget, "/slow?a=b")
    expectEqual(record.openConnectionCount, 0)
  }

  @Test("Only the closed connection is recorded as closed")
  func exactly() async throws {
    server.on("/slow", .stall)
    let clients = try (0..<5).map { _ in try RawClient(port: server.port) }

    for (index, client) in clients.enumerated() { client.get("/slow?\(index)") }
    _ = try await server.waitForRequest(to: "/slow", count: 5).value
    clients[3].close()
    let record = try await server.waitForClose(of: "/slow?3").value

    expectEqual(record.connections.filter { $0.state != .open }.map(\.abandonedTarget), ["/slow?3"])
    expectEqual(record.openConnectionCount, 5)  // Four others and the client of the suite.
    withExtendedLifetime(clients) {}
  }

  @Test("A close between requests abandons nothing", arguments: [0, 1])
  func idle(_ requests: Int) async throws {
    for _ in 0..<requests {
      client.get("/a")
      _ = client.response()
    }

    client.close()
    let record = try await server.waitUntilAllClosed().value

    expectEqual(record.connections[0].state, .closedByClient(while: nil))
    expectEqual(record.abandonedPaths, [])
  }

  @Test("A close in a request body abandons that request, which stays incomplete")
  func inBody() async throws {
    client.send("PUT /a HTTP/1.1\r\nContent-Length: 10\r\n\r\n0123")
    _ = try await server.waitUntil { $0.requests.first?.body.count == 4 }.value
    client.close()
    let record = try await server.waitForClose(of: "/a").value

    expectEqual(record.requests[0].progress, .receivingBody)
    expectEqual(record.requestCount(to: "/a"), 0)
  }

  @Test("A close in a head is recorded as a malformed request")
  func inHead() async throws {
    client.send("GET /a HTTP/1.1\r\nHos")
    client.close()
    let record = try await server.waitUntilAllClosed().value

    expectEqual(record.malformedRequests.map { String(decoding: $0.head, as: UTF8.self) }, ["GET /a HTTP/1.1\r\nHos"])
    expectEqual(record.connections[0].state, .closedByClient(while: nil))
  }

  @Test("A close abandons only the current one of several pipelined requests")
  func pipelined() async throws {
    server.on("/1", .stall)

    client.send("GET /1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\n\r\n")
    _ = try await server.waitForRequest(to: "/2").value
    client.close()
    let record = try await server.waitForClose(of: "/1").value

    expectEqual(record.abandonedPaths, ["/1"])
  }

  @Test("The server detects a close behind unread bytes")
  func behindUnread() async throws {
    server.on("/a", beginning: .headComplete, [.stopReading, .stall])

    client.send("PUT /a HTTP/1.1\r\nContent-Length: 100000\r\n\r\n")
    _ = try await server.waitUntil { $0.requests.count == 1 }.value
    client.send([UInt8](repeating: 1, count: 1_000))
    client.close()
    let record = try await server.waitForClose(of: "/a").value

    expectEqual(record.abandonedPaths, ["/a"])
  }

  @Test("A connection that the server closes first is recorded as closed by the server")
  func serverFirst() async throws {
    server.on("/a", .close)

    client.get("/a")
    _ = client.readToEnd()
    client.close()
    let record = try await server.waitUntilAllClosed().value

    expectEqual(record.connections.map(\.state), [.closedByServer])
  }
}
