import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

@testable import FutureTreeHTTPTesting

@Suite("LoopbackServer: load", .onSockets, .timeLimit(.minutes(20))) struct LoopbackServerLoadTests {
  @Test("2,000 sequential connections are all recorded and closed")
  func sequential() async throws {
    let server = try LoopbackServer()
    server.on("/a", .text("yes"))

    for index in 0..<2_000 {
      let client = try RawClient(port: server.port)
      client.get("/a")
      guard client.response()?.hasSuffix("yes") == true else {
        Issue.record("no answer to \(index)")
        return
      }
    }
    let record = try await server.waitUntilAllClosed(count: 2_000).value

    expectEqual(record.connections.count, 2_000)
    expectEqual(record.requests.count, 2_000)
    #expect(record.connections.allSatisfy { $0.state == .closedByClient(while: nil) })
  }

  @Test("500 concurrent connections are held, answered and recorded")
  func concurrent() async throws {
    let server = try LoopbackServer()
    let gate = LoopbackGate()
    server.on("/held", .text("yes").held(by: gate))
    server.on("/stalled", .stall)

    let clients = try (0..<500).map { _ in try RawClient(port: server.port) }
    for (index, client) in clients.enumerated() { client.get(index.isMultiple(of: 2) ? "/held" : "/stalled") }
    let record = try await server.waitUntil { $0.requests.count == 500 }.value
    gate.open()
    for (index, client) in clients.enumerated() {
      if index.isMultiple(of: 2) { expectEqual(client.response()?.hasSuffix("yes"), true) } else { client.close() }
    }
    let after = try await server.waitForClose(of: "/stalled", count: 250).value

    expectEqual(record.openConnectionCount, 500)
    expectEqual(after.abandonedPaths, Array(repeating: "/stalled", count: 250))
    expectEqual(after.openConnectionCount, 250)
    withExtendedLifetime(clients) {}
  }

  @Test("No bytes crash the server")
  func noise() async throws {
    let server = try LoopbackServer()
    var generator = SplitMix64(seed: 7)

    for _ in 0..<200 {
      let client = try RawClient(port: server.port)
      client.send(
        (0..<Int.random(in: 1..<400, using: &generator)).map { _ in UInt8.random(in: 0...255, using: &generator) })
      if Bool.random(using: &generator) { client.reset() }
    }
    _ = try await server.waitUntilAllClosed(count: 200).value
    let client = try RawClient(port: server.port)
    client.get("/")

    expectEqual(client.response()?.contains("404"), true)
  }

  #if os(Linux) || os(macOS)
    @Test("stop() closes every descriptor")
    func descriptors() async {
      await #expect(processExitsWith: .success) {
        let server = try LoopbackServer()
        server.on("/stall", .stall)
        server.on("/deaf", [.stopReading, .stall])
        server.on("/pause", .status(200).delayed(by: .seconds(3_600)))
        server.on("/blocked", .respond(body: [UInt8](repeating: 7, count: 64 << 20)))
        let paths = ["/stall", "/deaf", "/pause", "/blocked", "/idle"]

        let clients = try paths.map { path in
          let client = try RawClient(port: server.port)
          client.get(path)
          return client
        }
        _ = try await server.waitUntil { $0.requests.count == paths.count }.value
        let open = descriptorCount(boundTo: server.port)
        server.stop()

        expectEqual(open, paths.count + 1)
        expectEqual(descriptorCount(boundTo: server.port), 0)
        withExtendedLifetime(clients) {}
      }
    }

    @Test("A dropped server stops, even while a wait is pending")
    func dropped() async {
      await #expect(processExitsWith: .success) {
        var server: LoopbackServer? = try LoopbackServer()
        let port = try #require(server?.port)
        let client = try RawClient(port: port)
        let wait = server?.waitForRequest(to: "/never")

        server = nil

        expectEqual(client.readToEnd().text, "")
        expectEqual(descriptorCount(boundTo: port), 0)
        await #expect(throws: LoopbackWaitError.self) { _ = try await wait?.value }
      }
    }

    @Test("A process without free descriptors accepts the connection once a descriptor is free")
    func noDescriptors() async {
      await #expect(processExitsWith: .success) {
        let server = try LoopbackServer()
        server.on("/a", .text("yes"))
        let client = try RawClient(port: server.port)
        client.get("/a")
        _ = client.response()
        let last = try RawClient(port: server.port)
        last.get("/a")
        _ = last.response()  // No wait here: its timer could take a descriptor.

        var taken = exhaustDescriptors(limit: 256)
        closeDescriptor(taken.removeLast())
        let late = try RawClient(port: server.port)  // Takes the last descriptor; none is left for the server.
        late.get("/a")
        client.get("/a")
        let works = client.response()?.hasSuffix("yes")
        last.close()  // Frees two descriptors: this one, and soon the server's.
        let comes = late.response()?.hasSuffix("yes")

        guard works == true, comes == true, server.connectionCount == 3 else { fatalError("\(server.record)") }
      }
    }
  #endif
  #if os(Linux)
    @Test("A write to a closed peer raises no SIGPIPE")
    func noSignal() async {
      await #expect(processExitsWith: .success) {
        let descriptor = socketWithoutPeer()
        guard Socket.write([1], to: descriptor) == nil else { fatalError("written to nobody") }
      }
    }
  #endif
}
