import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("URLSessionLoader, timeouts", .onSockets) struct TimeoutTests {
  private let server: LoopbackServer
  private let clock = ManualClock()
  private let gate = LoopbackGate()

  init() throws {
    server = try Loopback.server()
    server.on("/held", [.hold(gate), .respond(body: "held")])
  }

  private func loader(timeout: Duration? = nil, idle: Duration? = nil) -> URLSessionLoader {
    URLSessionLoader(.init(timeout: timeout, idleTimeout: idle), clock: clock)
  }

  private func request(_ path: String = "/held") throws -> HTTPRequest { try HTTPRequest(server.url(path)) }

  @Test("A load times out by its clock, and its connection is closed", arguments: [0.05, 60, 1e9])
  func total(seconds: Double) async throws {
    let loader = loader(timeout: .seconds(seconds), idle: .seconds(2e9))
    let future = loader.load(try request())
    _ = try await gate.waitForHolders().value

    clock.advance(by: .seconds(seconds) - .nanoseconds(1))
    #expect(!future.isCompleted)
    clock.advance(by: .nanoseconds(1))

    expectEqual(future.outcomeIfCompleted?.code, .timedOut)
    expectEqual(clock.timerCount, 0)
    _ = await server.waitForClose(of: "/held").outcome
  }

  @Test("A request has its own timeouts, which replace those of the loader")
  func ownTimes() async throws {
    let loader = loader(timeout: .seconds(1), idle: .seconds(1))
    var request = try request()
    request.timeout = .seconds(100)
    request.idleTimeout = .seconds(50)
    let future = loader.load(request)
    _ = try await gate.waitForHolders().value

    clock.advance(by: .seconds(49))
    #expect(!future.isCompleted)
    gate.open()

    try await expectEqual(future.value.body, Data("held".utf8))
    expectEqual(clock.timerCount, 0)
  }

  @Test("A load without a timeout never times out")
  func forever() async throws {
    let future = loader().load(try request())
    _ = try await gate.waitForHolders().value

    expectEqual(clock.timerCount, 0)
    clock.advance(by: .seconds(1_000_000_000))
    gate.open()

    try await expectEqual(future.value.status, .ok)
  }

  @Test("The idle timeout ends the request that received nothing, and no other")
  func idle() async throws {
    let half = Promise<Void>()
    server.on("/half", [.send("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n0123"), .stall])
    let loader = loader(idle: .seconds(10))
    var request = try request("/half")
    request.progress = { if $0.received.completed == 4 { half.succeed(()) } }
    let silent = loader.load(try self.request())
    _ = try await gate.waitForHolders().value
    clock.advance(by: .seconds(6))
    let future = loader.load(request)
    _ = await half.future.outcome

    clock.advance(by: .seconds(4))
    expectEqual(silent.outcomeIfCompleted?.code, .timedOut)
    #expect(!future.isCompleted)
    clock.advance(by: .seconds(6))

    await expectEqual(future.outcome.code, .timedOut)
    expectEqual(clock.timerCount, 0)
  }

  @Test("A request that keeps receiving bytes is not idle, however long it takes")
  func notIdle() async throws {
    let gates = (0..<4).map { _ in LoopbackGate() }
    let head = LoopbackStep.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n")
    server.on("/drip", .steps([head] + gates.flatMap { [.hold($0), .send("x")] }))
    let arrived = (0...4).map { _ in Promise<Void>() }
    var request = try request("/drip")
    request.progress = { arrived[$0.received.completed].succeed(()) }
    let future = loader(idle: .seconds(10)).load(request)

    for (index, gate) in gates.enumerated() {
      _ = await arrived[index].future.outcome
      clock.advance(by: .seconds(9))
      gate.open()
    }

    try await expectEqual(future.value.body, Data("xxxx".utf8))
    expectEqual(clock.timerCount, 0)
  }

  @Test("No timer is left after any outcome of a request")
  func noTimers() async throws {
    let loader = loader(timeout: .seconds(60), idle: .seconds(30))
    server.on("/ok", .respond())
    server.on("/close", .close)
    server.on("/cut", [.send("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n0123"), .close])

    _ = await loader.load(try request("/ok")).outcome
    _ = await loader.load(try request("/close")).outcome
    _ = await loader.load(try request("/cut")).outcome
    let futures = [loader.load(try request()), loader.load(try request())]
    _ = try await gate.waitForHolders(2).value
    expectEqual(clock.timerCount, 4)
    futures[0].cancel()
    futures[1].cancel(.forceImmediately)
    for future in futures { _ = await future.outcome }
    try await loader.reset().value

    expectEqual(clock.timerCount, 0)
  }

  /// The timeout of the platform counts whole seconds, also while a request waits for a connection.
  @Test("A request that waits for a connection is ended only by its own deadline")
  func queued() async throws {
    let loader = URLSessionLoader(.init(timeout: nil, maximumConnectionsPerHost: 1), clock: clock)
    server.on("/ok", .respond(body: "ok"))
    let first = loader.load(try request())
    _ = try await gate.waitForHolders().value
    var impatient = try request("/ok")
    impatient.timeout = .milliseconds(1500)
    let second = loader.load(impatient)
    let third = loader.load(try request("/ok"))

    clock.advance(by: .milliseconds(1500))
    expectEqual(second.outcomeIfCompleted?.code, .timedOut)
    gate.open()

    try await expectEqual(first.value.body, Data("held".utf8))
    try await expectEqual(third.value.body, Data("ok".utf8))
  }
}
