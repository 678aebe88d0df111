import FutureTree
import FutureTreeLifecycle
import Hummingbird
import NIOCore
import ServiceLifecycle

/// A middleware with which handlers that return futures take part in a graceful shutdown.
///
/// ```swift
/// let service = ScopeService(CancelScope("handlers"), drain: .seconds(20))
/// router.add(middleware: HandlerShutdown(service))
/// router.future(.get, "users/:id") { request, context in api.load(try user(request)) }
///
/// var app = Application(router: router)
/// app.addServices(service)
/// ```
///
/// When the server begins to shut down, a pending handler begins the shutdown of the service. Handlers that complete in its drain
/// send their responses. The futures of the others receive a cancellation request with the kind `shutdown`, and so do the transfers
/// of streams. Requests that arrive after that get 503.
///
/// Without this middleware, a graceful shutdown waits for handlers, and cancels none.
///
/// - Note: Handlers that are not added by `router.future` are not changed.
public struct HandlerShutdown<Context: FutureRequestContext>: RouterMiddleware {
  private let service: ScopeService

  /// Creates the middleware.
  ///
  /// - Parameter service: The service whose scope the handlers run in.
  public init(_ service: ScopeService) {
    self.service = service
  }

  /// Forwards the request, and gives the service to its context.
  public func handle(
    _ request: Request, context: Context, next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    var context = context
    context.incoming.service = service
    return try await next(request, context)
  }
}

extension IncomingRequest {
  /// Begins the scope of this request, inside that of the service. `nil` without a service.
  mutating func beginWork(_ name: String) -> CancelScope? {
    work = service?.scope.nested(name, whenEnded: .waitsForWork, whenWorkFails: .continues)
    return work
  }

  /// Calls a body. If the server begins to shut down in the meantime, the service does so as well.
  func shuttingDownWithServer<Result>(
    _ body: () async throws -> Result
  ) async rethrows -> Result {
    guard let service else { return try await body() }
    return try await withGracefulShutdownHandler {
      try await body()
    } onGracefulShutdown: { [channel] in
      // The lock of the manager is held here, under which no handler may run.
      channel.eventLoop.execute { service.shutDown() }
    }
  }
}
