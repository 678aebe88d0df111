import Foundation
import FutureTree
import FutureTreeHTTP

/// A layer that records requests and their responses in an ``HTTPArchive``.
///
/// ```swift
/// let recorder = HTTPRecorder()
/// let api = Retry() --> recorder --> SystemLoader()
/// _ = try await api.get("https://example.com/feed").value
/// try recorder.archive.write(to: URL(filePath: "feed.har"))
/// ```
///
/// **Secrets.** Of a request, the parts are recorded that its `Redaction` shows: by default neither its body nor the values of its
/// query, `Authorization` and `Cookie`. A part that is hidden has the value `REDACTED`, which matches every value when the archive
/// is replayed. Of a response, fields that are known to be secret, such as `Set-Cookie`, and the query of `Location` are hidden. Its
/// body is recorded, because it is what is replayed. Do not record responses whose bodies are secrets, such as those of a token
/// endpoint.
///
/// **Loads.** A failed load is recorded with its code, and a cancelled load is not recorded. The body of a stream is recorded while it
/// is read, and its entry is in the archive when the transfer has ended. A file is read again when it is complete.
///
/// **Flight recorder.** With a `FutureLog`, the recorder can stay on in production. The log has the events of each load's future and
/// of all futures connected to it. ``recording()`` returns both, also with loads that were cancelled or are in flight:
///
/// ```swift
/// let recorder = HTTPRecorder(limit: 200, maximumBodySize: 64 << 10, log: FutureLog()) { request, recorder in
///   try? recorder.recording().write(to: URL(filePath: "missed-deadline.json"))
/// }
/// let api = recorder --> Retry() --> Timeout() --> SystemLoader()
/// ```
///
/// An ``HTTPReplayer`` repeats such a recording in the recorded order.
///
/// **Memory.** The layer keeps the `limit` loads that ended last, each with at most `maximumBodySize` bytes of a body, and, with a log,
/// the loads in flight.
///
/// **Cancellation.** The layer returns the future of `next`, and holds no requests.
///
/// **Reset.** The recorded entries are removed, because they can contain data of a user. Loads in flight are not recorded.
public final class HTTPRecorder: HTTPLayer {
  /// Called with the request of a load that missed its deadline, on the thread that completed the load, outside every lock.
  public typealias MissedDeadlineHandler = @Sendable (_ request: HTTPRequest, _ recorder: HTTPRecorder) -> Void

  private struct State {
    /// The loads in flight, by number.
    var live: [Int: HTTPArchive.Entry] = [:]
    /// The loads that have ended, in the order of their ends, which are counted from 1.
    var ended: [Int: (number: Int, entry: HTTPArchive.Entry)] = [:]
    var lastNumber = 0
    var lastEnd = 0
    /// The number of resets.
    var generation = 0

    mutating func end(_ entry: HTTPArchive.Entry, _ number: Int, limit: Int) {
      live[number] = nil
      lastEnd += 1
      ended[lastEnd] = (number, entry)
      ended[lastEnd - limit] = nil
    }

    /// The loads in the order in which they began.
    var entries: [HTTPArchive.Entry] {
      (live.map { ($0.key, $0.value) } + ended.values.map { ($0.number, $0.entry) })
        .sorted { $0.0 < $1.0 }.map(\.1)
    }
  }

  /// One load.
  private struct Load {
    let number: Int
    /// The number of resets before the load.
    let generation: Int
    let began: Duration
    var entry: HTTPArchive.Entry
  }

  private let state = Locked(State())
  private let limit: Int
  private let redaction: Redaction
  private let maximumBodySize: Int
  private let log: FutureLog?
  private let date: WallClock
  private let clock: any FutureClock
  private let onMissedDeadline: MissedDeadlineHandler?

  /// Creates a recorder.
  ///
  /// - Parameters:
  ///   - limit: The maximum number of ended loads that are kept. Those that ended first are removed. `nil` keeps all. Defaults to
  ///     `nil`.
  ///   - redaction: The parts of requests that are recorded. `.nothing` also records all fields of responses.
  ///   - maximumBodySize: The maximum size of a recorded body in bytes. Defaults to 16 MiB. A larger body is omitted, and replaying
  ///     its response fails.
  ///   - log: The log of the futures of the loads. `nil`, the default, logs no events.
  ///   - date: The clock for the beginning of a load.
  ///   - clock: The clock for the duration of a load.
  ///   - onMissedDeadline: Called when a load has failed because of a timeout, or has ended without a response after the
  ///     `RequestDeadline` of its request.
  public init(
    limit: Int? = nil, redacting redaction: Redaction = .standard, maximumBodySize: Int = 16 << 20,
    log: FutureLog? = nil, date: WallClock = .system, clock: any FutureClock = .system,
    onMissedDeadline: MissedDeadlineHandler? = nil
  ) {
    self.limit = max(0, limit ?? .max)
    self.redaction = redaction
    self.maximumBodySize = max(0, maximumBodySize)
    self.log = log
    self.date = date
    self.clock = clock
    self.onMissedDeadline = onMissedDeadline
  }

  /// The completed loads, in the order in which they began.
  public var archive: HTTPArchive { HTTPArchive(entries.filter(\.response.hasOutcome)) }

  /// Returns the latest loads, also those that were cancelled or are in flight, and the events of the log.
  ///
  /// - Complexity: O(loads log loads + events log events).
  public func recording() -> FlightRecording {
    FlightRecording(exchanges: HTTPArchive(entries), futures: (log ?? FutureLog()).recording())
  }

  private var entries: [HTTPArchive.Entry] { state.value.entries }

  /// Forwards the request, and records its response.
  ///
  /// - Returns: The future of `next`.
  public func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    let (number, generation) = state.withLock { state in
      state.lastNumber += 1
      return (state.lastNumber, state.generation)
    }
    var load = Load(number: number, generation: generation, began: clock.now, entry: entry(of: request))
    let future = next.load(request)
    if let log {
      future.logged(in: log)
      load.entry._future = log.number(of: future)
      state.withLock { if $0.generation == generation { $0.live[number] = load.entry } }
    }
    future.observe { [self, load] outcome in
      record(outcome, of: load)
      if request.hasMissedDeadline(outcome) { onMissedDeadline?(request, self) }
    }
    return future
  }

  /// Removes the recorded entries.
  public func wipe(_ notes: ResetNotes) -> Future<Void> {
    let count = state.withLock { state in
      defer { (state.live, state.ended) = ([:], [:]) }
      state.generation += 1
      return state.live.count + state.ended.count
    }
    notes.wiped(count, "recorded entry", plural: "recorded entries")
    return .succeeded
  }

  private func record(_ outcome: Outcome<HTTPResponse>, of load: Load) {
    switch outcome {
    case .failure(let error): keep(load, failed(error))
    case .cancelled: keepCancelled(load)
    case .success(let response):
      guard case .stream(let stream) = response.content, let copy = stream.copy(limit: maximumBodySize) else {
        return keep(load, recorded(response, body(of: response)))
      }
      stream.transfer.observe { [self] transfer in
        switch transfer {
        case .failure(let error): keep(load, failed(error))
        case .cancelled: keepCancelled(load)
        case .success: keep(load, recorded(response, content(copy.body, size: nil, response.headers)))
        }
      }
    }
  }

  private func keepCancelled(_ load: Load) {
    if log != nil { keep(load, HTTPArchive.Entry.Response(error: HTTPArchive.cancelled)) }
  }

  private func keep(_ load: Load, _ response: HTTPArchive.Entry.Response) {
    let entry = load.entry.ended(response, after: clock.now - load.began)
    state.withLock { state in
      if state.generation == load.generation { state.end(entry, load.number, limit: limit) }
    }
  }
}

// MARK: - Entries

extension HTTPRecorder {
  /// Returns the entry of a load that begins.
  private func entry(of request: HTTPRequest) -> HTTPArchive.Entry {
    let target = redaction.target(of: request)
    var recorded = HTTPArchive.Entry.Request(method: request.method.name, url: target)
    recorded.headers = request.headers.map {
      HTTPArchive.Field(name: $0.name, value: redaction.value(of: $0, in: request))
    }
    recorded.queryString = QueryItems(target).fields
    recorded.bodySize = request.body.contentLength ?? -1
    if !request.body.isEmpty {
      let type = request.body.contentType ?? ""
      if redaction.showsBodies, case .data(let data) = request.body.content, data.count <= maximumBodySize {
        recorded.postData = HTTPArchive.Body(data, mimeType: type)
      } else {
        recorded.postData = HTTPArchive.Body(omitted: "not recorded", size: request.body.contentLength, mimeType: type)
        recorded.postData?.text = Redaction.mark
      }
    }
    let started = date.now.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    return HTTPArchive.Entry(
      startedDateTime: started, request: recorded,
      response: HTTPArchive.Entry.Response(error: HTTPArchive.pending))
  }

  private func recorded(_ response: HTTPResponse, _ content: HTTPArchive.Body) -> HTTPArchive.Entry.Response {
    var recorded = HTTPArchive.Entry.Response(status: response.status.code, content: content)
    recorded.headers = response.headers.map { field in
      HTTPArchive.Field(name: field.name, value: redaction.value(ofResponse: field, to: response.request))
    }
    recorded.redirectURL = recorded.headers.first { $0.name.lowercased() == "location" }?.value ?? ""
    recorded.bodySize = response.bodySize
    return recorded
  }

  private func failed(_ error: any Error) -> HTTPArchive.Entry.Response {
    HTTPArchive.Entry.Response(error: ((error as? HTTPError)?.code ?? .transportFailed).description)
  }

  private func body(of response: HTTPResponse) -> HTTPArchive.Body {
    switch response.content {
    case .data(let data): content(data, size: data.count, response.headers)
    case .file(let url, let size):
      content(size <= maximumBodySize ? try? Data(contentsOf: url) : nil, size: size, response.headers)
    case .stream: content(nil, size: nil, response.headers)
    }
  }

  private func content(_ data: Data?, size: Int?, _ headers: HTTPHeaders) -> HTTPArchive.Body {
    let type = headers["Content-Type"] ?? ""
    guard let data, data.count <= maximumBodySize else {
      return HTTPArchive.Body(omitted: "not recorded", size: size ?? -1, mimeType: type)
    }
    return HTTPArchive.Body(data, mimeType: type)
  }
}

extension HTTPRecorder: CustomReflectable {
  /// The number of entries. Their contents are omitted, because they may contain secrets.
  public var customMirror: Mirror { Mirror(self, children: ["archive": archive], displayStyle: .class) }
}

extension HTTPRequest {
  /// Whether a load failed because of a timeout, or has no response after its deadline.
  fileprivate func hasMissedDeadline(_ outcome: Outcome<HTTPResponse>) -> Bool {
    switch outcome {
    case .success: return false
    case .failure(let error as HTTPError) where error.code == .timedOut || error.code == .deadlineExceeded: return true
    case .failure(is TimeoutError): return true
    case .failure, .cancelled: return self.deadline?.isExceeded() ?? false
    }
  }
}
