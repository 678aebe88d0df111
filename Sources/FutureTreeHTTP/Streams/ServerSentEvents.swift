import FutureTree

/// A sequence of server-sent events that reconnects (WHATWG HTML, section 9.2). `HTTPLoader.events` returns it.
///
/// ```swift
/// let prices = api.events("prices")
/// stopButton.action = { prices.transfer.cancel(reason: "the user pressed Stop") }
/// for try await event in prices { show(event.data) }
/// ```
///
/// A sequence has one reader. A second iteration fails with the code `bodyAlreadyRead`.
///
/// **Requests.** The request asks for `Accept: text/event-stream` and `Cache-Control: no-cache`, unless it has fields with these
/// names. Its option ``RequestCaching`` is `off`: a stored response is no connection. If there was an event with an ID, a
/// reconnection sends it in `Last-Event-ID`, as UTF-8 and without the blanks around it. An ID with a control character other
/// than a tab is ignored: no field can carry it. The reconnection then sends the ID before it. `Last-Event-ID` is not treated
/// as a secret. If it is one, add it to the `SensitiveHeaders` of the request.
///
/// **Reconnections.** If a connection ends, the reader waits and connects again, by the rules of `EventReconnection`. By default,
/// the number of reconnections has no limit. A connection ends when the server closes it, or with one of these codes:
/// `unknownHost`, `cannotConnect`, `connectionLost`, `truncatedBody`, `timedOut`, `transportFailed`, `queueFull`, `circuitOpen`,
/// and `bodyNotRead` or `streamOverflow` if the reader is slow. The complete events before that are returned first, and an
/// incomplete event is discarded. A request that cannot be repeated (`RetryContext.isRepeatable`, `HTTPBody.isReplayable`), such
/// as a `POST`, is sent once.
///
/// **Silence.** By default, a connection that is open but silent does not end. With a `Timeout(idle:)` in the chain, it fails
/// with the code `timedOut`, and the reader connects again.
///
/// **End.** The sequence ends when the server answers with 204.
///
/// **Errors.** Every other error ends the sequence:
///
/// - `unacceptableStatus` if the status is neither 200 nor 204, for example 503. With a `Retry` in the chain, the request is
///   repeated first.
/// - `unacceptableContentType` if the content type is not `text/event-stream`
/// - `eventsAtOtherOrigin` if a reconnection leads to another origin (scheme, host, port) than the first response
/// - `eventTooLarge` if an event has more bytes than the limit
/// - errors that another connection would not fix, such as `missingHost`, `insecureConnection`, `deadlineExceeded` and
///   `resetInProgress`
///
/// **Cancellation.** `transfer` represents the whole sequence: it cancels the load, the stream or the pause in flight, and
/// completes when that has ended. The reader is a consumer of `transfer`. If the loop is left, if its task is cancelled, or
/// if the sequence or its iterator is dropped, the reader withdraws its interest with a `doNotForwardIfOthersWaiting`
/// request. Nothing connects without a reader, so the sequence then ends as cancelled, also if `transfer` has other
/// consumers.
///
/// **Reset.** If a reset of the chain cancels the connection (`Autocancel`), the sequence ends with `FutureCancelled`. A reset
/// during a pause between connections is not noticed: cancel `transfer` as well.
///
/// **Memory.** An iteration holds one event, one chunk, and the buffer of the stream, which the transport fills ahead of the
/// reader. A chunk is parsed when the reader asks for an event that the chunks before it do not have.
public final class ServerSentEvents: AsyncSequence, Sendable {
  public typealias Element = ServerSentEvent

  /// The default limit of an event: 1 MiB, in bytes.
  public static let defaultMaximumEventSize = 1 << 20

  /// A future that completes when the sequence has ended and its last connection is closed: with a success after the status
  /// 204, with the error of the sequence, or as `.cancelled`.
  ///
  /// Cancelling it ends the sequence: `next` throws `FutureCancelled` with the reason.
  public let transfer: Future<Void>

  private let source: Result<EventSource, any Error>
  /// The interest of the reader, until the iteration begins.
  private let interest: Locked<EventInterest?>

  init(_ source: Result<EventSource, any Error>) {
    self.source = source
    switch source {
    case .success(let source):
      let connection = EventConnection(source)
      transfer = connection.transfer
      interest = Locked(EventInterest(in: connection))
    case .failure(let error):
      transfer = .failed(error)
      interest = Locked(nil)
    }
  }

  /// Begins to read the events. The first connection is made by the first call of `next`.
  public func makeAsyncIterator() -> Iterator {
    switch source {
    case .failure(let error): Iterator(reader: .failure(error))
    case .success(let source):
      Iterator(
        reader: interest.withLock { $0.take() }.map { .success(EventReader(source, $0)) }
          ?? .failure(
            HTTPError(
              .bodyAlreadyRead,
              "The events of \(source.request) have been iterated before. Call `events` again for another sequence.")))
    }
  }

  /// The reader of the events. If it is dropped before the end, it withdraws its interest in `transfer`.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let reader: Result<EventReader, any Error>

    /// Returns the next event as soon as it is complete, or `nil` after the end. It connects if there is no connection.
    ///
    /// - Throws: The error of the sequence; `FutureCancelled` if `transfer` or the connection was cancelled;
    ///   `CancellationError` if the task was cancelled. Each later call throws the same error.
    public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async throws -> ServerSentEvent? {
      try await reader.get().next()
    }
  }
}

extension ServerSentEvents: CustomStringConvertible, CustomReflectable {
  /// The request, without the query, the events and their IDs, which may be secrets.
  public var description: String {
    if case .success(let source) = source { "events of \(source.request)" } else { "events of an invalid request" }
  }

  public var customMirror: Mirror { Mirror(self, children: ["events": description], displayStyle: .class) }
}

/// The parts of which a sequence of events is made.
struct EventSource: Sendable {
  let loader: any HTTPLoader
  let request: HTTPRequest
  let reconnection: EventReconnection
  let maximumEventSize: Int
  let clock: any FutureClock
  let random: RandomSource

  /// The fields of a request for events.
  static let fields: HTTPHeaders = {
    do {
      return try HTTPHeaders(["Accept": "text/event-stream", "Cache-Control": "no-cache"])
    } catch { preconditionFailure("The fields of a request for events are valid: \(error)") }
  }()
}
