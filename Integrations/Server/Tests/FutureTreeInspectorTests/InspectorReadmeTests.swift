import FutureTree
import FutureTreeHTTP
import FutureTreeInspector
import ServerTestSupport
import Testing

@Suite("The README: inspector") struct InspectorReadmeTests {
  @Test("The example of the inspector compiles")
  func example() throws {
    #expect(try readmeHasExample(of: #filePath))
  }

  /// Compiled, and never run: it serves a page until its task is cancelled.
  private func serve(_ feed: Future<Int>, _ throttle: Throttle) async throws {
    // Begin
    let inspector = Inspector(allowsCancellation: true)
    inspector.add(feed)
    inspector.add(throttle, named: "API")
    try await inspector.serve(port: 8089) { print($0) }
    // End
  }
}
