import FutureTree
import FutureTreeHTTP
import FutureTreeHummingbird
import FutureTreeLifecycle
import Hummingbird
import Logging
import ServerTestSupport
import Testing

@Suite("The README: graceful shutdown") struct ShutdownReadmeTests {
  @Test("The example of a graceful shutdown compiles")
  func example() throws {
    #expect(try readmeHasExample(of: #filePath))
  }

  /// Compiled, and never run: it serves until the process receives a signal.
  private func serve(
    _ router: Router<BasicFutureRequestContext>, _ transport: any HTTPLoader, _ queue: FutureQueue, photo: Int,
    _ logger: Logger, render: @escaping @Sendable (Int) -> Future<Int>
  ) async throws {
    // Begin
    let work = CancelScope("work")
    let service = ScopeService(work, drain: .seconds(20), force: .seconds(5)) { report in logger.notice("\(report)") }

    let api = RunInScope(work) --> Retry() --> transport  // The loads of a chain.
    work.run { queue.add { render(photo) } }  // The work of a queue.
    router.add(middleware: HandlerShutdown(service))  // The handlers of `router.future` that are added after it.

    var app = Application(router: router)
    app.addServices(service)
    try await app.runService()
    // End
    _ = api
  }
}
