import Foundation
import FutureTree

/// The transport's end of a stream: it writes the body while the body arrives.
///
/// ```swift
/// let (stream, writer) = HTTPBodyStream.makeStream(for: request)
/// writer.onStop { connection.close() }
/// promise.succeed(HTTPResponse(to: request, status: .ok, content: .stream(stream)))
/// for try await bytes in connection.bytes {
///   if try !writer.write(bytes) { try await writer.room().value }
/// }
/// writer.finish()
/// ```
///
/// A transport that uses a `ResponseReceiver` does not need a writer.
///
/// If a writer is dropped before it has ended the body, the transfer fails with the code `transportFailed`, or completes
/// as `.cancelled` if it was asked to cancel. A writer can be used from any thread, by one caller at a time.
public final class HTTPBodyWriter: Sendable {
  private let pipe: BodyPipe

  fileprivate init(_ pipe: BodyPipe) {
    self.pipe = pipe
  }

  deinit {
    fail(HTTPError(.transportFailed, "The transport was dropped before the body was complete. Load again."))
  }

  /// Appends bytes to the body. They are discarded if the reader has left or the transfer has ended.
  ///
  /// - Returns: Whether the buffer has room. If it is `false`, a transport with back-pressure waits for `room()`.
  /// - Throws: `HTTPError` with the code `streamOverflow` if the buffer had no room and more than `bufferLimit` bytes are
  ///   unread. The transfer has then failed, and the transport is asked to stop. A transport that waits for `room()` never
  ///   gets this error.
  @discardableResult
  public func write(_ bytes: Data) throws(HTTPError) -> Bool {
    try pipe.write(bytes)
  }

  /// Whether the buffer has room. A transport with back-pressure pauses if it has none, and continues after `room()`.
  public var hasRoom: Bool { pipe.hasRoom }

  /// Returns a future that succeeds as soon as the buffer has room, or the rest of the body is not needed.
  public func room() -> Future<Void> { pipe.room() }

  /// Ends the body successfully: it is whole.
  ///
  /// - Parameter trailers: The fields after the body, which are `HTTPResponse.trailers` from now on. Defaults to none.
  /// - Returns: `false` if the transfer has ended before.
  @discardableResult
  public func finish(trailers: HTTPHeaders = HTTPHeaders()) -> Bool {
    pipe.transportEnded(.success(()), trailers: trailers)
  }

  /// Ends the body with an error, after the bytes that were written. If the transfer was asked to cancel, it completes as
  /// `.cancelled`.
  ///
  /// - Returns: `false` if the transfer has ended before.
  @discardableResult
  public func fail(_ error: any Error) -> Bool {
    end(transfer.cancelRequest.map { .cancelled($0.reason) } ?? .failure(error))
  }

  @discardableResult
  package func end(_ outcome: Outcome<Void>) -> Bool {
    pipe.transportEnded(outcome)
  }

  /// Sets the closure that stops the transport. It is called once, outside every lock, when the rest of the body is not
  /// needed: after a cancellation request, a time limit or an overflow. It is called at once if that has happened before.
  ///
  /// When the transport has stopped, it calls `fail(_:)`. A cancelled transfer completes then.
  public func onStop(_ body: @escaping @Sendable () -> Void) {
    pipe.onStop(body)
  }

  /// A future that completes when the transfer has ended.
  public var transfer: Future<Void> { pipe.transfer }

  /// Whether the reader waits for bytes.
  public var isAwaited: Bool { pipe.isAwaited }

  /// Whether there are bytes that the reader has not read. An idle transport then waits for the reader, not for the server.
  public var hasUnread: Bool { pipe.hasUnread }
}

extension HTTPBodyStream {
  /// Creates a stream, and the writer that fills it.
  ///
  /// - Parameters:
  ///   - request: The request, whose `ResponseDelivery` has the limits of the stream. Errors name it.
  ///   - clock: The clock of the idle-read timeout.
  public static func makeStream(
    for request: HTTPRequest, clock: any FutureClock = .system
  ) -> (stream: HTTPBodyStream, writer: HTTPBodyWriter) {
    let pipe = BodyPipe(request.delivery.streamRules(for: request), clock: clock)
    return (HTTPBodyStream(pipe, reader: BodyReader(pipe)), HTTPBodyWriter(pipe))
  }
}
