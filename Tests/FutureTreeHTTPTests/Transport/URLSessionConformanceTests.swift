import FutureTreeHTTPTesting
import TestSupport
import Testing

/// In its own process, because a suite of the tests that uses all processors would exceed the time limits of the checks.
@Suite("URLSessionLoader, conformance", .onSockets, .timeLimit(.minutes(20))) struct URLSessionConformanceTests {
  @Test("The transport passes all checks of the contract, except for the limits of its platform")
  func conforms() async {
    let run = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
      let report = await URLSessionLimits.conformance.run()
      print("conformance:", report.description.replacing("\n", with: "\nconformance: "))

      #expect(report.isConforming, "\(report.nonconforming)")
      #expect(report.entries.count > 70)
    }
    let output = String(decoding: run?.standardOutputContent ?? [], as: UTF8.self)
    print(output.split(separator: "\n").filter { $0.hasPrefix("conformance:") }.joined(separator: "\n"))
  }

  #if canImport(FoundationNetworking)
    /// When this fails, the platform is fixed, and the limits and the warning of `URLSessionLoader` can be removed.
    @Test("On Linux, trailers and a connection that closes in the head end the process")
    func limits() async {
      await #expect(processExitsWith: .failure) {
        _ = await URLSessionLimits.conformance.run(only: [.trailers])
      }
      await #expect(processExitsWith: .failure) {
        _ = await URLSessionLimits.conformance.run(only: [.cutFields])
      }
    }
  #endif
}
