import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("H5: confirmed cancellation", .tags(.h05), .onSockets, .timeLimit(.minutes(20)))
struct H05TransportConfirmsTests {
  @Test(
    "A cancelled load ends when its connection is free",
    arguments: [[], .doNotForwardIfOthersWaiting] as [CancellationOptions])
  func confirms(options: CancellationOptions) async throws {
    let server = try Loopback.server()
    let loader = SystemLoader(.init(timeout: nil, maximumConnectionsPerHost: 1))
    server.on("/held", .stall)
    server.on("/next", .respond(body: "next"))
    let load = loader.load(try HTTPRequest(server.url("/held")))
    _ = await server.waitForRequest(to: "/held").outcome

    let receipt = load.cancel(options)
    expectEqual(receipt.effect, .delivered)
    await expectEqual(load.outcome.ending, .cancelled)

    // The only connection is free for another load.
    try await expectEqual(loader.load(try HTTPRequest(server.url("/next"))).value.body.count, 4)
    _ = try await server.waitForClose(of: "/held").value
  }

  @Test("A forced load ends at once, and its transport is stopped")
  func force() async throws {
    let server = try Loopback.server()
    let loader = SystemLoader(.patient)
    server.on("/held", .stall)
    let load = loader.load(try HTTPRequest(server.url("/held")))
    _ = await server.waitForRequest(to: "/held").outcome

    load.cancel(.forceImmediately)

    expectEqual(load.text, "cancelled")
    let record = try await server.waitForClose(of: "/held").value
    expectEqual(record.abandonedPaths, ["/held"])
  }
}
