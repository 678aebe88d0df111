import Foundation
import FutureTree

/// One load of a transport that reports events: its future, its time limits, its progress and its response.
///
/// ```swift
/// func load(_ request: HTTPRequest) -> Future<HTTPResponse> {
///   let exchange: HTTPExchange
///   do { exchange = try HTTPExchange(of: request, limits) } catch { return .failed(error) }
///   let connection = pool.send(request)
///   connection.onHead { head in exchange.receiveHead(head.status, head.fields) }
///   connection.onBytes { bytes in exchange.receive(bytes) }
///   connection.onEnd { isWhole in
///     exchange.end(isWhole ? .completed : exchange.isWanted ? .failed(truncated) : .stopped)
///   }
///   return exchange.start(in: live) { connection.close() }
/// }
/// ```
///
/// The transport reports what happens on the wire, and stops when the exchange asks it to. The exchange does the rest:
///
/// - **Cancellation.** A cancellation request stops the transport, and the future completes when the transport reports its end
///   (*Confirmed cancellation*). With `.forceImmediately` the future completes at once. A response that is complete by then
///   is kept.
/// - **Time limits.** `RequestTimeout` and `RequestIdleTimeout` of the request take precedence over the limits. A load that
///   exceeds one fails at once, and the transport is stopped.
/// - **Body.** A `ResponseReceiver` checks the response and delivers it to memory, to a file or as a stream.
/// - **Progress.** The `ProgressHandler` of the request is called after the head, after each piece of a body, and never after
///   the end.
/// - **Activity.** The tree of a load shows its step and its progress: `waiting for the response`, `receiving 12 of 100 bytes`. So
///   does the receipt of its cancellation request.
/// - **Reset.** `LiveLoads` tracks the exchange until the transport has reported its end.
///
/// **Threads.** Report the events of one exchange one at a time, from any thread. The other members can be used from any thread
/// at any time. The exchange completes its future and calls the progress handler on the thread of the report, outside every
/// lock.
public final class HTTPExchange: Sendable {
  /// The limits of a load. Options of the request take precedence.
  public struct Limits: Sendable, Hashable {
    /// The maximum duration from `start` to the outcome, or to the head of a stream. `nil` disables the limit.
    public var timeout: Duration?
    /// The maximum time in which no data is sent or received. `nil` disables the limit.
    public var idleTimeout: Duration?
    /// The maximum size of a body in memory, in bytes.
    public var maximumBodySize: Int

    /// Creates limits.
    public init(timeout: Duration?, idleTimeout: Duration?, maximumBodySize: Int) {
      self.timeout = timeout
      self.idleTimeout = idleTimeout
      self.maximumBodySize = maximumBodySize
    }

    /// The limits as a configuration prints them.
    var text: String {
      "timeout \(timeout.map { "\($0)" } ?? "none"), idle timeout \(idleTimeout.map { "\($0)" } ?? "none"), "
        + "at most \(maximumBodySize) bytes"
    }
  }

  /// The end of a load, as the transport reports it.
  public enum End: Sendable {
    /// The response has ended as its framing declares.
    case completed
    /// The transport was stopped. Without a cancellation request, the load fails with the code `transportFailed`.
    case stopped
    /// The connection or the server failed.
    case failed(HTTPError)
  }

  /// A step of a load before its response, which the tree of the load shows.
  public enum Step: Sendable, Hashable {
    /// The request waits for a connection.
    case queued
    /// The name of the host is looked up.
    case resolving
    /// A connection is opened.
    case connecting
    /// The connection is secured by TLS.
    case securing
    /// The request is sent.
    case sending
    /// The request was sent.
    case waiting
  }

  /// The request of the load.
  public let request: HTTPRequest
  /// The number of bytes of the body. `nil` if it is not known.
  public let bodyLength: Int?

  private let onProgress: (@Sendable (HTTPProgress) -> Void)?
  private let timeout: Duration?
  private let idleTimeout: Duration?
  private let clock: any FutureClock
  let confirmation = Promise<Void>()
  private let received: ReceivedResponse
  let guarded: Locked<Guarded>

  struct Guarded {
    var state: ExchangeState
    var timers = ExchangeTimers()
    /// The promise of the load. `nil` after `start` and the delivery of a stream: a promise keeps its response, and a stream must
    /// end when its caller drops it.
    var promise: Promise<HTTPResponse>? = Promise()
    var isStarted = false
    var isDelivered = false
    /// Whether the transport must be stopped, or has ended, before `start`.
    var mustStop = false
    var hasTransportEnded = false
    /// The reason of the cancellation request of the load. A stream that was delivered in the meantime ends with it.
    var cancelReason: CancellationReason?
    var stopTransport: (@Sendable () -> Void)?
    /// The received bytes of the body.
    var received = HTTPProgress.Part()
  }

  /// The exchange, for closures that must not retain it. A closure that captures one object needs no allocation.
  private final class Link: Sendable {
    weak let exchange: HTTPExchange?

    init(_ exchange: HTTPExchange) {
      self.exchange = exchange
    }
  }

  /// Creates the exchange of a request.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - limits: The limits, unless the request has its own.
  ///   - decoding: The decoding of encoded bodies before they are reported. Defaults to none.
  ///   - sendsTrailers: Whether the transport sends `trailers`. Defaults to `false`.
  ///   - clock: The clock of the time limits. Defaults to the system clock.
  /// - Throws: `HTTPError` with the code `unwritableBody`, `unreadableBody`, `wrongBodyLength` or `unsupportedTrailers`.
  public init(
    of request: HTTPRequest, _ limits: Limits, decoding: ResponseReceiver.Decoding = .asSent,
    sendsTrailers: Bool = false, clock: any FutureClock = .system
  ) throws(HTTPError) {
    do throws(HTTPError) { bodyLength = try request.body.announcedLength() } catch { throw error.naming(request) }
    guard sendsTrailers || request.bodyTrailers == nil else {
      throw HTTPError(
        .unsupportedTrailers,
        "The transport cannot send fields after a body. Use `CurlLoader`, or send the fields in another request."
      ).naming(request)
    }
    received = ReceivedResponse(
      try ResponseReceiver(
        for: request, maximumSize: limits.maximumBodySize, decoding: decoding, deliversStreams: true, clock: clock))
    self.request = request
    onProgress = request[option: ProgressHandler.self]
    timeout = request.timeout ?? limits.timeout
    idleTimeout = request.idleTimeout ?? limits.idleTimeout
    self.clock = clock
    let rules = ExchangeState.Rules(
      idleTimeout: idleTimeout, reportsProgress: onProgress != nil, bodyLength: bodyLength)
    guarded = Locked(Guarded(state: ExchangeState(rules, now: clock.now)))
  }

  deinit {
    endTimers()
  }

  /// Starts the time limits, and returns the future of the load.
  ///
  /// Call it once. Events that the transport reports before are kept.
  ///
  /// - Parameters:
  ///   - live: The registry of the transport. It tracks the exchange until `end(_:)` is called.
  ///   - stop: Stops the transport. It is called at most once, on any thread, and must not wait. The transport reports the
  ///     end afterward. It is not called if the transport ended before.
  /// - Returns: A future that completes once.
  public func start(in live: LiveLoads, stop: @escaping @Sendable () -> Void) -> Future<HTTPResponse> {
    let link = Link(self)
    let (promise, mustStop) = guarded.withLock { guarded in
      let promise = guarded.promise!  // `deliver` keeps it until now.
      guarded.isStarted = true
      if guarded.isDelivered { guarded.promise = nil }
      let mustStop = guarded.mustStop && !guarded.hasTransportEnded
      if !guarded.hasTransportEnded, !mustStop { guarded.stopTransport = stop }
      return (promise, mustStop)
    }
    if mustStop { stop() }
    promise.future.named(request.description)
    promise.describeActivity(of: self) { exchange in exchange.guarded.withLock { $0.state.activity($0.received) } }
    live.add(confirmation.future)
    promise.onRequestCancel { received in
      link.exchange?.cancelAsked(received.reason, isForced: received.options.contains(.forceImmediately))
      return .continue
    }
    // A request of a reset stops the transport even if the future has other consumers.
    confirmation.onRequestCancel { received in
      link.exchange?.future?.cancel(reason: received.reason)
      link.exchange?.act { $0.cancelAsked() }
      return .continue
    }
    if let timeout { set(.total, after: timeout) { link.exchange?.act { $0.deadlinePassed() } } }
    if let idleTimeout { watchIdling(idleTimeout, link) }
    return promise.future
  }

  /// The fields that the transport sends after the body. `nil` without a body.
  public var trailers: RequestTrailers? { request.bodyTrailers }

  /// The number of bytes to announce as `Content-Length`. `nil` if the body is sent in chunks, because its length is not known or
  /// `trailers` follow it.
  public var contentLength: Int? { trailers == nil ? bodyLength : nil }

  /// Whether the transport should begin or continue.
  public var isWanted: Bool { guarded.withLock { $0.state.isWanted } }

  /// Whether the head of the final response has arrived.
  public var hasHead: Bool { guarded.withLock { $0.state.hasHead } }

  /// The number of bytes of the body that the response declares and that have not arrived. `nil` before the head, and if the
  /// length of the body is not known.
  ///
  /// Read it between two reports. If it is zero and the transport has not sent the whole request, the server has answered early,
  /// and the transport can stop sending.
  public var remainingBodyLength: Int? {
    guarded.withLock { guarded in guarded.received.total.map { $0 - guarded.received.completed } }
  }

  private var future: Future<HTTPResponse>? { guarded.withLock { $0.promise?.future } }

  private func cancelAsked(_ reason: CancellationReason, isForced: Bool) {
    guarded.withLock { $0.cancelReason = reason }
    act { $0.cancelAsked(isForced: isForced) }
  }

  private func watchIdling(_ duration: Duration, _ link: Link) {
    set(.idle, after: duration) {
      guard let exchange = link.exchange else { return }
      let now = exchange.clock.now
      let (action, again) = exchange.guarded.withLock { $0.state.idleTimerFired(now: now) }
      exchange.perform(action)
      if let again { exchange.watchIdling(again, link) }
    }
  }

  private func set(_ name: ExchangeTimers.Name, after duration: Duration, _ body: @escaping @Sendable () -> Void) {
    let timer = clock.schedule(after: duration, body)
    guarded.withLock { $0.timers.set(name, timer) }?.cancel()
  }

  private func endTimers() {
    let (total, idle) = guarded.withLock { $0.timers.end() }
    total?.cancel()
    idle?.cancel()
  }

  /// The current time. It is read only if there is an idle timeout.
  var now: Duration { idleTimeout == nil ? .zero : clock.now }
}

// MARK: - Performing actions

extension HTTPExchange {
  /// Work on the receiver. It returns the response of a stream that begins.
  typealias Work = (inout ResponseReceiver) throws(HTTPError) -> HTTPResponse?

  /// Passes an event to the state, and performs the resulting action outside the lock.
  func act(_ work: Work = { _ in nil }, _ event: (inout ExchangeState) -> ExchangeState.Action) {
    perform(guarded.withLock { event(&$0.state) }, work)
  }

  private func perform(_ first: ExchangeState.Action, _ work: Work = { _ in nil }) {
    var action = first
    var response: HTTPResponse?
    if case .work(let sent) = action {
      var fault: HTTPError?
      do throws(HTTPError) { response = try perform(work, sent) } catch { fault = error }
      action = guarded.withLock { [fault, hasStream = response != nil] in
        $0.state.worked(fault, hasStream: hasStream)
      }
    }
    switch action {
    case .none, .work: break
    case .stop: stop()
    case .deliver:
      let (promise, timer) = guarded.withLock { guarded in
        guarded.isDelivered = true
        let promise = guarded.isStarted ? guarded.promise.take() : guarded.promise
        return (promise, guarded.timers.set(.total, nil))
      }
      timer?.cancel()
      if let response { promise?.succeed(response) }
    case .end(let ending, let stopsTransport):
      endTimers()
      if stopsTransport { stop() }
      complete(ending)
    }
  }

  /// Performs the work, and reports the progress.
  private func perform(_ work: Work, _ sent: HTTPProgress.Part?) throws(HTTPError) -> HTTPResponse? {
    let (response, part) = try received.pass(work)
    guarded.withLock { $0.received = part }  // The handler can look at the tree.
    guard let onProgress, let sent else { return response }
    let transfer = received.writer?.transfer.isCompleted
    if !(transfer ?? future?.isCompleted ?? true) { onProgress(HTTPProgress(sent: sent, received: part)) }
    return response
  }

  private func complete(_ ending: ExchangeState.Ending) {
    let (promise, reason) = guarded.withLock { ($0.promise, $0.cancelReason) }
    do throws(HTTPError) {
      switch ending {
      case .received:
        let response = try received.finish()
        promise?.succeed(response)
      case .failure(let error): throw error
      case .cancelled:
        received.end(.cancelled(reason ?? LiveLoads.resetReason))
        promise?.completeCancelled(promise?.cancelRequest == nil ? LiveLoads.resetReason : nil)
      }
    } catch {
      received.end(.failure(error))
      promise?.fail(error.naming(request))
    }
  }

  private func stop() {
    guarded.withLock { guarded in
      guarded.mustStop = true
      return guarded.stopTransport.take()
    }?()
  }
}

// The events that a transport reports.

extension HTTPExchange {
  /// Reports that the transport begins the next step. Transports report the steps that they can observe.
  ///
  /// ```swift
  /// exchange.begin(.connecting)
  /// let connection = pool.connect(to: "example.com") { exchange.begin(.sending) }
  /// ```
  public func begin(_ step: Step) {
    var promise: Promise<HTTPResponse>?
    guarded.withLock { if $0.state.began(step) { promise = $0.promise } }
    promise?.activityChanged()
  }

  /// Reports the head of a response.
  ///
  /// The status 101 fails the load with the code `invalidResponse`. Other informational heads (100 to 199) are passed to the
  /// `InterimResponseHandler` of the request, and the final response follows.
  ///
  /// - Parameters:
  ///   - status: The status code.
  ///   - fields: The header fields in order, as received.
  ///   - timings: The timings of the response, until now.
  public func receiveHead(
    _ status: HTTPStatus, _ fields: some Sequence<(name: String, value: String)>, timings: HTTPTimings? = nil
  ) {
    guard !status.isInformational || status.code == 101 else { return receiveInterim(status, fields) }
    receiveHead(status) { receiver throws(HTTPError) in
      receiver.timings = timings
      return try receiver.receiveHead(status, fields)
    }
    guarded.withLock { $0.promise }?.activityChanged()
  }

  /// The closure is called as work on the response, so that the load does not end during the call.
  private func receiveInterim(_ status: HTTPStatus, _ fields: some Sequence<(name: String, value: String)>) {
    let now = now
    let onInterim = request[option: InterimResponseHandler.self]
    act { [request] _ throws(HTTPError) in
      onInterim?(HTTPResponse(to: request, status: status, headers: ResponseReceiver.headers(of: fields).headers))
      return nil
    } _: {
      $0.interimArrived(now: now)
    }
  }

  func receiveHead(_ status: HTTPStatus, _ work: Work) {
    let now = now
    act { receiver throws(HTTPError) in
      let response = try work(&receiver)
      receiver.writer?.onStop { [weak self] in self?.act { $0.cancelAsked(byStream: true) } }
      return response
    } _: {
      $0.headArrived(status, now: now)
    }
  }

  /// Reports the next bytes of the body.
  ///
  /// - Returns: A future if the reader of a stream is behind. A transport that can pause reads no more bytes until it has
  ///   completed. The idle timeout is suspended until then.
  @discardableResult
  public func receive(_ bytes: Data) -> Future<Void>? {
    let now = now
    var room: Future<Void>?
    let pass: Work = { receiver throws(HTTPError) in
      try receiver.receive(bytes)
      room = receiver.writer.flatMap { $0.hasRoom ? nil : $0.room() }
      return nil
    }
    act(pass) { $0.dataArrived(now: now) }
    if let room, guarded.withLock({ $0.state.paused() }) {
      room.observe { [weak self] _ in
        guard let self else { return }
        let now = self.now
        guarded.withLock { $0.state.resumed(now: now) }
      }
    }
    return room
  }

  /// Reports the fields after the body. Call it before the end.
  public func receiveTrailers(_ fields: some Sequence<(name: String, value: String)>) {
    receiveAfterBody { $0.receiveTrailers(fields) }
  }

  /// Reports timings that the transport has only at the end. Call it before the end. A stream was delivered before, and has those of
  /// `receiveHead(_:_:timings:)`.
  public func receiveTimings(_ timings: HTTPTimings) {
    receiveAfterBody { $0.timings = timings }
  }

  private func receiveAfterBody(_ change: (inout ResponseReceiver) -> Void) {
    let now = now
    act { receiver throws(HTTPError) in
      change(&receiver)
      return nil
    } _: {
      $0.trailersArrived(now: now)
    }
  }

  /// Reports that `count` bytes of the request's body have been sent in total.
  public func bodySent(_ count: Int) {
    let now = now
    act { $0.bodySent(count, now: now) }
    if let bodyLength, count >= bodyLength { begin(.waiting) }
  }

  /// Fails the load because the request cannot be sent, or only in part. The transport is stopped.
  public func fail(_ error: HTTPError) {
    act { $0.requestFailed(error) }
  }

  /// Reports that the transport has ended and holds nothing for the load. Call it once.
  ///
  /// A response with the end `completed` is a success only if its body is whole.
  public func end(_ end: End) {
    act { $0.transportEnded(end) }
    guarded.release { guarded in
      guarded.hasTransportEnded = true
      return guarded.stopTransport.take()
    }
    confirmation.succeed(())
  }
}

/// The rules of sending that each transport applies.
extension HTTPRequest {
  /// The fields that follow the body. `nil` without a body.
  fileprivate var bodyTrailers: RequestTrailers? {
    sets(RequestTrailers.self) && !body.isEmpty ? trailers : nil
  }

  /// Returns why the request must not be sent again after its connection was closed without a response, or `nil` if it may be
  /// (RFC 9110, section 9.2.2).
  ///
  /// - Parameter hasReadBody: Whether the body was opened.
  func reasonNotToRepeat(hasReadBody: Bool) -> HTTPError? {
    guard method.inUpperCase.isIdempotent else {
      return HTTPError(
        .connectionLost,
        "The connection was closed before a response arrived. \(method) requests are not repeated automatically. Load "
          + "again if the request may be sent twice.")
    }
    guard !hasReadBody || body.isReplayable else {
      return HTTPError(
        .bodyNotReplayable,
        "The connection was closed before a response arrived. The body can be sent only once. Use data or a file.")
    }
    return nil
  }

  /// Checks that the method allows the body, and that the content type of the body is valid.
  ///
  /// - Parameter methods: The methods with which the transport sends no body.
  func checkBody(forbiddenWith methods: Set<HTTPMethod>) throws(HTTPError) {
    guard body.isEmpty || !methods.contains(method.inUpperCase) else {
      throw HTTPError(
        .forbiddenBody,
        "A \(method) request cannot have a body. Use a method such as QUERY, or send the data in the query.")
    }
    try body.checkContentType()
  }
}
