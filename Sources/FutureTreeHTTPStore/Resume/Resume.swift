import Foundation
import FutureTree
import FutureTreeHTTP

/// A layer that requests the rest of a body after the connection failed.
///
/// ```swift
/// let api =
///   Autocancel() --> ApplyEnvironment(production) --> Resume() --> Retry() --> Timeout(idle: .seconds(30))
///   --> SystemLoader()
///
/// let film = try await api.stream("films/\(id)").value
/// for try await chunk in film.bodyStream { decode(chunk) }  // One body, even if a connection fails in the middle.
/// ```
///
/// If the transfer of a stream fails, the layer requests the rest of the body and appends it. The caller sees the first
/// response and one transfer, which completes when the whole body has arrived.
///
/// **Files.** With a `directory`, the layer also continues bodies that are delivered to files (`ResponseDelivery.file`), even
/// in a later run of the program:
///
/// ```swift
/// let downloads = Resume(directory: caches.appendingPathComponent("downloads"))
/// let api = Autocancel() --> ApplyEnvironment(production) --> downloads --> SystemLoader()
///
/// api.download("films/\(id)", to: file)  // Cancel it, or quit. The next call continues.
/// ```
///
/// - A load that is cancelled or fails leaves the received bytes in the directory. The next load of the URL continues with
///   them. If the resource has changed in between, or comes from another origin, the load begins again.
/// - The bytes are removed when the body is whole, and by a reset. They are also removed after a failure that the next load
///   cannot continue: `representationChanged`, `resumedAtOtherOrigin`, `invalidResponse`, `bodyTooLarge` or
///   `unwritableBody`.
/// - The response is the first response of this load. If its status is 206, it gets the status 200 and the length of the
///   whole body, and loses its `Content-Range`.
/// - Two loads of one URL at the same time do not share the bytes: the second is loaded without this layer.
/// - A request that has only a path fails with the code `missingHost`, because other hosts can have the same path. Put
///   `ApplyEnvironment` before this layer.
///
/// A body is resumed under these conditions:
///
/// - The method is `GET`, the request asks for a stream or a file, and has no `Range` of its own.
/// - The response has the status 200 and a strong validator: an `ETag` without `W/`. It has no `Content-Encoding`, so the
///   layer sets `Accept-Encoding: identity` unless the request has an `Accept-Encoding`.
/// - The server does not refuse ranges with `Accept-Ranges: none`.
/// - The strategy allows another attempt. The interrupted transfer is the first attempt, and each request for the rest is
///   a further one. By default, there are five attempts, with exponential delays: four consecutive requests for the rest
///   without a byte of the body. They follow transient failures (`RetryContext.isTransientFailure`). Each byte starts the
///   count again.
///
/// Other loads pass through. A `RequestRetry` of the request replaces the strategy. The layer waits at least as long as
/// `Retry-After` asks. If that is longer than `longestRetryAfter`, there is no further attempt, and the transfer fails with
/// the code `unacceptableStatus`. If the next attempt would begin after the `RequestDeadline`, the transfer fails with the
/// code `deadlineExceeded`.
///
/// **One representation.** The layer sends `Range` and `If-Range` (RFC 9110, sections 13.1.5 and 14.2). It appends bytes
/// only if the response proves that they belong to the representation of the first response: by the range, the length and
/// the validator. Otherwise the transfer fails with the code `representationChanged`, and with `resumedAtOtherOrigin` if
/// the response comes from another origin. If a server ignores the range and sends the same representation again, the
/// bytes that were received before are skipped.
///
/// **Slow readers.** A transport without back-pressure fails with the code `streamOverflow` if the reader is slower than
/// the server. This is a transient failure: the layer continues when the reader has read what was received.
///
/// **Cancellation.** Cancelling the transfer, or dropping the stream, cancels what is in flight: the current body, the
/// request for the rest, or the pause. The transfer completes when it has ended.
///
/// **Reset.** Bodies that wait for their next attempt complete as `.cancelled`. Bodies in flight are not cancelled by this
/// layer (an `Autocancel` before it does that), and are not resumed. When the loads to files have ended, the partial files
/// in the directory are removed, except those that another process uses.
///
/// **Order.** Layers before this one see the whole body, layers after it see each attempt. Put `Timeout(idle:)` after it,
/// so that a silent connection fails and the layer requests the rest. Put `Throttle` after it, so that a pause holds no
/// slot.
///
/// **In two chains.** A reset of either chain ends the pauses of both.
public final class Resume: HTTPLayer {
  /// What determines when a body, or an upload, is continued.
  struct Rules: Sendable {
    let strategy: RetryStrategy
    let longestRetryAfter: Duration
    let clock: any FutureClock
    let date: WallClock
    let random: RandomSource

    init(
      _ strategy: RetryStrategy, longestRetryAfter: Duration, clock: any FutureClock, date: WallClock,
      random: RandomSource
    ) {
      self.strategy = strategy
      self.longestRetryAfter = longestRetryAfter.clampedToMaximumTimerDuration
      self.clock = clock
      self.date = date
      self.random = random
    }
  }

  private struct Bodies {
    var last = 0
    var live: [Int: ResumedBody] = [:]
    /// The ends of the loads to files.
    var files: [Int: Future<Void>] = [:]

    mutating func nextNumber() -> Int {
      last += 1
      return last
    }
  }

  let rules: Rules
  private let directory: URL?
  private let bodies = Locked(Bodies())

  /// Creates the layer.
  ///
  /// - Parameters:
  ///   - strategy: The strategy for requests that have no strategy of their own (`RequestRetry`). It counts attempts since
  ///     the last received byte, including the interrupted transfer.
  ///   - directory: The directory of the bodies that a later load continues. It belongs to this layer, and is created if it
  ///     is missing. Several processes can use it. Defaults to `nil`: only streams are resumed.
  ///   - longestRetryAfter: The longest delay that a server may ask for. If it asks for a longer one, the body is not
  ///     resumed. Defaults to 2 minutes. Values below 0 are treated as 0.
  ///   - clock: The clock that measures delays.
  ///   - date: The clock for the date in `Retry-After`. It is used if the response has no `Date`.
  ///   - random: The source of the jitter.
  public init(
    _ strategy: RetryStrategy = .exponential(attempts: 5), directory: URL? = nil,
    longestRetryAfter: Duration = .seconds(120), clock: any FutureClock = .system, date: WallClock = .system,
    random: RandomSource = .system
  ) {
    self.directory = directory
    rules = Rules(strategy, longestRetryAfter: longestRetryAfter, clock: clock, date: date, random: random)
  }

  /// Loads the request. If its body is a stream, the layer reads it and passes it on.
  public func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    let delivery = request.delivery
    guard Resume.canResume(request) else { return next.load(request) }
    if let directory, let file = delivery.file {
      guard request.url != nil else { return .failed(Resume.missingHost.naming(request)) }
      return loadFile(request, to: file, in: directory, next: next)
    }
    guard delivery.isStream else { return next.load(request) }
    return next.load(rules.transferRequest(request)).map { [self] response in
      guard let first = response.stream else { return response }
      let (stream, writer) = HTTPBodyStream.makeStream(for: request, clock: rules.clock)
      begin(ResumedBody(request, rules, next, writer), first, ResumeState(response))
      return response.replacingContent(.stream(stream))
    }.named(.resume)
  }

  private static let missingHost = HTTPError(
    .missingHost,
    "The request has no host, so the bytes of its body cannot be kept for a later run. Put `ApplyEnvironment` before "
      + "`Resume`.")

  private static func canResume(_ request: HTTPRequest) -> Bool {
    request.method == .get && !request.headers.contains("Range") && !request.headers.contains("If-Range")
  }

  func begin(_ body: ResumedBody, _ first: HTTPBodyStream, _ state: ResumeState) {
    let number = bodies.withLock { bodies in
      let number = bodies.nextNumber()
      bodies.live[number] = body
      return number
    }
    Task {
      await body.run(first, state)
      bodies.release { $0.live.removeValue(forKey: number) }
    }
  }

  /// Registers a load to a file. Complete the promise when the load has ended.
  func beginFile() -> Promise<Void> {
    let ended = Promise<Void>()
    let number = bodies.withLock { bodies in
      let number = bodies.nextNumber()
      bodies.files[number] = ended.future
      return number
    }
    ended.future.observe { [weak self] _ in
      self?.bodies.release { $0.files.removeValue(forKey: number) }
    }
    return ended
  }

  /// Cancels the pauses. No transfer follows the current one.
  public func drain(_ notes: ResetNotes) -> Future<Void> {
    let live = bodies.withLock { $0.live.sorted { $0.key < $1.key }.map(\.value) }
    for body in live { body.reset(.chainReset) }
    return .succeeded
  }

  /// Removes the partial files that no other process uses, when this process has closed them.
  public func wipe(_ notes: ResetNotes) -> Future<Void> {
    guard let directory else { return .succeeded }
    let files = bodies.withLock { Array($0.files.values) }
    return Future.allSettled(files).flatMap { _ in Future<Void> { try PartialFile.removeAll(in: directory) } }
      .map { notes.wiped("the partial downloads") }
  }

  /// The number of bodies that have not ended.
  package var liveCount: Int { bodies.withLock { $0.live.count } }

  /// The number of bodies that wait for their next attempt.
  package var waitingCount: Int {
    bodies.withLock { Array($0.live.values) }.count { $0.isWaiting }
  }
}

extension Resume.Rules {
  /// Returns the request for one transfer. The caller's limits of time apply to the whole body, so no limit applies to the
  /// time between two reads of a transfer.
  func transferRequest(_ request: HTTPRequest) -> HTTPRequest {
    var transfer = request
    transfer.delivery = request.delivery.forTransfer
    transfer.addMissing(Resume.identity)
    return transfer
  }

  /// Returns the delay before the next attempt, or `nil` for none.
  func delay(after context: RetryContext) -> Duration? {
    context.delay(strategy, longestRetryAfter: longestRetryAfter, now: date)
  }
}

extension Resume {
  fileprivate static let identity: HTTPHeaders = {
    do { return try HTTPHeaders(["Accept-Encoding": "identity"]) } catch {
      preconditionFailure("Valid fields: \(error)")
    }
  }()
}

extension FutureName {
  static let resume = FutureName("Resume")
}

// A body for a file is received as a stream, written to a partial file, and moved to its destination.

extension Resume {
  /// Loads a request whose body is delivered to a file. Continues the partial file of an earlier load.
  func loadFile(
    _ request: HTTPRequest, to destination: URL, in directory: URL, next: any HTTPLoader
  ) -> Future<HTTPResponse> {
    let ended = beginFile()
    return Future.task { [self] in
      defer { ended.succeed() }
      try request.delivery.checkFile()
      guard let file = try PartialFile(of: request, in: directory, for: destination) else {
        return try await next.load(request).outcome.get()
      }
      do {
        return try await receive(request, into: file, at: destination, next: next)
      } catch let error as HTTPError where error.code == .streamOverflow {
        // The body cannot be resumed, and arrives faster than it is written. Only the transport can write it.
        file.discard()
        return try await next.load(request).outcome.get()
      } catch {
        if error.endsPartialFile { file.discard() } else { file.keep() }
        throw error
      }
    }.named(.resume)
  }

  private func receive(
    _ request: HTTPRequest, into file: PartialFile, at destination: URL, next: any HTTPLoader
  ) async throws -> HTTPResponse {
    let onProgress = request[option: ProgressHandler.self]
    var request = request
    request.progress = nil
    let (response, state) = try await begin(request, file, next: next)
    guard let state else {
      file.keep()
      return response
    }
    var progress = state.progress
    onProgress?(HTTPProgress(received: progress))
    let (stream, writer) = HTTPBodyStream.makeStream(for: rules.transferRequest(request), clock: rules.clock)
    begin(ResumedBody(request, rules, next, writer), response.bodyStream, state)
    do {
      for try await bytes in stream {
        try file.append(bytes)
        progress.completed = file.size
        onProgress?(HTTPProgress(received: progress))
      }
    } catch {
      await stream.transfer.end(.of(.abandoned, "the file failed or was cancelled"))
      throw error
    }
    try file.commit()
    return try response.inFile(destination, size: file.size)
  }

  /// Loads the first response. Prepares the file for its body.
  ///
  /// - Returns: The response and the state of its body. The state is `nil` if the body does not belong into the file.
  private func begin(
    _ request: HTTPRequest, _ file: PartialFile, next: any HTTPLoader
  ) async throws -> (HTTPResponse, ResumeState?) {
    let maximumSize = request.delivery.maximumSize ?? .max
    if var state = try file.makeState() {
      let rest = try state.request(from: rules.transferRequest(request))
      let response = try await next.load(rest).outcome.get()
      if response.status == HTTPStatus(206), let continues = try? state.accepts(response, maximumSize: maximumSize),
        continues
      {
        return (response, state)
      }
      if response.status != HTTPStatus(206), response.status != HTTPStatus(416) {
        return (response, try file.restart(with: response))
      }
      // The file belongs to another representation or another origin.
      response.stream?.transfer.cancel(reason: .of(.abandoned, "the response does not continue the file"))
    }
    try Task.checkCancellation()
    let response = try await next.load(rules.transferRequest(request)).outcome.get()
    return (response, try file.restart(with: response))
  }
}

extension PartialFile {
  /// Removes the bytes if the body of a response replaces them. Returns the state of that body.
  fileprivate func restart(with response: HTTPResponse) throws(HTTPError) -> ResumeState? {
    guard response.status.isSuccess, !response.status.hasNoBody else { return nil }
    let state = ResumeState(response)
    try restart(state)
    return state
  }
}

extension HTTPResponse {
  /// Returns the response that a single load of the whole body would have.
  func inFile(_ url: URL, size: Int) throws(HTTPError) -> HTTPResponse {
    guard status == HTTPStatus(206) else { return replacingContent(.file(url, size: size)) }
    var headers = headers
    headers.remove("Content-Range")
    try headers.set("Content-Length", String(size))
    return HTTPResponse(to: request, status: .ok, headers: headers, content: .file(url, size: size), trailers: trailers)
  }
}

extension Error {
  /// Whether a later load cannot continue the file after this error.
  fileprivate var endsPartialFile: Bool {
    switch (self as? HTTPError)?.code {
    case .unwritableBody, .bodyTooLarge, .representationChanged, .resumedAtOtherOrigin, .invalidResponse: true
    default: false
    }
  }
}
