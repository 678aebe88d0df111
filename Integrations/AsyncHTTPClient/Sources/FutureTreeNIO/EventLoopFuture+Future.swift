import FutureTree
import NIOCore

extension EventLoopFuture where Value: Sendable {
  /// Returns a future with the result of this event-loop future.
  ///
  /// ```swift
  /// let channel = bootstrap.connect(host: "localhost", port: 8080).future()
  /// ```
  ///
  /// An `EventLoopFuture` cannot be cancelled. Without `cancel`, a cancellation request is only stored, and the returned future
  /// completes with the result. With `.forceImmediately` it completes at once.
  ///
  /// ```swift
  /// let page = task.futureResult.future { task.cancel() } isCancellation: { $0 as? HTTPClientError == .cancelled }
  /// ```
  ///
  /// - Parameters:
  ///   - fileID: The file of the call, for the error of a dropped result.
  ///   - line: The line of the call, for the error of a dropped result.
  ///   - cancel: Stops the work. It runs once, outside every lock, on the thread that makes the request. The future then waits
  ///     for the result. A success is kept.
  ///   - isCancellation: Returns whether an error means that the work was cancelled. The future then completes as `.cancelled`.
  ///     By default, it returns `true` for `CancellationError` and `FutureCancelled`.
  /// - Returns: A future that completes on the event loop.
  /// - Complexity: O(1).
  public func future(
    fileID: String = #fileID, line: UInt = #line, cancel: (@Sendable () -> Void)? = nil,
    isCancellation: (@Sendable (any Error) -> Bool)? = nil
  ) -> Future<Value> {
    Future.wrapping(fileID: fileID, line: line) { completion in
      whenComplete(completion)
    } cancel: { _ in
      cancel?()
    } isCancellation: {
      isCancellation?($0) ?? ($0 is CancellationError || $0 is FutureCancelled)
    }
  }
}

extension Future {
  /// Returns an event-loop future with the outcome of this future.
  ///
  /// ```swift
  /// let response = api.get("users/1").eventLoopFuture(on: context.eventLoop)
  /// ```
  ///
  /// The event-loop future is a consumer of this future, because someone waits for it. It cannot be cancelled. To request
  /// cancellation, keep the future.
  ///
  /// - Parameter eventLoop: The event loop of the callbacks. It must run until the future has completed.
  /// - Returns: An event-loop future. If the future was cancelled, its error is `FutureCancelled`, with the reason.
  /// - Complexity: O(1).
  public func eventLoopFuture(on eventLoop: any EventLoop) -> EventLoopFuture<Value> {
    let promise = eventLoop.makePromise(of: Value.self)
    report { promise.completeWith($0) }
    return promise.futureResult
  }
}
