import FutureTreeTransportTesting
import HTTPTestSupport
import TestSupport

#if os(Linux)
  import Foundation
  import FutureTree
  import FutureTreeHTTPTesting
  import TestSupport
  import Testing

  @testable import FutureTreeHTTP

  /// In processes of their own, whose threads and descriptors can be counted.
  @Suite("CurlLoader, conformance", .onSockets, .timeLimit(.minutes(20))) struct CurlConformanceTests {
    @Test("The transport passes all checks of the contract, without limits")
    func conforms() async {
      let run = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
        let suite = TransportConformance("CurlLoader", addedFields: ["Accept-Encoding"], timeLimit: .seconds(600)) {
          CurlLoader(.patient)
        }
        let report = await suite.run()
        print("stress: over libcurl", try CurlLibrary.shared.get().version)
        print("stress:", report.description.replacing("\n", with: "\nstress: "))

        #expect(report.isConforming, "\(report.nonconforming)")
        #expect(report.entries.count > 70)
      }
      Stress.printResults(of: run?.standardOutputContent)
    }

    @Test("Requests and streams that are cancelled at random bytes leave nothing")
    func cancelled() async {
      let run = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
        try await CurlConformanceTests.expectClean { try await $0.run(cancelled: LongTest.count(2_000, small: 300)) }
      }
      Stress.printResults(of: run?.standardOutputContent)
    }

    @Test("A mixed load with faults, time limits and resets leaves nothing")
    func mixed() async {
      let run = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
        try await CurlConformanceTests.expectClean { try await $0.run(mixed: LongTest.count(5_000, small: 500)) }
      }
      Stress.printResults(of: run?.standardOutputContent)
    }

    private static func expectClean(_ run: (TransportLoad) async throws -> TransportLoad.Report) async throws {
      let loader = CurlLoader(.patient)
      let report = try await run(TransportLoad("CurlLoader") { loader })
      print(report.description.split(separator: "\n").map { "stress: \($0)" }.joined(separator: "\n"))
      #expect(report.isClean)
      expectEqual(loader.liveCount, 0)
    }

    @Test("A process can exit while requests are in flight")
    func exits() async {
      await #expect(processExitsWith: .exitCode(7)) {
        let server = try Loopback.server()
        server.on("/", .respond(body: "a"))
        let loader = CurlLoader(.patient)
        let finished = Locked(0)
        @Sendable func load() throws {
          loader.load(try HTTPRequest(server.url("/"))).observe { _ in
            finished.withLock { $0 += 1 }
            try? load()
          }
        }
        for _ in 0..<8 { try load() }
        while finished.value < 100 { await Task.yield() }
        exit(7)
      }
    }

    @Test("A callback of a request can exit the process")
    func exitsInCallback() async {
      await #expect(processExitsWith: .exitCode(7)) {
        let server = try Loopback.server()
        server.on("/", .respond(body: "a"))
        _ = await CurlLoader(.patient).load(try HTTPRequest(server.url("/"))).map { _ -> Void in exit(7) }.outcome
      }
    }
  }
#endif
