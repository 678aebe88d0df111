import Dispatch
import Foundation
import FutureTree

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One request on the wire: its state, its promise, its task and its timers. The decisions are those of `TransferState`.
final class Transfer: Sendable {
  private let request: HTTPRequest
  let queues: SessionQueues
  let task = Locked<URLSessionTask?>(nil)
  private let bodyLength: Int?
  private let onProgress: (@Sendable (HTTPProgress) -> Void)?
  private let idleTimeout: Duration?
  /// The promise of the load. `nil` after the delivery of a stream: a promise keeps its response, and a stream must end when
  /// its caller drops it.
  private let promise = Locked<Promise<HTTPResponse>?>(Promise())
  /// The reason of the cancellation request of the load. A stream that was delivered in the meantime ends with it.
  private let cancelReason = Locked<CancellationReason?>(nil)
  private let confirmation = Promise<Void>()
  let state: Locked<TransferState>
  private let timers: TransferTimers
  private let received: ReceivedResponse
  private let bodyInterruption = BodyInterruption()

  init(
    of request: HTTPRequest, bodyLength: Int?, _ configuration: URLSessionLoader.Configuration,
    clock: any FutureClock, _ queues: SessionQueues
  ) throws(HTTPError) {
    received = ReceivedResponse(
      try ResponseReceiver(
        for: request, maximumSize: configuration.maximumBodySize,
        decoding: .platform(accepting: Set(configuration.acceptedEncodings)), deliversStreams: true, clock: clock))
    self.request = request
    self.queues = queues
    self.bodyLength = bodyLength
    onProgress = request[option: ProgressHandler.self]
    idleTimeout = request[option: RequestIdleTimeout.self] ?? configuration.idleTimeout
    timers = TransferTimers(clock)
    let rules = TransferState.Rules(
      idleTimeout: idleTimeout, reportsProgress: onProgress != nil, bodyLength: bodyLength)
    state = Locked(TransferState(rules, now: clock.now))
    future?.named(request.description)
  }

  private var future: Future<HTTPResponse>? { promise.value?.future }

  /// Completes when the platform has released the task, even if the future completed long before. Cancelling it stops the
  /// transfer, even if the future is marked as shared and others have interest in it.
  var confirmed: Future<Void> { confirmation.future }

  func start(timeout: Duration?) -> Future<HTTPResponse> {
    let promise = promise.value!
    promise.onRequestCancel { [weak self] received in
      self?.cancelReason.value = received.reason
      self?.act { $0.cancelAsked(isForced: received.options.contains(.forceImmediately)) }
      return .continue
    }
    confirmation.onRequestCancel { [weak self] received in
      self?.future?.cancel(reason: received.reason)
      self?.act { $0.cancelAsked() }
      return .continue
    }
    if let timeout {
      timers.set(.total, after: timeout) { [weak self] in self?.act { $0.deadlinePassed() } }
    }
    if let idleTimeout { watchIdling(idleTimeout) }
    return promise.future
  }

  /// Creates and starts the task, unless the transfer was cancelled before. Called once, on the queue of commands.
  ///
  /// - Returns: Whether the task was created.
  func begin(_ makeTask: () -> URLSessionTask) -> Bool {
    guard state.withLock({ $0.isWanted }) else { return false }
    let task = makeTask()
    self.task.value = task
    task.resume()
    return true
  }

  private func watchIdling(_ duration: Duration) {
    timers.set(.idle, after: duration) { [weak self] in
      guard let self else { return }
      let now = timers.now
      let (action, again) = state.withLock { $0.idleTimerFired(now: now) }
      perform(action)
      if let again { watchIdling(again) }
    }
  }

  /// The current time. It is read only if there is an idle timeout.
  var now: Duration { idleTimeout == nil ? .zero : timers.now }
}

// MARK: - Performing actions

extension Transfer {
  /// Work on the receiver. It returns the response of a stream that begins.
  private typealias Work = (inout ResponseReceiver) throws(HTTPError) -> HTTPResponse?

  /// Passes an event to the state, and performs the resulting action outside the lock.
  private func act(_ work: Work = { _ in nil }, _ event: (inout TransferState) -> TransferState.Action) {
    perform(state.withLock { event(&$0) }, work)
  }

  private func perform(_ first: TransferState.Action, _ work: Work = { _ in nil }) {
    var action = first
    var response: HTTPResponse?
    if case .work(let sent) = action {
      var fault: HTTPError?
      do throws(HTTPError) { response = try perform(work, sent) } catch { fault = error }
      action = state.withLock { [fault, hasStream = response != nil] in $0.worked(fault, hasStream: hasStream) }
    }
    switch action {
    case .none, .work: break
    case .stop: stop()
    case .deliver:
      timers.cancel(.total)
      if let response { promise.value.take()?.succeed(response) }
    case .end(let ending, let stopsTransport):
      timers.end()
      if stopsTransport { stop() }
      complete(ending)
    }
  }

  /// Performs the work, and reports the progress.
  private func perform(_ work: Work, _ sent: HTTPProgress.Part) throws(HTTPError) -> HTTPResponse? {
    let (response, part) = try received.pass(work)
    let hasEnded = received.writer.map(\.transfer.isCompleted) ?? future?.isCompleted ?? true
    if !hasEnded { onProgress?(HTTPProgress(sent: sent, received: part)) }
    return response
  }

  private func complete(_ ending: TransferState.Ending) {
    let promise = promise.value
    do throws(HTTPError) {
      switch ending {
      case .received:
        let response = try received.finish()
        promise?.succeed(response)
      case .failure(let error): throw error
      case .cancelled:
        received.end(.cancelled(cancelReason.value ?? LiveLoads.resetReason))
        promise?.completeCancelled(promise?.cancelRequest == nil ? LiveLoads.resetReason : nil)
      }
    } catch {
      received.end(.failure(error))
      promise?.fail(error.naming(request))
    }
  }

  private func stop() {
    bodyInterruption.fire()  // The queue of commands can wait for the thread that reads the body.
    queues.commands.async { [self] in
      if let task = task.value { task.cancel() }
    }
  }
}

// MARK: - Events of the session

extension Transfer {
  func headArrived(_ response: HTTPURLResponse, isReported: Bool = true) {
    let (status, now) = (HTTPStatus(response.statusCode), now)
    let pass: Work = { [weak self] receiver throws(HTTPError) in
      let fields = HTTPHeaders.fields(of: response)
      let headers = HTTPHeaders(joined: fields)
      guard isReported else {
        try receiver.receiveUnreportedHead(status, headers, of: fields)
        return nil
      }
      let response = try receiver.receiveHead(status, headers, of: fields)
      receiver.writer?.onStop { [weak self] in self?.act { $0.cancelAsked() } }
      return response
    }
    act(pass) { $0.headArrived(status, now: now) }
  }

  func dataArrived(_ data: Data) {
    let now = now
    #if canImport(Darwin)
      var room: Future<Void>?
    #endif
    let pass: Work = { receiver throws(HTTPError) in
      try receiver.receive(data)
      #if canImport(Darwin)
        room = receiver.writer.flatMap { $0.hasRoom ? nil : $0.room() }
      #endif
      return nil
    }
    act(pass) { $0.dataArrived(now: now) }
    #if canImport(Darwin)
      if let room { pause(until: room) }
    #endif
  }

  func bodySent(_ count: Int64) {
    let now = now
    act { $0.bodySent(Int(clamping: count), now: now) }
  }

  func challengeRefused() {
    state.withLock { $0.challengeRefused() }
  }

  #if canImport(Darwin)
    /// Registers that the configuration does not trust the server.
    func trustRefused() {
      let peer = request.url.map { "\($0.host):\($0.port)" } ?? "the server"
      let error = HTTPError(
        .insecureConnection,
        "The closure `serverTrust` of the loader rejected \(peer). Check the certificate and the pinned keys.")
      act { $0.requestFailed(error) }
    }
  #endif

  /// - Parameter task: The task. On Linux it has a response that was never reported, if the response is a redirect
  ///   without a target.
  func ended(_ error: (any Error)?, _ task: URLSessionTask?) {
    if error == nil, state.withLock({ !$0.hasHead }), let response = task?.response as? HTTPURLResponse {
      headArrived(response, isReported: false)
    }
    let isInterrupted = error != nil && bodyInterruption.hasFailedRead
    act { state in
      state.transportEnded(
        isInterrupted ? .stopped : URLErrorTable.end(error, request: request, hasHead: state.hasHead))
    }
    bodyInterruption.fire()  // An early response leaves the rest of the body unread.
  }

  /// Registers that the platform has released the task.
  func confirm() {
    confirmation.succeed(())
  }

  /// Returns the body for the platform to send. The platform calls this again when it repeats a request, because the
  /// server closed a reused connection. A request that must not be sent twice fails instead (RFC 9110, section 9.2.2).
  func openBody() -> InputStream {
    let fault = state.withLock { $0.bodyOpened() } ? nil : reasonNotToRepeat
    if let fault { act { $0.requestFailed(fault) } }
    return BodyStream(request.body, length: bodyLength, refusal: fault, bodyInterruption) { [weak self, queues] error in
      queues.reports.addOperation { [weak self] in self?.act { $0.requestFailed(error) } }
    }
  }

  private var reasonNotToRepeat: HTTPError? {
    if !request.method.inUpperCase.isIdempotent {
      return HTTPError(
        .connectionLost,
        "The connection was closed before a response arrived. \(request.method) requests are not repeated automatically. Load "
          + "again if the request may be sent twice.")
    }
    if !request.body.isReplayable {
      return HTTPError(
        .bodyNotReplayable,
        "The connection was closed before a response arrived. The body can be sent only once. "
          + "Use data or a file.")
    }
    return nil
  }
}

/// The receiver of a transfer.
private final class ReceivedResponse: @unchecked Sendable {
  // Because: `TransferState` runs one piece of work at a time, and ends only when no work is running.
  private var receiver: ResponseReceiver?

  init(_ receiver: consuming ResponseReceiver) {
    self.receiver = consume receiver
  }

  /// The writer of a stream, after its head.
  var writer: HTTPBodyWriter? { receiver?.writer }

  func pass(
    _ work: (inout ResponseReceiver) throws(HTTPError) -> HTTPResponse?
  ) throws(HTTPError) -> (HTTPResponse?, HTTPProgress.Part) {
    let response = try work(&receiver!)
    return (response, receiver?.received ?? HTTPProgress.Part())
  }

  func finish() throws(HTTPError) -> HTTPResponse {
    try receiver.take()!.finish()
  }

  func end(_ outcome: Outcome<Void>) {
    receiver.take()?.end(outcome)
  }
}
