import Foundation
import FutureTree
import FutureTreeHTTP

/// A response of a `MockLoader` whose body the test sends in pieces.
///
/// ```swift
/// let feed = mock.stream("/feed", headers: try HTTPHeaders(["Content-Type": "text/event-stream"]))
/// let response = try await api.stream("feed").value   // The head is there.
/// feed.send("data: one\n\n")
/// response.transfer.cancel()
/// #expect(feed.cancelRequest != nil)
/// feed.completeCancelled()                            // The transport confirms.
/// ```
///
/// The load completes with the head when it begins. If its request asks for another delivery than a stream, the load completes
/// with the whole body in `finish()`. If a held stream is deallocated before its end, its load or its transfer fails.
///
/// - Note: All members can be used from any thread.
public final class HeldStream: Sendable {
  private enum Destination {
    case none
    case stream(HTTPBodyWriter)
    case buffer(Promise<HTTPResponse>, Data)
    case ended
  }

  typealias Record = @Sendable (CancellationOptions, CancellationReason) -> Void

  /// The reaction to a cancellation request.
  public let whenCancelled: HeldAnswer.WhenCancelled

  private let status: HTTPStatus
  private let headers: HTTPHeaders
  private let begun = Promise<HTTPRequest>()
  private let destination = Locked(Destination.none)
  private let asked = Locked<CancelRequest?>(nil)

  init(status: HTTPStatus, headers: HTTPHeaders, whenCancelled: HeldAnswer.WhenCancelled) {
    self.status = status
    self.headers = headers
    self.whenCancelled = whenCancelled
  }

  /// A future that succeeds with the loaded request as soon as the load begins.
  public var loaded: Future<HTTPRequest> { begun.future }

  /// The loaded request, or `nil` if the load has not begun.
  public var request: HTTPRequest? {
    if case .success(let request) = begun.future.outcomeIfCompleted { request } else { nil }
  }

  /// The cancellation request that the load or its transfer received, or `nil` if there was none.
  public var cancelRequest: CancelRequest? { asked.value }

  /// Whether the reader of the stream waits for bytes.
  public var isAwaited: Bool { writer?.isAwaited == true }

  /// Whether the body has ended: it is whole, has failed, or was cancelled.
  public var isCompleted: Bool {
    switch destination.value {
    case .none: false
    case .stream(let writer): writer.transfer.isCompleted
    case .buffer(let promise, _): promise.future.isCompleted
    case .ended: true
    }
  }

  private var writer: HTTPBodyWriter? {
    if case .stream(let writer) = destination.value { writer } else { nil }
  }
}

// MARK: - Sending

extension HeldStream {
  /// Sends text in UTF-8.
  ///
  /// - Returns: `false` if the load has not begun, or if the body has ended, also because the buffer overflowed.
  @discardableResult
  public func send(_ text: String) -> Bool { send(Data(text.utf8)) }

  /// Sends bytes. The reader gets each piece as a chunk.
  ///
  /// - Returns: `false` if the load has not begun, or if the body has ended, also because the buffer overflowed.
  @discardableResult
  public func send(_ bytes: Data) -> Bool {
    guard !isCompleted, request != nil else { return false }
    if let writer { return (try? writer.write(bytes)) != nil }
    destination.withLock { destination in
      guard case .buffer(let promise, let sent) = destination else { return }
      destination = .buffer(promise, sent + bytes)
    }
    return true
  }

  /// Ends the body: it is whole.
  ///
  /// - Parameter trailers: The fields after the body.
  /// - Returns: `false` if the load has not begun, or if the body has ended before.
  @discardableResult
  public func finish(trailers: HTTPHeaders = HTTPHeaders()) -> Bool {
    end { writer in
      writer.finish(trailers: trailers)
    } buffered: { promise, request, body in
      let response = HTTPResponse(to: request, status: status, headers: headers, body: body, trailers: trailers)
      return promise.complete(.completeUsing(Future.attempt { .succeeded(try response.delivered(for: request)) }))
    }
  }

  /// Cuts the body: it fails with an error after the bytes that were sent.
  ///
  /// - Returns: `false` if the load has not begun, or if the body has ended before.
  @discardableResult
  public func fail(_ error: any Error) -> Bool {
    end { writer in
      writer.fail(error)
    } buffered: { promise, _, _ in
      promise.fail(error)
    }
  }

  /// Confirms a cancellation request, as a transport does that has closed its connection.
  ///
  /// - Returns: `false` if there was no cancellation request, or if the body has ended before.
  @discardableResult
  public func completeCancelled() -> Bool {
    guard cancelRequest != nil else { return false }
    return end { writer in
      writer.fail(FutureCancelled(reason: "the transport has stopped"))
    } buffered: { promise, _, _ in
      promise.completeCancelled()
    }
  }

  private func end(
    streamed: (HTTPBodyWriter) -> Bool, buffered: (Promise<HTTPResponse>, HTTPRequest, Data) -> Bool
  ) -> Bool {
    guard let request else { return false }
    let ended = destination.withLock { destination in
      defer { destination = .ended }
      return destination
    }
    return switch ended {
    case .none, .ended: false
    case .stream(let writer): streamed(writer)
    case .buffer(let promise, let body): buffered(promise, request, body)
    }
  }
}

// MARK: - The load

extension HeldStream {
  /// - Parameters:
  ///   - clock: The clock of the idle-read timeout.
  ///   - record: Called with each cancellation request, before the request takes effect.
  func begin(_ request: HTTPRequest, clock: any FutureClock, record: @escaping Record) -> Future<HTTPResponse> {
    defer { begun.succeed(request) }
    guard request.delivery.isStream, status.isSuccess else { return buffer(record) }
    let (stream, writer) = HTTPBodyStream.makeStream(for: request, clock: clock)
    destination.value = .stream(writer)
    writer.onStop { [weak self, transfer = writer.transfer] in
      guard let self, let request = transfer.cancelRequest else { return }
      received(request, record)
    }
    return .succeeded(HTTPResponse(to: request, status: status, headers: headers, content: .stream(stream)))
  }

  private func buffer(_ record: @escaping Record) -> Future<HTTPResponse> {
    let promise = Promise<HTTPResponse>()
    destination.value = .buffer(promise, Data())
    let future = promise.future
    promise.onRequestCancel { [weak self] received in
      guard let self, let request = future.cancelRequest else { return .continue }
      self.received(request, record)
      return .continue
    }
    return future
  }

  private func received(_ request: CancelRequest, _ record: Record) {
    asked.value = request
    record(request.options, request.reason)
    if whenCancelled == .complete { completeCancelled() }
  }
}
