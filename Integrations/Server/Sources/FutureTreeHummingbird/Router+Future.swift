import FutureTree
import FutureTreeHTTP
import HTTPTypes
import Hummingbird

extension RouterMethods where Context: FutureRequestContext {
  /// Adds a route whose handler returns a future.
  ///
  /// ```swift
  /// let router = Router(context: BasicFutureRequestContext.self)
  /// router.future(.get, "users/:id") { request, context in
  ///   (context.outgoing --> api).load(try users.request(context.parameters.require("id")))
  /// }
  /// ```
  ///
  /// The future receives a cancellation request, with a reason,
  /// - when the client closes the connection: see ``ClientDisconnectHandler`` for what can be detected;
  /// - when the deadline of the request passes, which the client sends as `request-timeout` or `grpc-timeout`;
  /// - when the task of the handler is cancelled;
  /// - after the drain of a graceful shutdown, if the router has the middleware ``HandlerShutdown``. Without it, a graceful
  ///   shutdown waits for handlers, and cancels none.
  ///
  /// Except at a shutdown, the request has the option `doNotForwardIfOthersWaiting`: work in which others have interest
  /// continues. The handler completes when the future does. At the deadline, it completes at once.
  ///
  /// Handlers of `onRequestCancel` can run on the event loop of the connection. They must not block.
  ///
  /// After the head of a response that is a stream, the transfer of the stream receives the request, without options. The
  /// server closes the connection when the transfer has ended.
  ///
  /// | outcome | response |
  /// | --- | --- |
  /// | success | the response of the value |
  /// | the deadline, `TimeoutError`, `timedOut`, `deadlineExceeded` | 504 |
  /// | `HTTPError` of a connection, or of a response that is not acceptable | 502 |
  /// | cancelled, `queueFull`, `resetInProgress` | 503 |
  /// | `AllFailed` | the response of its last error if it is one of FutureTree, otherwise 500 |
  /// | an error with a response of its own, such as Hummingbird's `HTTPError` | that response |
  /// | any other error | 500 |
  ///
  /// The responses of errors of FutureTree have no body, except a 400. The errors are logged with the level `debug`. A request
  /// whose deadline has passed gets 504. One with an invalid `request-timeout` or `grpc-timeout` gets 400, with the name of the
  /// field. The handler is not called for either.
  ///
  /// - Parameters:
  ///   - method: The method of the route.
  ///   - path: The path of the route. Defaults to the path of the group.
  ///   - handler: The handler. An error that it throws has the same response as a failed future.
  /// - Returns: The router or the group.
  @discardableResult
  public func future<Value: ResponseGenerator & Sendable>(
    _ method: HTTPTypes.HTTPRequest.Method, _ path: RouterPath = "",
    _ handler: @escaping @Sendable (_ request: Request, _ context: Context) throws -> Future<Value>
  ) -> Self {
    on(path, method: method, responder: FutureResponder(handler: handler))
  }
}

/// The responder of a route whose handler returns a future.
struct FutureResponder<Context: FutureRequestContext, Value: ResponseGenerator & Sendable>: HTTPResponder {
  let handler: @Sendable (Request, Context) throws -> Future<Value>

  func respond(to request: Request, context: Context) async throws -> Response {
    var context = context
    do {
      try context.incoming.read(request.headers)
      if context.incoming.deadline?.isExceeded() == true { throw Hummingbird.HTTPError(.gatewayTimeout) }
      let work = context.incoming.beginWork("\(request.method) \(context.endpointPath ?? "")")
      defer { work?.end() }
      let begin = { [context] in try handler(request, context) }
      let value = try await context.incoming.value(of: work?.run(begin) ?? begin())
      return try value.response(from: request, context: context)
    } catch {
      guard let status = errorStatus(of: error) else { throw error }
      // Errors of FutureTree contain no secrets. The other errors of `AllFailed` can.
      context.logger.debug("\((error as? AllFailed)?.errors.last ?? error)")
      // A response to HEAD has no body.
      let message = request.method == .head ? nil : (error as? InvalidTimeoutField)?.message
      throw message.map { Hummingbird.HTTPError(status, message: $0) } ?? Hummingbird.HTTPError(status)
    }
  }
}

extension IncomingRequest {
  /// Waits for a future, and asks it to cancel when the response is not needed anymore.
  fileprivate func value<Value>(of future: Future<Value>) async throws -> Value {
    if let outcome = future.outcomeIfCompleted { return try outcome.get() }
    // A derived future without consumers. It is asked on behalf of the client, so a request stops only at other consumers.
    let answer =
      deadline.map { future.timeout(after: max($0.remaining, .zero), clock: $0.clock) } ?? future.map { $0 }
    let watch = whenClientDisconnects { answer.cancel(.doNotForwardIfOthersWaiting, reason: $0) }
    defer { watch.end() }
    return try await withTaskCancellationHandler {
      await shuttingDownWithServer {
        await withCheckedContinuation { continuation in answer.observe { continuation.resume(returning: $0) } }
      }
    } onCancel: {
      // The runtime may hold a lock of the task here, under which no handler may run.
      channel.eventLoop.execute {
        answer.cancel(.doNotForwardIfOthersWaiting, reason: "the task of the handler was cancelled")
      }
    }.get()
  }
}

/// Returns the status for an error of FutureTree, or `nil` for any other error.
func errorStatus(of error: any Error) -> HTTPTypes.HTTPResponse.Status? {
  switch error {
  case is InvalidTimeoutField: .badRequest
  case is TimeoutError: .gatewayTimeout
  case is FutureCancelled, is CancellationError, is ScopeEnded: .serviceUnavailable
  case let error as FutureTreeHTTP.HTTPError: statuses[error.code] ?? .internalServerError
  case let error as AllFailed: error.errors.last.flatMap(errorStatus)
  default: nil
  }
}

private let statuses: [FutureTreeHTTP.HTTPError.Code: HTTPTypes.HTTPResponse.Status] = {
  let badGateway: [FutureTreeHTTP.HTTPError.Code] = [
    .unknownHost, .cannotConnect, .insecureConnection, .connectionLost, .transportFailed, .invalidResponse,
    .truncatedBody, .ambiguousBody, .bodyTooLarge, .encodedBody, .unacceptableStatus, .unacceptableContentType,
    .undecodableBody, .tooManyRedirects, .insecureRedirect, .invalidRedirect, .streamOverflow, .lineTooLong,
    .eventTooLarge,
  ]
  var statuses = Dictionary(uniqueKeysWithValues: badGateway.map { ($0, HTTPTypes.HTTPResponse.Status.badGateway) })
  (statuses[.timedOut], statuses[.deadlineExceeded]) = (.gatewayTimeout, .gatewayTimeout)
  statuses[.notCached] = .gatewayTimeout  // RFC 9111, section 5.2.1.7.
  (statuses[.queueFull], statuses[.resetInProgress]) = (.serviceUnavailable, .serviceUnavailable)
  return statuses
}()
