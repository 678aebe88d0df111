import FutureTree

/// The rules by which `ServerSentEvents` reconnects.
///
/// ```swift
/// let prices = api.events("prices", reconnecting: EventReconnection(delay: .seconds(1), attempts: 10))
/// let once = api.events("report", reconnecting: .never)
/// ```
///
/// The delay before the first reconnection is the delay that the server asked for last with the field `retry`, or `delay`. Each
/// further reconnection without an event in between has a random delay, between that delay and a maximum. The maximum is at first
/// twice that delay, and at least 2 seconds. It doubles with each reconnection, up to `longestDelay`. After an event, the next
/// reconnection is a first one again.
public struct EventReconnection: Sendable, Hashable {
  let delay: Duration
  let longestDelay: Duration
  let attempts: Int

  /// Reconnects after 3 seconds, or after the delay that the server asks for, without a limit of attempts.
  public static let `default` = EventReconnection()

  /// Never reconnects. The sequence ends with its first connection.
  public static let never = EventReconnection(attempts: 0)

  /// Creates rules. Durations are limited to the range from 0 to 100 years.
  ///
  /// - Parameters:
  ///   - delay: The delay before a reconnection, until the server asks for another one. Defaults to 3 seconds.
  ///   - longestDelay: The maximum of the random delays. Defaults to 60 seconds. A longer delay that the server asks for, or a
  ///     longer `delay`, is respected.
  ///   - attempts: The maximum number of consecutive reconnections without an event. Then the outcome of the last connection
  ///     is the outcome of the sequence: its error, or the end. Defaults to `nil`, which disables the limit. Values below 0
  ///     are treated as 0.
  public init(delay: Duration = .seconds(3), longestDelay: Duration = .seconds(60), attempts: Int? = nil) {
    self.delay = delay.clampedToMaximumTimerDuration
    self.longestDelay = longestDelay.clampedToMaximumTimerDuration
    self.attempts = max(0, attempts ?? .max)
  }
}

/// The memory of a sequence of events between its connections. Pure: sends nothing, sets no timer, reads no clock.
///
/// # Invariants
/// 1. Each request has the ID of the last event that the reader received, so that no event is lost between connections.
/// 2. All responses are from one origin.
/// 3. A request that must not be sent twice is not sent twice.
struct EventReconnectionState {
  enum Step {
    case reconnects(after: Duration)
    case ends(Result<Void, any Error>)
  }

  private let base: HTTPRequest
  private let rules: EventReconnection
  private(set) var lastEventID: String
  /// The delay that the server asked for last.
  private var retry: Duration?
  /// The number of reconnections since the last event.
  private var attempts = 0
  /// The URL of the first response. The inner value is `nil` if its request has no URL.
  private var first: HTTPURL??

  init(_ request: HTTPRequest, _ rules: EventReconnection) {
    base = request
    self.rules = rules
    lastEventID = request.headers[EventReconnectionState.idField] ?? ""
  }

  /// The request of the next connection.
  ///
  /// The ID of the last event is sent as UTF-8 (WHATWG HTML, section 9.2.4). Blanks around it are not part of the value of a field.
  var request: HTTPRequest {
    get throws(HTTPError) {
      var request = base
      request.removeHeader(EventReconnectionState.idField)
      let id = FieldSyntax.trimmed(lastEventID)
      // The value is valid: the parser ignores IDs with control characters.
      if !id.isEmpty { try request.setHeader(EventReconnectionState.idField, received: id) }
      return request
    }
  }

  /// Checks the head of a response. Returns `false` if the server ends the sequence with the status 204.
  ///
  /// - Throws: `HTTPError` with the code `eventsAtOtherOrigin`, `unacceptableStatus` or `unacceptableContentType`.
  mutating func accepts(_ response: HTTPResponse) throws(HTTPError) -> Bool {
    try checkOrigin(of: response)
    guard response.status != .noContent else { return false }
    guard response.status == .ok else {
      throw HTTPError(
        .unacceptableStatus, "\(response.request) failed with the status \(response.status). See `response`.",
        response: response)
    }
    try response.checkIsEventStream()
    return true
  }

  private mutating func checkOrigin(of response: HTTPResponse) throws(HTTPError) {
    let url = response.request.url
    guard case .some(let first) = first else {
      first = .some(url)
      return
    }
    let isSame = if let first, let url { first.hasSameOrigin(as: url) } else { first == nil && url == nil }
    guard !isSame else { return }
    throw HTTPError(
      .eventsAtOtherOrigin,
      "\(response.request): The reconnection led to another origin than the first connection, "
        + "\(first?.origin ?? "a request without a host"). Begin a new sequence if you trust it.", response: response)
  }

  /// Registers that the reader received an event.
  mutating func receivedEvent() {
    attempts = 0
  }

  /// Registers what the parser of a connection found until its end.
  mutating func connectionEnded(_ parser: ServerSentEventParser) {
    lastEventID = parser.lastEventID
    retry = parser.retry ?? retry
  }

  /// Decides what follows a connection, or an attempt to connect, with this result.
  mutating func step(after result: Result<Void, any Error>, _ random: RandomSource) -> Step {
    guard base.isRepeatable, base.body.isReplayable, attempts < rules.attempts,
      EventReconnectionState.isTransient(result)
    else { return .ends(result) }
    attempts += 1
    return .reconnects(after: delay(random))
  }

  private func delay(_ random: RandomSource) -> Duration {
    let shortest = (retry ?? rules.delay).clampedToMaximumTimerDuration
    guard attempts > 1 else { return shortest }
    let limit = max(shortest, rules.longestDelay)
    let longest = max(shortest, .seconds(1)).doubled(after: attempts, limit: limit)
    return shortest + (longest - shortest).part(random.fraction())
  }

  /// Whether another connection can succeed.
  private static func isTransient(_ result: Result<Void, any Error>) -> Bool {
    guard case .failure(let error) = result else { return true }
    return (error as? HTTPError).map { codes.contains($0.code) } ?? false
  }

  private static let codes: Set<HTTPError.Code> = [
    .unknownHost, .cannotConnect, .connectionLost, .truncatedBody, .timedOut, .transportFailed, .bodyNotRead,
    .streamOverflow, .queueFull, .circuitOpen,
  ]

  private static let idField = "Last-Event-ID"
}
