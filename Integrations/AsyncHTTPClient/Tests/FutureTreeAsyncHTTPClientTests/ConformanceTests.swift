import FutureTreeAsyncHTTPClient
import FutureTreeHTTPTesting
import FutureTreeTransportTesting
import Testing

@Suite("AsyncHTTPClientLoader, conformance", .timeLimit(.minutes(20))) struct ConformanceTests {
  private let limits: [TransportConformance.Limit] = [
    .init(.encodedBytes, "A path whose percent-encoded bytes are not UTF-8 fails with `invalidURL`, at once."),
    .init(.latinFields, "The client replaces bytes that are not UTF-8 with U+FFFD.", faultText: "caf\u{FFFD}"),
  ]

  @Test("The transport conforms to the HTTP contract")
  func conformance() async {
    let conformance = TransportConformance(
      "AsyncHTTPClientLoader", limits: limits, addedFields: ["Accept-Encoding"], timeLimit: .seconds(600)
    ) { AsyncHTTPClientLoader(.init(timeout: nil)) }

    let report = await conformance.run()

    print(report)
    #expect(report.isConforming)
  }
}
