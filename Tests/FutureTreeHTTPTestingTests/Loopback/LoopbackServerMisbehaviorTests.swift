import FutureTree
import FutureTreeHTTPTesting
import TestSupport
import Testing

@Suite("LoopbackServer: misbehavior", .onSockets, .timeLimit(.minutes(20))) struct LoopbackServerMisbehaviorTests {
  let server: LoopbackServer
  let client: RawClient

  init() throws {
    server = try LoopbackServer()
    client = try RawClient(port: server.port)
  }

  @Test("Invalid bytes are sent exactly as given")
  func raw() {
    server.on("/a", [.send([0, 1, 2]), .send("HTTP/1.1 1000 \r\nContent-Length: -5\r\n\r\nx"), .close])

    client.get("/a")

    #expect(client.readToEnd() == ("\0\u{1}\u{2}HTTP/1.1 1000 \r\nContent-Length: -5\r\n\r\nx", .finished))
  }

  @Test("A response can be truncated by FIN")
  func cut() {
    server.on("/a", [.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123"), .close])

    client.get("/a")

    #expect(client.readToEnd() == ("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123", .finished))
    expectEqual(server.connections[0].state, .closedByServer)
  }

  @Test("A connection can be reset without a response")
  func reset() {
    server.on("/a", .reset)

    client.get("/a")

    #expect(client.readToEnd() == ("", .reset))
    expectEqual(server.connections[0].state, .closedByServer)
  }

  @Test("A response can be truncated by RST after the client has read its beginning")
  func resetInside() {
    let gate = LoopbackGate()
    server.on("/a", [.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n0123"), .hold(gate), .reset])

    client.get("/a")
    let begin = client.read(until: "\r\n\r\n0123")
    gate.open()

    #expect(begin != nil)
    #expect(client.readToEnd() == ("", .reset))
  }

  @Test("A close sends FIN and not RST while a request body is unread")
  func closedInBody() async throws {
    let gate = LoopbackGate()
    server.on("/a", beginning: .headComplete, [.stopReading, .hold(gate), .close])

    client.send("PUT /a HTTP/1.1\r\nContent-Length: 1000\r\n\r\n")
    _ = try await gate.waitForHolders().value
    client.send("0123456789")
    gate.open()
    let first = client.readToEnd()
    server.stop()  // Waits until the descriptor is closed: a RST would have arrived by now.

    #expect(first == ("", .finished))
    expectEqual(client.pendingError, 0)
    #expect(server.requests[0].progress == .receivingBody && server.requests[0].body == [])
  }

  @Test("An answer is held until its gate opens, and is not held by an open gate")
  func held() async throws {
    let gate = LoopbackGate()
    server.on("/a", .text("at last").held(by: gate))
    let other = try RawClient(port: server.port)

    client.get("/a")
    other.get("/a")
    _ = try await gate.waitForHolders(2).value
    client.get("/never-before")  // Queued behind the held answer.
    _ = try await server.waitForRequest(to: "/never-before").value
    let holders = gate.holderCount
    gate.open()
    gate.open()

    expectEqual(holders, 2)
    expectEqual(client.response()?.hasSuffix("at last"), true)
    expectEqual(other.response()?.hasSuffix("at last"), true)
    #expect(gate.isOpen)
    expectEqual(gate.holderCount, 0)
    _ = try await gate.waitForHolders().value  // The gate is open and holds no answer.
    other.get("/a")
    expectEqual(other.response()?.hasSuffix("at last"), true)
  }

  @Test("A gate releases an answer whose client has disconnected")
  func gateAfterClose() async throws {
    let gate = LoopbackGate()
    server.on("/a", .text("late").held(by: gate))

    client.get("/a")
    _ = try await server.waitForRequest(to: "/a").value
    client.close()
    let record = try await server.waitForClose(of: "/a").value
    gate.open()

    expectEqual(record.openConnectionCount, 0)
    expectEqual(gate.holderCount, 0)
  }

  @Test("A pause delays the next step")
  func pause() {
    server.on("/a", .text("later").delayed(by: .milliseconds(30)))
    let clock = ContinuousClock()

    let elapsed = clock.measure {
      client.get("/a")
      _ = client.response()
    }

    #expect(elapsed >= .milliseconds(30))
  }

  @Test("A maximal pause does not overflow and ends with the server")
  func longPause() async throws {
    server.on("/a", [.pause(.seconds(Int64.max)), .pause(.seconds(-5)), .respond()])

    client.get("/a")
    _ = try await server.waitForRequest(to: "/a").value
    server.stop()

    #expect(client.readToEnd() == ("", .finished))
  }

  @Test("A drip sends all bytes in pieces with pauses between them")
  func drip() {
    server.on(
      "/a",
      [.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"), .drip("0123456789", chunk: 3, every: .milliseconds(5))])
    server.on("/all", [.drip("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", chunk: .max, every: .seconds(60))])
    let clock = ContinuousClock()

    let elapsed = clock.measure {
      client.get("/a")
      expectEqual(client.response()?.hasSuffix("\r\n\r\n0123456789"), true)
    }
    client.get("/all")

    #expect(elapsed >= .milliseconds(15))
    #expect(client.response() != nil)
  }

  @Test("A stall lasts until the server stops")
  func stall() async throws {
    server.on("/a", [.send("HTTP/1.1 200 OK\r\n"), .stall, .send("never")])

    client.get("/a")
    _ = client.read(until: "OK\r\n")
    server.stop()

    #expect(client.readToEnd() == ("", .finished))
    expectEqual(server.connections[0].state, .closedByServer)
  }

  @Test("A server that stops reading leaves bytes in the system's buffers, and resumes after the answer")
  func stopReading() async throws {
    let gate = LoopbackGate()
    let client = try RawClient(port: server.port, sendBuffer: 65_536)
    let body = [UInt8](repeating: 7, count: 32 << 20)
    server.on("/a", beginning: .headComplete, [.stopReading, .hold(gate), .respond(status: 413)])

    client.send("PUT /a HTTP/1.1\r\nContent-Length: \(body.count)\r\n\r\n")
    _ = try await server.waitUntil { $0.requests.first?.target == "/a" }.value
    _ = try await gate.waitForHolders().value
    var sent = 0
    while let count = client.sendSome(body[sent...], blocking: false), count > 0 { sent += count }
    let received = server.requests[0].body.count
    gate.open()
    let response = client.response()
    client.send(Array(body[sent...]))
    client.get("/next")

    #expect(sent < body.count)
    expectEqual(received, 0)
    expectEqual(response?.hasPrefix("HTTP/1.1 413 "), true)
    expectEqual(client.response()?.contains("404"), true)
    expectEqual(server.requests[0].body.count, body.count)
  }

  @Test("A server can respond to a head without 100 Continue")
  func early() async throws {
    server.on("/a", beginning: .headComplete, .status(413))

    client.send("PUT /a HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
    let response = client.response()
    client.send("ok")
    client.get("/b")

    expectEqual(response?.hasPrefix("HTTP/1.1 413 "), true)
    expectEqual(client.response()?.hasPrefix("HTTP/1.1 404 "), true)
    #expect(server.requests[0].text == "ok" && server.requests[0].isComplete)
  }

  @Test("A server can finish sending and continue to read")
  func finishSending() async throws {
    let gate = LoopbackGate()
    server.on("/a", [.send("HTTP/1.1 200 OK\r\n\r\nx"), .finishSending, .hold(gate), .send("unsendable")])

    client.get("/a")
    let answer = client.readToEnd()
    client.get("/b")
    _ = try await server.waitForRequest(to: "/b").value
    gate.open()
    client.close()
    let record = try await server.waitUntilAllClosed().value

    #expect(answer == ("HTTP/1.1 200 OK\r\n\r\nx", .finished))
    expectEqual(record.requests.map(\.target), ["/a", "/b"])
  }

  @Test("A connection can be closed, reset or greeted before any request")
  func onConnect() async throws {
    let server = try LoopbackServer()
    server.onConnect(.close, .reset, [.send("220 hello\r\n")], [])
    server.on("/a", .text("works"))

    let closed = try RawClient(port: server.port).readToEnd()
    let reset = try RawClient(port: server.port).readToEnd()
    let greeted = try RawClient(port: server.port)
    let normal = try RawClient(port: server.port)
    greeted.get("/a")
    normal.get("/a")

    #expect(closed == ("", .finished))
    #expect(reset == ("", .reset))
    expectEqual(greeted.read(until: "\r\n"), "220 hello\r\n")
    expectEqual(normal.response()?.hasSuffix("works"), true)
    #expect(server.connections.prefix(2).allSatisfy { $0.state == .closedByServer })
  }

  @Test("A server can be stopped twice, and retains its records")
  func stoppedTwice() {
    client.get("/a")
    _ = client.response()

    server.stop()
    server.stop()

    expectEqual(server.requests.map(\.target), ["/a"])
    expectEqual(server.openConnectionCount, 0)
  }

  @Test("A response to a disconnected client does not terminate the process")
  func brokenPipe() async throws {
    let gate = LoopbackGate()
    server.on("/a", [.hold(gate), .respond(body: [UInt8](repeating: 7, count: 64 << 20))])

    client.get("/a")
    _ = try await server.waitForRequest(to: "/a").value
    gate.open()
    _ = client.read(1_000)
    client.close()
    let record = try await server.waitForClose(of: "/a").value

    expectEqual(record.abandonedPaths, ["/a"])
  }
}
