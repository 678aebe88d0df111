import Foundation
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@testable import FutureTreeHTTP

@Suite("SystemLoader", .onSockets) struct SystemLoaderTests {
  private let server: LoopbackServer
  private let clock = ManualClock()

  init() throws {
    server = try Loopback.server()
    server.on("/", .respond(body: "answer"))
    server.on("/held", .stall)
  }

  private func request(_ path: String = "/") throws -> HTTPRequest { try HTTPRequest(server.url(path)) }

  @Test("It loads with the client of the platform, and names it")
  func platform() async throws {
    let loader = SystemLoader(clock: clock)

    try await expectEqual(loader.load(request()).value.body, Data("answer".utf8))
    let used = Mirror(reflecting: loader).children.first?.value
    #if os(Linux)
      #expect((used is CurlLoader) == (SystemLoader.substitution == nil))
    #else
      #expect(used is URLSessionLoader && SystemLoader.substitution == nil)
    #endif
  }

  #if os(Linux)
    @Test("Without libcurl it loads with URLSession, and libcurl is what it asks for first", arguments: [true, false])
    func substitute(isLibraryMissing: Bool) async throws {
      let loader = SystemLoader.loader(.init(maximumBodySize: 5), isLibraryMissing: isLibraryMissing, clock: clock)

      #expect((loader is URLSessionLoader) == isLibraryMissing && (loader is CurlLoader) == !isLibraryMissing)
      await expectEqual(loader.load(try request()).outcome.code, .bodyTooLarge)
    }

    @Test("Encoded bodies are asked for by default where the loader checks their end", arguments: [true, false])
    func encodings(isLibraryMissing: Bool) async throws {
      for (setting, asks) in [(nil, !isLibraryMissing), (true, true), (false, false)] {
        let loader = SystemLoader.loader(
          .init(acceptsEncodedBodies: setting), isLibraryMissing: isLibraryMissing, clock: clock)
        _ = try await loader.load(request()).value

        let asked = server.requests.last?.values(for: "accept-encoding").joined() ?? ""
        expectEqual(asked.contains("gzip"), asks, "\(String(describing: setting)): \(asked)")
      }
    }
  #endif

  @Test("Its time limits use its clock")
  func limits() async throws {
    let total = SystemLoader(.init(timeout: .seconds(9)), clock: clock).load(try request("/held"))
    let idle = SystemLoader(.init(timeout: nil, idleTimeout: .seconds(9)), clock: clock).load(try request("/held"))
    _ = try await server.waitUntil { $0.requestCount(to: "/held") == 2 }.value

    // Another report of a sent request may arrive at 9 s.
    clock.advance(by: .seconds(9))
    clock.advance(by: .seconds(9))

    await expectEqual(total.outcome.code, .timedOut)
    await expectEqual(idle.outcome.code, .timedOut)
  }

  @Test("A cancelled load closes its connection, and a reset waits for the others")
  func cancelAndReset() async throws {
    let loader = SystemLoader(.init(timeout: nil))
    let loads = try (0..<2).map { _ in try loader.load(request("/held")) }
    _ = try await server.waitUntil { $0.requestCount(to: "/held") == 2 }.value

    loads[0].cancel()
    await expectEqual(loads[0].outcome.ending, .cancelled)
    try await loader.reset().value

    expectEqual(loads[1].outcomeIfCompleted?.ending, .cancelled)
    _ = try await server.waitUntilAllClosed().value
    try await expectEqual(loader.load(request()).value.status, .ok)
  }
}
