import FutureTree
import FutureTreeHTTPTesting
import Testing

@Suite("How a loopback server misbehaves", .onSockets, .timeLimit(.minutes(60))) struct LoopbackServerMisbehaviourTests
{
  let server: LoopbackServer
  let client: RawClient

  init() throws {
    server = try LoopbackServer()
    client = try RawClient(port: server.port)
  }

  @Test("bytes are sent exactly as given, wrong as they may be")
  func raw() {
    server.on("/a", [.send([0, 1, 2]), .send("HTTP/1.1 1000 \r\nContent-Length: -5\r\n\r\nx"), .close])

    client.get("/a")

    #expect(client.readToEnd() == ("\0\u{1}\u{2}HTTP/1.1 1000 \r\nContent-Length: -5\r\n\r\nx", .finished))
  }

  @Test("a response is cut by FIN")
  func cut() {
    server.on("/a", [.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123"), .close])

    client.get("/a")

    #expect(client.readToEnd() == ("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123", .finished))
    #expect(server.connections[0].state == .closedByServer)
  }

  @Test("a connection is reset without an answer")
  func reset() {
    server.on("/a", .reset)

    client.get("/a")

    #expect(client.readToEnd() == ("", .reset))
    #expect(server.connections[0].state == .closedByServer)
  }

  @Test("a response is cut by RST, after its beginning was read")
  func resetInside() {
    let gate = LoopbackGate()
    server.on("/a", [.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n0123"), .hold(gate), .reset])

    client.get("/a")
    let begin = client.read(until: "\r\n\r\n0123")
    gate.open()

    #expect(begin != nil)
    #expect(client.readToEnd() == ("", .reset))
  }

  @Test("FIN is sent with a request body unread, not RST")
  func closedInBody() async throws {
    let gate = LoopbackGate()
    server.on("/a", beginning: .headComplete, [.stopReading, .hold(gate), .close])

    client.send("PUT /a HTTP/1.1\r\nContent-Length: 1000\r\n\r\n")
    _ = try await gate.waitForHolders().value
    client.send("0123456789")
    gate.open()
    let first = client.readToEnd()
    server.stop()  // Waits until the descriptor is closed: a RST would be here now.

    #expect(first == ("", .finished))
    #expect(client.pendingError == 0)
    #expect(server.requests[0].progress == .receivingBody && server.requests[0].body == [])
  }

  @Test("an answer is held until its gate is opened, and passes when the gate is open")
  func held() async throws {
    let gate = LoopbackGate()
    server.on("/a", .text("at last").held(by: gate))
    let other = try RawClient(port: server.port)

    client.get("/a")
    other.get("/a")
    _ = try await gate.waitForHolders(2).value
    client.get("/never-before")  // Behind the one that is held.
    _ = try await server.waitForRequest(to: "/never-before").value
    let holders = gate.holderCount
    gate.open()
    gate.open()

    #expect(holders == 2)
    #expect(client.response()?.hasSuffix("at last") == true)
    #expect(other.response()?.hasSuffix("at last") == true)
    #expect(gate.isOpen && gate.holderCount == 0)
    _ = try await gate.waitForHolders().value  // Open: nobody will be held.
    other.get("/a")
    #expect(other.response()?.hasSuffix("at last") == true)
  }

  @Test("a gate lets go of an answer whose client has left")
  func gateAfterClose() async throws {
    let gate = LoopbackGate()
    server.on("/a", .text("late").held(by: gate))

    client.get("/a")
    _ = try await server.waitForRequest(to: "/a").value
    client.close()
    let record = try await server.waitForClose(of: "/a").value
    gate.open()

    #expect(record.openConnectionCount == 0)
    #expect(gate.holderCount == 0)
  }

  @Test("a pause delays what follows it")
  func pause() {
    server.on("/a", .text("later").delayed(by: .milliseconds(30)))
    let clock = ContinuousClock()

    let elapsed = clock.measure {
      client.get("/a")
      _ = client.response()
    }

    #expect(elapsed >= .milliseconds(30))
  }

  @Test("a pause of ages does not overflow and does not outlive the server")
  func longPause() async throws {
    server.on("/a", [.pause(.seconds(Int64.max)), .pause(.seconds(-5)), .respond()])

    client.get("/a")
    _ = try await server.waitForRequest(to: "/a").value
    server.stop()

    #expect(client.readToEnd() == ("", .finished))
  }

  @Test("a drip sends all bytes in pieces, with pauses between them")
  func drip() {
    server.on(
      "/a",
      [.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"), .drip("0123456789", chunk: 3, every: .milliseconds(5))])
    server.on("/all", [.drip("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", chunk: .max, every: .seconds(60))])
    let clock = ContinuousClock()

    let elapsed = clock.measure {
      client.get("/a")
      #expect(client.response()?.hasSuffix("\r\n\r\n0123456789") == true)
    }
    client.get("/all")

    #expect(elapsed >= .milliseconds(15))
    #expect(client.response() != nil)
  }

  @Test("a stall lasts until the server stops")
  func stall() async throws {
    server.on("/a", [.send("HTTP/1.1 200 OK\r\n"), .stall, .send("never")])

    client.get("/a")
    _ = client.read(until: "OK\r\n")
    server.stop()

    #expect(client.readToEnd() == ("", .finished))
    #expect(server.connections[0].state == .closedByServer)
  }

  @Test("a server that stops reading takes no more than the system's buffers, and goes on after the answer")
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
    #expect(received == 0)
    #expect(response?.hasPrefix("HTTP/1.1 413 ") == true)
    #expect(client.response()?.contains("404") == true)
    #expect(server.requests[0].body.count == body.count)
  }

  @Test("a server can answer a head and leave its body alone, without asking for it")
  func early() async throws {
    server.on("/a", beginning: .headComplete, .status(413))

    client.send("PUT /a HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
    let response = client.response()
    client.send("ok")
    client.get("/b")

    #expect(response?.hasPrefix("HTTP/1.1 413 ") == true)
    #expect(client.response()?.hasPrefix("HTTP/1.1 404 ") == true)
    #expect(server.requests[0].text == "ok" && server.requests[0].isComplete)
  }

  @Test("a server can finish sending and go on reading")
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
    #expect(record.requests.map(\.target) == ["/a", "/b"])
  }

  @Test("a connection is closed, reset or stalled before any request")
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
    #expect(greeted.read(until: "\r\n") == "220 hello\r\n")
    #expect(normal.response()?.hasSuffix("works") == true)
    #expect(server.connections.prefix(2).allSatisfy { $0.state == .closedByServer })
  }

  @Test("connecting is refused once the server has stopped; what it saw stays")
  func refused() throws {
    client.get("/a")
    _ = client.response()

    server.stop()
    server.stop()

    #expect(throws: LoopbackClientError.self) { try RawClient(port: server.port) }
    #expect(server.requests.map(\.target) == ["/a"])
    #expect(server.openConnectionCount == 0)
  }

  @Test("sending to a client that has gone does not kill the process")
  func brokenPipe() async throws {
    let gate = LoopbackGate()
    server.on("/a", [.hold(gate), .respond(body: [UInt8](repeating: 7, count: 64 << 20))])

    client.get("/a")
    _ = try await server.waitForRequest(to: "/a").value
    gate.open()
    _ = client.read(1_000)
    client.close()
    let record = try await server.waitForClose(of: "/a").value

    #expect(record.abandonedPaths == ["/a"])
  }
}
