import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeHummingbird
import FutureTreeLifecycle
import Hummingbird
import Logging
import NIOCore
import NIOPosix
import ServerTestSupport

/// A context whose deadlines use the clock of the test.
struct TestContext: FutureRequestContext {
  @TaskLocal static var clock: any FutureClock = .system

  var coreContext: CoreRequestContextStorage
  var incoming: IncomingRequest

  init(source: ApplicationRequestContextSource) {
    coreContext = CoreRequestContextStorage(source: source)
    incoming = IncomingRequest(source: source, clock: TestContext.clock)
  }
}

/// Work that completes when the test asks it to, and reports the first cancellation request.
struct Work: Sendable {
  let promise = Promise<String>()
  private let began = Promise<Void>()
  private let asked = Promise<String>()

  /// A future that completes when the handler has taken the work.
  var begun: Future<Void> { began.future }
  /// The reason of the first cancellation request.
  var reason: Future<String> { asked.future }

  func begin() -> Future<String> {
    promise.onRequestCancel { [asked] request in
      asked.succeed(request.reason.message)
      return .complete(.cancelled)
    }
    began.succeed(())
    return promise.future
  }
}

/// The route `/feed`, which passes on a stream that the test sends.
struct Feed: Sendable {
  let stream: HeldStream
  private let began = Promise<Future<Void>>()

  init(at router: Router<TestContext>) {
    let mock = MockLoader()
    stream = mock.stream(whenCancelled: .complete)
    router.future(.get, "feed") { [began] _, _ in
      mock.load(try .streaming("http://backend/feed")).map { response in
        began.succeed(response.transfer)
        return response
      }
    }
  }

  /// The reason with which the transfer was cancelled. `nil` if it has another outcome.
  var cancellationReason: CancellationReason? {
    get async throws {
      guard case .cancelled(let reason) = try await began.future.value.outcome else { return nil }
      return reason
    }
  }
}

/// Records the end of the input of connections, after the handlers of FutureTree.
final class InputEndRecorder: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = NIOAny

  private let ended: Promise<Void>

  init(_ ended: Promise<Void>) {
    self.ended = ended
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if event as? ChannelEvent == .inputClosed { ended.succeed(()) }
    context.fireUserInboundEventTriggered(event)
  }
}

/// Runs a server on a free port of 127.0.0.1 while `body` runs, and then cancels it.
///
/// - Parameters:
///   - installs: Whether the server installs `ClientDisconnectHandler`, as opposed to the first handler of a connection.
///   - inputEnded: A promise to complete when the input of a connection has ended.
///   - service: A service of the application.
func withServer(
  _ router: Router<TestContext>, installs: Bool = true, clock: any FutureClock = .system,
  inputEnded: Promise<Void> = Promise(), service: ScopeService? = nil,
  _ body: (RawClient.Address) async throws -> Void
) async throws {
  let port = Promise<Int>()
  let handlers: @Sendable () -> [any RemovableChannelHandler] = {
    (installs ? [ClientDisconnectHandler()] : []) + [InputEndRecorder(inputEnded)]
  }
  var app = Application(
    router: router, server: .http1(configuration: .init(additionalChannelHandlers: handlers())),
    configuration: .init(address: .hostname("127.0.0.1", port: 0)),
    onServerRunning: { channel in port.succeed(channel.localAddress!.port!) },
    logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
  if let service { app.addServices(service) }
  try await TestContext.$clock.withValue(clock) {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { [app] in try? await app.run() }
      defer { group.cancelAll() }
      try await body(RawClient.Address(port: port.future.value))
    }
  }
}
