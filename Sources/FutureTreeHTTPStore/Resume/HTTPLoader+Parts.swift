import Foundation
import FutureTree
import FutureTreeHTTP

extension HTTPLoader {
  /// Downloads a resource into a file, in several parts at the same time.
  ///
  /// ```swift
  /// let film = api.download(try HTTPRequest("https://example.com/film"), to: file, inParts: 4)
  /// film.cancel()  // Cancels all parts, and removes their bytes.
  /// ```
  ///
  /// The first request asks for `bytes=0-`. Its response is the beginning of part 1, and has the length and the validator of
  /// the resource. The other parts are requested with `Range` and `If-Range` (RFC 9110, sections 13.1.5 and 14.2). Each part
  /// is written at its position in one temporary file next to `file`. When part 1 is whole, the rest of its response is
  /// cancelled. Snapshots of the tree show each part by name, such as `part 2 of 4`.
  ///
  /// **File.** The file appears under its name when all parts are whole, and replaces an existing file. If the load fails or is
  /// cancelled, no file is left behind. `ResponseDelivery.file` describes the temporary file of a process that is killed, and a
  /// request with `.forceImmediately` that arrives while the file is renamed.
  ///
  /// **Repeated parts.** If the transfer of a part fails, the part is requested again from the byte at which it stopped. The
  /// other parts continue. The strategy decides as that of `Resume` does: it counts attempts since the last byte of the part, and
  /// a `RequestRetry` of the request replaces it. A server can ask for a delay of at most 2 minutes with `Retry-After`. If no
  /// attempt follows, the other parts are cancelled, and the future fails with the error of the part when they have ended. The
  /// first request is repeated only by a `Retry` of the chain until its head has arrived.
  ///
  /// **One representation.** Bytes are written only if their response has the strong `ETag`, the length and the origin of the
  /// first response. Otherwise all parts are cancelled, and the resource is loaded once more, in one part. That load can fail
  /// with the codes `representationChanged` and `resumedAtOtherOrigin`, as with `Resume`. `Last-Modified` is not used as a
  /// validator, because a response to `If-Range` need not repeat it (RFC 9110, section 15.3.7).
  ///
  /// **One part.** A resource is loaded in one part under these conditions:
  ///
  /// - It has fewer than `2 * minimumPartSize` bytes.
  /// - The server ignores the range. The response with the status 200 is the download.
  /// - The server refuses the range with the status 416, as for an empty resource. The resource is requested without a range.
  /// - The response has no strong validator, no length of the whole resource, or a `Content-Encoding`. If it does not have all
  ///   bytes, it is cancelled, and the resource is requested without a range. To avoid encodings, the request has
  ///   `Accept-Encoding: identity` unless it has an `Accept-Encoding`.
  ///
  /// A part without a strong validator is not repeated.
  ///
  /// **Cancellation.** Requests are forwarded to all parts. The future completes as `.cancelled` when all of them have ended.
  /// Dropping the future does not cancel it.
  ///
  /// **Chain.** Each request passes through the whole chain, and needs a slot of a `Throttle`. A reset cancels requests in flight,
  /// but not the pause before an attempt.
  ///
  /// - Parameters:
  ///   - request: A `GET` request without a body, a `Range` or an `If-Range`. Its delivery is replaced. Its `ProgressHandler` is
  ///     called with the bytes of all parts, one call at a time. If the load starts over, progress starts over.
  ///   - file: A file URL in an existing directory.
  ///   - count: The maximum number of parts, from 1 to 16.
  ///   - minimumPartSize: The minimum size of a part in bytes. Defaults to 1 MiB. Values below 1 are treated as 1.
  ///   - maximumSize: The maximum size of the resource in bytes. A longer one fails with the code `bodyTooLarge`. Defaults to
  ///     1 GiB. `nil` disables the limit.
  ///   - strategy: The strategy for a part that failed. Defaults to five attempts with exponential delays.
  ///   - clock: The clock that measures delays.
  ///   - random: The source of the jitter.
  ///   - fileID: The file of the call. It appears in the error of an invalid argument.
  ///   - line: The line of the call.
  /// - Returns: A future of the response, whose `content` is the file. A response with the status 206 gets the status 200. The
  ///   future fails with `InvalidArgument` if `count` or the request is invalid, with the code `unacceptableStatus` if the status
  ///   is not in 200 to 299 or has no body, and with `unwritableBody` if the file system refuses an operation.
  /// - Complexity: In memory, each part has one chunk and the bytes that wait for the file: about 512 KiB with back-pressure, and
  ///   at most 32 MiB with a transport without it.
  @discardableResult
  public func download(
    _ request: HTTPRequest, to file: URL, inParts count: Int, minimumPartSize: Int = 1 << 20,
    maximumSize: Int? = ResponseDelivery.defaultMaximumFileSize,
    retrying strategy: RetryStrategy = .exponential(attempts: 5), clock: any FutureClock = .system,
    random: RandomSource = .system, fileID: String = #fileID, line: UInt = #line
  ) -> Future<HTTPResponse> {
    if let problem = PartedDownload.problem(of: request, count) {
      return .failed(InvalidArgument("download(_:to:inParts:)", problem, fileID: fileID, line: line))
    }
    var answered = request
    answered.delivery = .file(file, maximumSize: maximumSize)
    answered.progress = nil  // A caller that keeps the response must not keep what the closure captured.
    var transfer = answered
    transfer.delivery = .stream(maximumSize: maximumSize)
    let rules = Resume.Rules(
      strategy, longestRetryAfter: .seconds(120), clock: clock, date: .system, random: random)
    let pending = PartedFile(file)
    let download = PartedDownload(
      loader: self, request: transfer, file: pending, count: count, minimumPartSize: max(1, minimumPartSize),
      rules: rules, onProgress: request[option: ProgressHandler.self])
    let last = Future.attempt {
      try answered.delivery.checkFile()
      return download.begin()
    }.map { [answered] response in
      try response.inFile(file, size: try pending.commit()).answering(answered)
    }.named("download in parts", fileID: fileID, line: line)
    last.observe { _ in pending.discard() }
    return last
  }
}

/// The loads of one download in parts.
///
///     load of bytes=0- ──► part 1 of 4 … part 4 of 4 ──► file
///                     ╲                     │ another representation
///            no ranges ╲                    ▼
///                       ╰────► load of all bytes ──► part 1 of 1 ──► file
///
/// # Invariants
/// 1. All parts have the validator, the origin and the length of one response: that of the first load (`ResumeState`).
/// 2. The download starts over once at most, and after all parts have ended.
/// 3. A response that has arrived is read, or is cancelled and awaited.
private struct PartedDownload: Sendable {
  let loader: any HTTPLoader
  /// The request for all bytes, as a stream.
  let request: HTTPRequest
  let file: PartedFile
  let count: Int
  let minimumPartSize: Int
  let rules: Resume.Rules
  let onProgress: (@Sendable (HTTPProgress) -> Void)?

  static func problem(of request: HTTPRequest, _ count: Int) -> String? {
    if !(1...16).contains(count) { return "the number of parts is \(count). Pass a number from 1 to 16." }
    if request.method != .get { return "the request has the method \(request.method). Pass a GET request." }
    if !request.body.isEmpty { return "the request has a body. Pass a request without a body." }
    guard request.headers.contains("Range") || request.headers.contains("If-Range") else { return nil }
    return "the request has a range of its own. Remove the fields Range and If-Range, or load it without parts."
  }

  func begin() -> Future<HTTPResponse> {
    guard count > 1 else { return loadWhole() }
    return .attempt {
      var first = rules.transferRequest(request)
      try first.setHeader("Range", "bytes=0-")
      return load(first) { response in
        switch response.status {
        case HTTPStatus(206):
          if let parts = parts(of: response) { return try receive(parts, response, startsOver: true) }
          return end(response, "the response cannot be divided into parts").flatMap { loadWhole() }
        case HTTPStatus(416): return loadWhole()
        default: return try receive([ResumeState(response)], response, startsOver: false)
        }
      }
    }
  }

  private func loadWhole() -> Future<HTTPResponse> {
    load(rules.transferRequest(request)) { response in
      guard response.status != HTTPStatus(206) else {
        let error = HTTPError(
          .invalidResponse, "The response has the status 206, but no range was requested. Fix the server.")
        return end(response, "the response has a range that was not requested").flatMap { .failed(error) }
      }
      return try receive([ResumeState(response)], response, startsOver: false)
    }
  }

  private func load(
    _ request: HTTPRequest, then body: @escaping @Sendable (HTTPResponse) throws -> Future<HTTPResponse>
  ) -> Future<HTTPResponse> {
    let load = loader.load(request)
    return load.onComplete { outcome in
      guard case .success(let response) = outcome else { return Completion(outcome) }
      guard let asked = load.cancelRequest else { return .completeUsing(try body(response)) }
      // The head arrived although the load was asked to cancel.
      return .completeUsing(end(response, asked.reason).flatMap { .cancelled(asked.reason) })
    }
  }

  /// Cancels the transfer of a response. Returns a future that succeeds when it has ended.
  private func end(_ response: HTTPResponse, _ reason: CancellationReason) -> Future<Void> {
    guard let transfer = response.stream?.transfer else { return .succeeded }
    transfer.cancel(reason: reason)
    return transfer.onComplete { _ in .success }
  }

  /// Returns the parts of a body whose first response has its beginning. `nil` if it must be requested without a range.
  private func parts(of response: HTTPResponse) -> [ResumeState]? {
    guard let range = response.contentRange, let bytes = range.bytes, bytes.lowerBound == 0, let total = range.total,
      !response.isEncoded
    else { return nil }
    let validator = response.strongValidator
    guard validator != nil || bytes.upperBound + 1 == total else { return nil }
    let count = validator == nil ? 1 : max(1, min(count, total / minimumPartSize))
    return (0..<count).map { index in
      let isLast = index == count - 1
      return ResumeState(
        validator: validator, origin: response.origin, total: total, position: index * (total / count),
        partEnd: count == 1 ? nil : isLast ? total : (index + 1) * (total / count))
    }
  }
}

// MARK: - Parts

extension PartedDownload {
  /// Writes the parts into the file. The returned future completes when all of them have ended.
  ///
  /// - Parameter startsOver: Whether a part of another representation lets the download start over.
  private func receive(
    _ states: [ResumeState], _ response: HTTPResponse, startsOver: Bool
  ) throws -> Future<HTTPResponse> {
    guard response.status.isSuccess, !response.status.hasNoBody else {
      throw HTTPError(
        .unacceptableStatus,
        "The resource was not downloaded. The response has the status \(response.status). See `response`.",
        response: response)
    }
    try file.begin()
    let progress = onProgress.map { PartedProgress(total: states[0].total, $0) }
    let parts = states.enumerated().map { index, state in
      part(state, index == 0 ? response.bodyStream : nil, progress).named("part \(index + 1) of \(states.count)")
    }
    for part in parts {
      part.observe { outcome in
        guard outcome.ending != .succeeded else { return }
        for other in parts { other.cancel(reason: .of(.abandoned, "another part of the download has failed")) }
      }
    }
    let whole = response.replacingContent(.data(Data()))
    return Future.allSettled(parts).onComplete { outcome in
      let outcomes = try outcome.get()
      let failures = outcomes.filter { $0.ending == .failed }
      if startsOver, failures.contains(where: \.isOfOtherRepresentation) { return .completeUsing(loadWhole()) }
      for outcome in failures + outcomes { try outcome.get() }
      return .success(whole)
    }
  }

  /// Writes a part into the file. The returned future completes when nothing of the part is in flight.
  private func part(_ state: ResumeState, _ first: HTTPBodyStream?, _ progress: PartedProgress?) -> Future<Void> {
    let (stream, writer) = HTTPBodyStream.makeStream(for: rules.transferRequest(request), clock: rules.clock)
    let transfer = stream.transfer
    let body = ResumedBody(request, rules, loader, writer)
    Task { await body.run(first, state) }
    return Future.task {
      if first != nil { await progress?.add(0) }
      var position = state.position
      for try await bytes in stream {
        try file.write(bytes, at: position)
        position += bytes.count
        await progress?.add(bytes.count)
      }
    }.onComplete { outcome in
      transfer.cancel(reason: .of(.abandoned, "the part has failed or was cancelled"))
      return .completeUsing(transfer.onComplete { _ in Completion(outcome) })
    }
  }
}

extension Outcome {
  /// Whether a part failed because its response is not of the representation of the first response.
  fileprivate var isOfOtherRepresentation: Bool {
    guard case .failure(let error as HTTPError) = self else { return false }
    return error.code == .representationChanged || error.code == .resumedAtOtherOrigin
  }
}

/// The progress of all parts.
private actor PartedProgress {
  private var received: HTTPProgress.Part
  private let onProgress: @Sendable (HTTPProgress) -> Void

  init(total: Int?, _ onProgress: @escaping @Sendable (HTTPProgress) -> Void) {
    received = HTTPProgress.Part(total: total)
    self.onProgress = onProgress
  }

  func add(_ count: Int) {
    received.completed += count
    onProgress(HTTPProgress(received: received))
  }
}

/// The file of all parts. It has a temporary name until it is committed.
///
/// The lock is held during system calls, so that a part that still runs after a forced cancellation writes nothing.
private final class PartedFile: Sendable {
  private enum State {
    case none
    case open(BodyFile)
    case ended
  }

  private let destination: URL
  private let state = Locked(State.none)

  init(_ destination: URL) {
    self.destination = destination
  }

  /// Creates the file, or removes its bytes.
  func begin() throws {
    let new = state.withLock { if case .none = $0 { true } else { false } } ? try BodyFile(for: destination) : nil
    try state.withLock { state in
      switch state {
      case .none: state = new.map(State.open) ?? .none
      case .open(let file): try file.truncate(to: 0)
      case .ended: throw CancellationError()
      }
    }
  }

  func write(_ bytes: Data, at position: Int) throws {
    try state.withLock { state in
      guard case .open(let file) = state else { throw CancellationError() }
      try file.write(bytes, at: position)
    }
  }

  /// Gives the file its name. Returns its size.
  func commit() throws -> Int {
    try state.withLock { state in
      guard case .open(let file) = state else { throw CancellationError() }
      try file.commit()
      state = .ended
      return file.size
    }
  }

  /// Removes the file. Has no effect after `commit`.
  func discard() {
    state.withLock { state in
      if case .open(let file) = state { file.discard() }
      state = .ended
    }
  }
}
