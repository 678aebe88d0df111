import Dispatch
import Foundation
import FutureTree

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One request on the wire: its state, its promise, its task and its timers. It acts on what the state says.
final class Transfer: Sendable {
  private let request: HTTPRequest
  private let queues: SessionQueues
  private let task = Locked<URLSessionTask?>(nil)
  private let destination: URL?
  private let bodyLength: Int?
  private let onProgress: (@Sendable (HTTPProgress) -> Void)?
  private let idleTimeout: Duration?
  private let promise = Promise<HTTPResponse>()
  private let confirmation = Promise<Void>()
  private let state: Locked<TransferState>
  private let timers: TransferTimers
  private let file = Locked<BodyFile?>(nil)
  private let openedBodies = Locked(0)

  init(
    of request: HTTPRequest, bodyLength: Int?, _ configuration: URLSessionLoader.Configuration,
    clock: any FutureClock, _ queues: SessionQueues
  ) {
    self.request = request
    self.queues = queues
    self.bodyLength = bodyLength
    let delivery = request[option: ResponseDelivery.self]
    destination = delivery.file
    onProgress = request[option: ProgressHandler.self]
    idleTimeout = request[option: RequestIdleTimeout.self] ?? configuration.idleTimeout
    timers = TransferTimers(clock)
    let bufferLimit = delivery.file == nil ? delivery.maximumSize : nil
    let rules = TransferState.Rules(
      expectsBody: request.method.inUpperCase != .head,
      maximumBodySize: max(0, bufferLimit ?? configuration.maximumBodySize),
      maximumFileSize: delivery.file == nil ? nil : max(0, delivery.maximumSize ?? .max),
      idleTimeout: idleTimeout, reportsProgress: onProgress != nil, bodyLength: bodyLength)
    state = Locked(TransferState(rules, now: clock.now))
    promise.future.named(request.description)
  }

  var future: Future<HTTPResponse> { promise.future }

  /// Completes when the platform has let go of the task, also if the future has ended long before.
  var confirmed: Future<Void> { confirmation.future }

  func start(timeout: Duration?) -> Future<HTTPResponse> {
    promise.onRequestCancel { [weak self] received in
      self?.act { $0.cancelAsked(isForced: received.options.contains(.forceImmediately)) }
      return .continue
    }
    if let timeout {
      timers.set(.total, after: timeout) { [weak self] in self?.act { $0.deadlinePassed() } }
    }
    if let idleTimeout { watchIdling(idleTimeout) }
    return promise.future
  }

  /// Stops it, also if its future is marked as shared and others want it.
  func reset() {
    future.cancel(reason: Transfer.resetReason)
    act { $0.cancelAsked() }
  }

  private static let resetReason: CancellationReason = "the loader was reset"

  /// Starts the task that `makeTask` makes, unless nobody wants it any more. Called once, on the queue of commands.
  ///
  /// - Returns: whether it was made.
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

  /// Read only where it matters.
  private var now: Duration { idleTimeout == nil ? .zero : timers.now }
}

// MARK: - Doing what the state says

extension Transfer {
  /// Tells the state what happened, and does what it answers, outside its lock.
  private func act(_ event: (inout TransferState) -> TransferState.Action) {
    perform(state.withLock { event(&$0) })
  }

  private func perform(_ first: TransferState.Action) {
    var action = first
    while case .work(let work) = action {
      let fault = failure(of: work)
      action = state.withLock { $0.worked(fault) }
    }
    switch action {
    case .none, .work: break
    case .stop: stop()
    case .end(let ending, let stopsTransport):
      timers.end()
      if stopsTransport { stop() }
      complete(ending)
    }
  }

  /// Does the work, and returns why it failed.
  private func failure(of work: TransferState.Work) -> HTTPError? {
    do throws(HTTPError) {
      if work.opensFile, let destination { file.value = try BodyFile(for: destination) }
      if let data = work.writing { try file.value?.append(data) }
    } catch {
      return error
    }
    if let progress = work.progress, !promise.future.isCompleted { onProgress?(progress) }
    return nil
  }

  private func complete(_ ending: TransferState.Ending) {
    let file = file.withLock { $0.take() }
    if case .file(let head) = ending {
      do throws(HTTPError) {
        promise.succeed(try delivered(head, file))
      } catch {
        promise.fail(error.naming(request))
      }
      return
    }
    file?.discard()
    switch ending {
    case .response(let head, let body):
      promise.succeed(
        HTTPResponse(
          to: request, status: head.status, headers: head.headers, content: .data(body),
          hidesLocation: head.hidesLocation))
    case .failure(let error): promise.fail(error.naming(request))
    case .cancelled, .file: promise.completeCancelled(promise.cancelRequest == nil ? Transfer.resetReason : nil)
    }
  }

  /// Gives the file its final name.
  private func delivered(_ head: TransferState.Head, _ file: BodyFile?) throws(HTTPError) -> HTTPResponse {
    guard let file, let destination else {
      throw HTTPError(.unwritableBody, "The body's file was never opened. Report this as a bug of the loader.")
    }
    try file.commit()
    return HTTPResponse(
      to: request, status: head.status, headers: head.headers, content: .file(destination, size: file.size))
  }

  private func stop() {
    queues.commands.async { [self] in
      if let task = task.value { task.cancel() }
    }
  }
}

// MARK: - What the session reports

extension Transfer {
  func headArrived(_ response: HTTPURLResponse) {
    let head = TransferState.Head(response)
    let now = now
    act { $0.headArrived(head, now: now) }
  }

  func dataArrived(_ data: Data) {
    let now = now
    act { $0.dataArrived(data, now: now) }
  }

  func bodySent(_ count: Int64) {
    let now = now
    act { $0.bodySent(Int(clamping: count), now: now) }
  }

  func challengeRefused() {
    state.withLock { $0.challengeRefused() }
  }

  /// - Parameter response: the answer that the task has. On Linux it has one that was never reported, if the answer
  ///   redirects to nowhere.
  func ended(_ error: (any Error)?, _ response: URLResponse?) {
    act { state in
      if error == nil, !state.hasHead, let response = response as? HTTPURLResponse {
        return state.transportEnded(unreported: TransferState.Head(response))
      }
      return state.transportEnded(URLErrorTable.end(error, request: request, hasHead: state.hasHead))
    }
  }

  /// The platform has let go of it.
  func confirm() {
    confirmation.succeed(())
  }

  /// The body for the platform to send. It asks again where it wants to send the request again, because the peer closed a
  /// connection that had been used before. What must not be sent twice fails instead (RFC 9110, section 9.2.2).
  func openBody() -> InputStream {
    let isFirst = openedBodies.withLock { count in
      defer { count += 1 }
      return count == 0
    }
    let fault = isFirst ? nil : reasonNotToRepeat
    if let fault { act { $0.bodyFailed(fault) } }
    return BodyStream(request.body, length: bodyLength, refusal: fault) { [weak self, queues] error in
      queues.reports.addOperation { [weak self] in self?.act { $0.bodyFailed(error) } }
    }
  }

  private var reasonNotToRepeat: HTTPError? {
    if !request.method.inUpperCase.isIdempotent {
      return HTTPError(
        .connectionLost,
        "The connection was closed before it answered, and \(request.method) is not sent twice. Load "
          + "again if the server bears it.")
    }
    if !request.body.isReplayable {
      return HTTPError(
        .bodyNotReplayable,
        "The connection was closed before it answered, and the body can be sent only once. "
          + "Use data or a file.")
    }
    return nil
  }
}

extension TransferState.Head {
  fileprivate init(_ response: HTTPURLResponse) {
    let fields = HTTPHeaders.fields(of: response)
    self.init(
      status: HTTPStatus(response.statusCode), headers: HTTPHeaders(joined: fields),
      hidesFraming: BodyFraming.isHidden(in: fields), hidesLocation: HTTPHeaders.isHidden("location", in: fields))
  }
}
