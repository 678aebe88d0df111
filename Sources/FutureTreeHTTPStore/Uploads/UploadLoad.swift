import FutureTree
import FutureTreeHTTP

/// One load of a `ResumeUploads`: the requests of an upload, one after the other.
///
/// Each request has its own future, and the future of the first request waits for all. A cancellation request therefore reaches the
/// request or the pause in flight, and no request follows it.
final class UploadLoad: Sendable {
  private struct Guarded {
    var state: UploadState
    var reported = HTTPProgress()
    var pause: Future<Void>?
    var resetReason: CancellationReason?
  }

  private let request: HTTPRequest
  private let body: UploadBody
  private let record: UploadRecord?
  private let uploadProtocol: UploadProtocol
  private let rules: Resume.Rules
  private let next: any HTTPLoader
  private let start: Duration
  private let guarded: Locked<Guarded>
  private let end = Promise<Void>()

  init(
    _ request: HTTPRequest, _ body: UploadBody, _ record: UploadRecord?, _ uploadProtocol: UploadProtocol,
    _ rules: Resume.Rules, _ next: any HTTPLoader
  ) {
    self.request = request
    self.body = body
    self.record = record
    self.uploadProtocol = uploadProtocol
    self.rules = rules
    self.next = next
    start = rules.clock.now
    guarded = Locked(
      Guarded(
        state: UploadState(
          uploadProtocol, length: body.length, isRepeatable: request.isRepeatable, continuing: record?.earlier)))
  }

  /// A future that completes when the load has ended and the record is closed.
  var ended: Future<Void> { end.future }

  /// Whether the load waits for its next attempt.
  var isWaiting: Bool { guarded.withLock { $0.pause }?.isCompleted == false }

  /// Sends the next request.
  ///
  /// - Parameter first: The future of the first request, which the caller has. After its cancellation no request is sent.
  func send(after first: Future<HTTPResponse>? = nil) throws(HTTPError) -> Future<HTTPResponse> {
    next.load(try nextRequest()).completed { [self] outcome, future in
      try received(outcome, outer: first ?? future)
    }
  }

  /// Ends the load, also if its last request is still in flight because the load was forced or detached.
  func loadEnded() {
    let pause = guarded.withLock { $0.pause }
    // The pause received no cancellation request if the load was detached: Law 4 (this future only).
    pause?.cancel()
    record?.close()
    end.succeed()
  }

  /// Ends the pause, and prevents later requests.
  func reset(_ reason: CancellationReason) {
    let pause = guarded.withLock { guarded in
      guarded.resetReason = reason
      return guarded.pause
    }
    pause?.cancel(reason: reason)
  }

  private func received(_ outcome: Outcome<HTTPResponse>, outer: Future<HTTPResponse>) throws -> Completion<
    HTTPResponse
  > {
    switch outcome {
    case .cancelled: return Completion(outcome)
    case .failure(let error): return try failed(.failure(error), outer)
    case .success(let response):
      let (verdict, upload) = try verdict(on: response)
      switch verdict {
      case .finished: return .success(finished(response))
      case .undecided: return try failed(.success(response), outer)
      case .proceeds:
        record?.write(upload)
        return proceed(after: .zero, outer, discarding: response)
      }
    }
  }

  private func verdict(on response: HTTPResponse) throws -> (UploadState.Verdict, HTTPURL?) {
    do {
      return try guarded.withLock { (try $0.state.received(response), $0.state.upload) }
    } catch {
      discard(response)
      record?.remove()
      throw (error as? HTTPError)?.naming(request) ?? error
    }
  }

  /// Decides whether another attempt follows a failure.
  private func failed(
    _ result: Result<HTTPResponse, any Error>, _ outer: Future<HTTPResponse>
  ) throws -> Completion<HTTPResponse> {
    let state = guarded.withLock { $0.state }
    let context = context(result, state)
    guard let delay = rules.delay(after: context) else {
      let response = try result.get()
      // The server has refused the request: a later load begins again.
      if state.step == .create, !context.isTransientFailure { record?.remove() }
      return .success(restored(response))
    }
    if let deadline = request.deadline, deadline.isExceeded(after: delay) {
      throw context.deadlineExceeded("The upload would be continued at byte \(state.offset)", in: delay, deadline)
    }
    guarded.withLock { $0.state.attemptFailed() }
    return proceed(after: delay, outer, discarding: try? result.get())
  }

  /// Returns the completion with the next request.
  private func proceed(
    after delay: Duration, _ outer: Future<HTTPResponse>, discarding response: HTTPResponse?
  ) -> Completion<HTTPResponse> {
    if let response { discard(response) }
    if let asked = outer.cancelRequest { return .cancelled(asked.reason) }
    let pause =
      delay > .zero ? Future<Void>.after(delay, clock: rules.clock).named(.uploadPause) : .succeeded
    let (earlier, reason) = guarded.withLock { guarded in
      defer { guarded.pause = pause }
      return (guarded.pause, guarded.resetReason)
    }
    _ = earlier  // Released here, not under the lock.
    if let reason { return .cancelled(reason) }
    return .completeUsing(
      pause.flatMap { [self] in
        if let asked = outer.cancelRequest { return .cancelled(asked.reason) }
        return try send(after: outer)
      })
  }

  private func context(_ result: Result<HTTPResponse, any Error>, _ state: UploadState) -> RetryContext {
    var (request, result) = (request, result)
    // The request for the offset follows, which can be repeated.
    if state.canRepeat { request.method = .head }
    // 409: another request has changed the offset. 423: the server has not noticed yet that the connection was lost.
    if case .success(let response) = result, state.step != .create, [409, 423].contains(response.status.code) {
      result = .failure(HTTPError(.connectionLost, "The server has not ended an earlier request of the upload."))
    }
    return RetryContext(
      request: request, attempt: state.attempt, result: result, elapsed: rules.clock.now - start, random: rules.random)
  }

  private func finished(_ response: HTTPResponse) -> HTTPResponse {
    record?.remove()
    if guarded.withLock({ $0.state.step }) == .ask { report(sent: body.length) }
    return restored(response)
  }

  private func discard(_ response: HTTPResponse) {
    response.stream?.transfer.cancel(reason: .of(.superseded, "the upload continues with another request"))
  }
}

// MARK: - Closures of the caller

extension UploadLoad {
  /// Returns the next request, with closures that count the bytes of the whole upload.
  private func nextRequest() throws(HTTPError) -> HTTPRequest {
    let state = guarded.withLock { $0.state }
    var next = try state.request(from: request, body)
    let isSent = state.step == .append || state.step == .create && uploadProtocol == .draft
    if request.progress != nil {
      let (offset, length) = (state.offset, body.length)
      next.progress = nil
      if isSent {
        if offset > 0 { report(sent: offset) }
        next.progress = { [self] progress in
          let sent = HTTPProgress.Part(completed: min(length, offset + progress.sent.completed), total: length)
          report(HTTPProgress(sent: sent, received: progress.received))
        }
      }
    }
    if !isSent {
      if request.onInterimResponse != nil { next.onInterimResponse = nil }
    } else if uploadProtocol == .draft {
      next.onInterimResponse = { [self, own = request.onInterimResponse] response in
        received(interim: response)
        own?(response)
      }
    }
    return next
  }

  private func received(interim response: HTTPResponse) {
    guard response.status.code == 104 else { return }
    let upload = guarded.withLock { $0.state.received(interim: response) ? $0.state.upload : nil }
    if let upload { record?.write(upload) }
  }

  private func report(sent: Int) {
    report(HTTPProgress(sent: HTTPProgress.Part(completed: sent, total: body.length)))
  }

  private func report(_ new: HTTPProgress) {
    guard let handler = request.progress else { return }
    let progress = guarded.withLock { guarded in
      guarded.reported = new.notLess(than: guarded.reported)
      return guarded.reported
    }
    handler(progress)
  }

  /// Returns the response with the closures of the caller in its request.
  private func restored(_ response: HTTPResponse) -> HTTPResponse {
    var sent = response.request
    sent.progress = request.progress
    sent.onInterimResponse = request.onInterimResponse
    return response.answering(sent)
  }
}

extension FutureName {
  static let resumeUploads = FutureName("ResumeUploads")
  fileprivate static let uploadPause = FutureName(
    "pause before an upload continues", activity: "waiting before the upload continues")
}
