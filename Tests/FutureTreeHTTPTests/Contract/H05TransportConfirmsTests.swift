import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import Testing

@Suite("H5: the transport confirms", .onSockets, .timeLimit(.minutes(60)))
struct H05TransportConfirmsTests {
  @Test(
    "asked, the future ends when the connection is free",
    arguments: [[], .doNotForwardIfOthersWaiting] as [CancellationOptions])
  func confirms(options: CancellationOptions) async throws {
    let server = try Loopback.server()
    let loader = URLSessionLoader(.init(timeout: nil, maximumConnectionsPerHost: 1))
    server.on("/held", .stall)
    server.on("/next", .respond(body: "next"))
    let load = loader.load(try HTTPRequest(server.url("/held")))
    _ = await server.waitForRequest(to: "/held").outcome

    let receipt = load.cancel(options)
    #expect(receipt.effect == .delivered)
    #expect(await load.outcome.ending == .cancelled)

    // The one connection that may be open is not in the way of another load.
    #expect(try await loader.load(try HTTPRequest(server.url("/next"))).value.body.count == 4)
    _ = try await server.waitForClose(of: "/held").value
  }

  @Test("by force the future ends at once, and the transport is stopped behind it")
  func force() async throws {
    let server = try Loopback.server()
    let loader = URLSessionLoader(.patient)
    server.on("/held", .stall)
    let load = loader.load(try HTTPRequest(server.url("/held")))
    _ = await server.waitForRequest(to: "/held").outcome

    load.cancel(.forceImmediately)

    #expect(load.text == "cancelled")
    let record = try await server.waitForClose(of: "/held").value
    #expect(record.abandonedPaths == ["/held"])
  }
}
