import FutureTree
import FutureTreeHTTP
import FutureTreeTransportTesting
import TestSupport
import Testing

/// The code of the landing page, word for word. `TransportTestingGuideTests` compares the two.
@Suite("Guide: FutureTreeTransportTesting", .onSockets, .timeLimit(.minutes(20)))
struct FutureTreeTransportTestingGuideSnippets {
  private let print = Transcript()

  @Test("Checks of a transport")
  func conformance() async {
    let added = ["Accept", "Accept-Encoding", "Accept-Language", "User-Agent"]
    // guide conformance
    let conformance = TransportConformance("Reader's transport", addedFields: added, timeLimit: .seconds(600)) {
      SystemLoader(.init(timeout: nil))
    }

    let report = await conformance.run(only: [.redirects, .cookies, .cutBody])

    print(report.isConforming)  // true
    print(report.entries.map(\.check.id))  // ["redirects", "cookies", "cutBody"]
    // end

    #expect(report.isConforming, "\(report)")
    #expect(print.lines == ["true", "[\"redirects\", \"cookies\", \"cutBody\"]"])
  }

  @Test("Limits of a transport")
  func limits() {
    // guide limits
    let limits: [TransportConformance.Limit] = [
      .init(.headerOrder, "The platform sorts the fields by name.", faultText: "sent: "),
      .init(.trailers, "A fatal error of the platform, at once.", endsProcess: true),
    ]
    // end

    #expect(limits.map(\.endsProcess) == [false, true])
  }

  /// Compiled and not run: the counts need a process of their own. `StreamStressTests` runs it.
  func load() async throws {
    // guide load
    let load = TransportLoad("Reader's transport") { SystemLoader(.init(timeout: nil)) }

    let report = try await load.run(cancelled: 10_000)

    print(report)
    #expect(report.isClean)
    // end
  }
}
