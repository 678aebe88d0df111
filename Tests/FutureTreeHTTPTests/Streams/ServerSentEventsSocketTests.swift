import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("Server-sent events on sockets", .onSockets) struct ServerSentEventsSocketTests {
  private static let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"

  @Test("After the server dropped a connection, the client reconnects with the ID of the last event, and 204 ends")
  func reconnects() async throws {
    let server = try Loopback.server()
    let gate = LoopbackGate()
    server.on(
      "/feed",
      [.send(Self.head + "Connection: close\r\n\r\nretry: 0\nid: 1\ndata: a\n\nid: 2\ndata: lost\n"), .close],
      [.send(Self.head + "Content-Length: 100\r\n\r\nid: café\r\ndata: b\r\n\r\nid: 4\r\n"), .hold(gate), .reset],
      .status(204))
    let api = SystemLoader(.patient)
    var events = api.events { try HTTPRequest(server.url("/feed")) }.makeAsyncIterator()

    try await expectEqual(events.next(), ServerSentEvent(data: "a", id: "1"))
    try await expectEqual(events.next(), ServerSentEvent(data: "b", id: "café"))
    gate.open()
    #expect(try await events.next() == nil)

    expectEqual(server.requests.map { $0.values(for: "Last-Event-ID").first }, [nil, "1", "café"])
    #expect(server.requests.allSatisfy { $0.values(for: "Accept") == ["text/event-stream"] })
  }

  @Test("Leaving the loop closes the connection")
  func leaves() async throws {
    let server = try Loopback.server()
    server.on("/feed", [.send(Self.head + "\r\ndata: a\n\n"), .stall])
    let events = SystemLoader(.patient).events { try HTTPRequest(server.url("/feed")) }

    for try await event in events {
      expectEqual(event.data, "a")
      break
    }

    _ = try await server.waitForClose(of: "/feed").value
    if case .success = await events.transfer.outcome { Issue.record("The transfer succeeded.") }
  }

  @Test("Cancelling the transfer closes the connection, and the reader gets the reason")
  func cancelled() async throws {
    let server = try Loopback.server()
    server.on("/feed", [.send(Self.head + "\r\ndata: a\n\n"), .stall])
    let events = SystemLoader(.patient).events { try HTTPRequest(server.url("/feed")) }
    var iterator = events.makeAsyncIterator()
    try await expectEqual(iterator.next()?.data, "a")

    events.transfer.cancel(reason: "Stop")

    let error = await #expect(throws: FutureCancelled.self) { try await iterator.next() }
    expectEqual(error?.reason.message, "Stop")
    _ = try await server.waitForClose(of: "/feed").value
    if case .cancelled = await events.transfer.outcome {} else { Issue.record("The transfer was not cancelled.") }
  }
}
