import FutureTree
import FutureTreeHTTP

/// The transfers that follow each other for one body. It passes their bytes to one writer.
///
///     load ──► body ──failure──► pause ──► load of the rest ──► body … ──► writer
///
/// # Invariants
/// 1. At most one load, body or pause is in flight.
/// 2. After the writer was asked to stop, nothing begins, and what is in flight is cancelled.
/// 3. The writer ends when nothing is in flight.
final class ResumedBody: Sendable {
  private enum Work {
    case none
    case load(Future<HTTPResponse>)
    case body(Future<Void>)
    case pause(Future<Void>)

    func cancel(_ reason: CancellationReason) {
      switch self {
      case .none: break
      case .load(let load): load.cancel(reason: reason)
      case .body(let future), .pause(let future): future.cancel(reason: reason)
      }
    }
  }

  private struct Guarded {
    var work = Work.none
    var stopReason: CancellationReason?
    var resetReason: CancellationReason?

    /// The reason for which work must not begin.
    func refusal(of work: Work) -> CancellationReason? {
      if case .pause = work { stopReason ?? resetReason } else { stopReason }
    }
  }

  /// The request of the caller.
  private let request: HTTPRequest
  private let rules: Resume.Rules
  private let next: any HTTPLoader
  private let writer: HTTPBodyWriter
  private let start: Duration
  private let guarded = Locked(Guarded())

  init(_ request: HTTPRequest, _ rules: Resume.Rules, _ next: any HTTPLoader, _ writer: HTTPBodyWriter) {
    self.request = request
    self.rules = rules
    self.next = next
    self.writer = writer
    start = rules.clock.now
    writer.onStop { [weak self, transfer = writer.transfer] in
      self?.stop(transfer.cancelRequest?.reason ?? "the rest of the body is not needed")
    }
  }

  /// Passes the body of the first response to the writer, and the rest of it from further responses.
  ///
  /// - Parameter first: The body of the first response. `nil` if the state needs a request for all of its bytes.
  func run(_ first: HTTPBodyStream?, _ initial: ResumeState) async {
    var state = initial
    do {
      var result: Result<Void, any Error>?
      var last = first
      // The transport reports the progress of the first transfer.
      if let first { result = await copy(first, &state, onProgress: nil) }
      while let stream = try await rest(after: result, &state) {
        result = await copy(stream, &state, onProgress: request[option: ProgressHandler.self])
        last = stream
      }
      writer.finish(trailers: last?.trailers ?? HTTPHeaders())
    } catch let cancelled as FutureCancelled {
      writer.end(.cancelled(cancelled.reason))
    } catch {
      writer.fail(error)
    }
    begin(.none)
  }

  private func copy(
    _ stream: HTTPBodyStream, _ state: inout ResumeState, onProgress: (@Sendable (HTTPProgress) -> Void)?
  ) async -> Result<Void, any Error> {
    begin(.body(stream.transfer))
    do {
      for try await bytes in stream {
        let rest = try state.received(bytes)
        onProgress?(HTTPProgress(received: state.progress))
        let hasRoom = try writer.write(rest)
        if !hasRoom { _ = await writer.room().outcome }
        if state.hasOnlyOtherParts { break }
      }
      if state.hasOnlyOtherParts {
        await stream.transfer.end(.of(.abandoned, "the other parts of the body have requests of their own"))
      }
      return .success(())
    } catch {
      return .failure(error)
    }
  }

  /// Returns the stream with the rest of the body, or `nil` if the body is whole.
  private func rest(
    after result: Result<Void, any Error>?, _ state: inout ResumeState
  ) async throws -> HTTPBodyStream? {
    var failure: Result<HTTPResponse, any Error>?
    switch result {
    case nil: failure = nil
    case .success where state.isWhole(after: true): return nil
    case .success: failure = .failure(state.truncation)
    case .failure(let error as FutureCancelled): throw error
    case .failure(let error) where state.isWhole(after: false) && !error.isOfMalformedBody: return nil
    case .failure(let error): failure = .failure(error)
    }
    while true {
      if let failure { try await pause(after: failure, &state) }
      var rest = try state.request(from: rules.transferRequest(request))
      rest.progress = nil
      let outcome = await load(rest)
      if case .cancelled(let reason) = outcome { throw FutureCancelled(reason: reason) }
      let answer = Result { try outcome.get() }
      failure = answer
      guard case .success(let response) = answer, !context(answer, state).isTransientFailure else { continue }
      do {
        let maximumSize = request.delivery.maximumSize ?? .max
        return try state.accepts(response, maximumSize: maximumSize) ? response.bodyStream : nil
      } catch {
        response.stream?.transfer.cancel(reason: .of(.abandoned, "the response does not continue the body"))
        throw error
      }
    }
  }

  private func load(_ request: HTTPRequest) async -> Outcome<HTTPResponse> {
    if let reason = guarded.withLock({ $0.stopReason }) { return .cancelled(reason) }
    let load = next.load(request)
    begin(.load(load))
    return await load.outcome
  }

  /// Waits before the next attempt.
  ///
  /// - Throws: The failure, if no attempt follows it.
  private func pause(after failure: Result<HTTPResponse, any Error>, _ state: inout ResumeState) async throws {
    let context = context(failure, state)
    guard state.validator != nil, guarded.withLock({ $0.resetReason == nil }), let delay = rules.delay(after: context)
    else { throw context.failure }
    if let deadline = request.deadline, deadline.isExceeded(after: delay) {
      throw HTTPError(
        .deadlineExceeded,
        "The body would be resumed at byte \(state.position) in \(delay.rounded). The deadline is in "
          + "\(deadline.remaining.rounded). Allow more time.", underlying: context.failure)
    }
    state.attemptFailed()
    guard delay > .zero else { return }
    let pause = Future<Void>.after(delay, clock: rules.clock).named(.pause)
    begin(.pause(pause))
    defer { begin(.none) }
    try await pause.outcome.get()
  }

  private func context(_ result: Result<HTTPResponse, any Error>, _ state: ResumeState) -> RetryContext {
    RetryContext(
      request: request, attempt: state.attempt, result: result, elapsed: rules.clock.now - start, random: rules.random)
  }
}

// MARK: - Work in flight

extension ResumedBody {
  /// Registers work that has begun. Cancels it if it must not have begun.
  private func begin(_ work: Work) {
    let (replaced, reason) = guarded.withLock { guarded in
      defer { guarded.work = work }
      return (guarded.work, guarded.refusal(of: work))
    }
    _ = replaced  // Released here, not under the lock.
    if let reason { work.cancel(reason) }
  }

  private func stop(_ reason: CancellationReason) {
    let work = guarded.withLock { guarded in
      guarded.stopReason = reason
      return guarded.work
    }
    work.cancel(reason)
  }

  /// Ends the pause, and prevents the transfers after the current one.
  func reset(_ reason: CancellationReason) {
    let work = guarded.withLock { guarded in
      guarded.resetReason = reason
      return guarded.work
    }
    if case .pause = work { work.cancel(reason) }
  }

  /// Whether the body waits for its next attempt.
  var isWaiting: Bool {
    guarded.withLock { guarded in if case .pause = guarded.work { true } else { false } }
  }
}

extension RetryContext {
  /// The error that ends the body after this attempt.
  fileprivate var failure: any Error {
    switch result {
    case .failure(let error): error
    case .success(let response):
      HTTPError(
        .unacceptableStatus,
        "The request for the rest of the body failed with the status \(response.status). See `response`.",
        response: response)
    }
  }
}

extension Error {
  /// Whether the body is longer than declared, or is not the body that was declared. Such a body is never whole.
  fileprivate var isOfMalformedBody: Bool {
    switch (self as? HTTPError)?.code {
    case .invalidResponse, .ambiguousBody, .encodedBody, .bodyTooLarge: true
    default: false
    }
  }
}

extension Future<Void> {
  /// Cancels a transfer, and waits for its end.
  func end(_ reason: CancellationReason) async {
    cancel(reason: reason)
    _ = await outcome
  }
}

extension FutureName {
  fileprivate static let pause = FutureName(
    "pause before a resumption", activity: "waiting before the body continues")
}
