import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTransportTesting
import TestSupport
import Testing

/// The code of the guide *Simulated networks*, word for word. `TransportTestingGuideTests` compares the code.
@Suite("Guide: Simulated networks")
struct SimulatedNetworksGuideSnippets {
  private let print = Transcript()

  @Test("A chain in many worlds")
  func run() throws {
    // guide run
    let report = try Simulation.run(seeds: 0..<200) { world in
      let throttle = Throttle(4, clock: world.clock)
      world.expect("no slot is taken") { throttle.runningCount + throttle.waitingCount == 0 }
      world.expectRefusals()
      return ResetGuard() --> Autocancel(clock: world.clock)
        --> Retry(clock: world.clock, date: world.date, random: world.random) --> throttle --> world.network
    }
    print(report)  // 200 worlds, 1 hours
    // end

    #expect(print.lines == ["200 worlds, 1 hours"])
  }

  @Test("A world that breaks a rule")
  func failure() throws {
    // guide failure
    struct Unstoppable: HTTPLayer {
      func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> { next.load(request).shielded() }
    }

    do {
      try Simulation.run(seeds: 0..<200) { world in Unstoppable() --> world.network }
    } catch let failure as SimulationFailure {
      print(failure)
    }
    // end

    let lines = print.lines.first?.split(separator: "\n") ?? []
    #expect(
      lines.prefix(3) == [
        "World 15 broke a rule.", "- Confirmed cancellation: load 1 was cancelled, and its connection is open.",
        "Its parts:",
      ])
    #expect(
      lines.last?.hasPrefix("To repeat it: try Simulation.run(seeds: 0..<1, only: SimulationCase(15, keeping: [")
        == true)
  }
}
