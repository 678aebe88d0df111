import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeTesting

/// A loader that answers requests from an `HTTPArchive`. It ends a chain, and needs no network.
///
/// ```swift
/// let replayer = HTTPReplayer(try HTTPArchive(contentsOf: URL(filePath: "Fixtures/feed.har")))
/// let api = Retry() --> replayer
/// let feed = try await api.get("https://example.com/feed").value
/// #expect(replayer.unused == [])
/// ```
///
/// Each entry answers one request. Of several entries that match, the first unused one is taken. A part with the value `REDACTED`
/// matches every value. A request without an entry fails with ``UnmatchedRequest``, which names the nearest entry.
///
/// A load completes at once. A load that failed when it was recorded fails with the same code. Bodies are delivered where the
/// request wants them: in memory, in a file or as a stream. The fields that frame a body are omitted, because archives have decoded
/// bodies.
///
/// With a `FlightRecording`, the loads of its log wait for ``replay(on:running:)``, which repeats the order in which they ended and
/// were cancelled.
///
/// A replayer can be used from any thread.
public final class HTTPReplayer: HTTPLoader {
  /// The parts of a request that an entry must have.
  public struct Matching: Sendable, Hashable {
    /// Whether the method must be equal. Defaults to `true`.
    public var method = true
    /// Whether the scheme, the host and the port must be equal. Defaults to `true`. `false` replays an archive of another server.
    public var origin = true
    /// Whether the names and values of the query must be equal, in any order. Defaults to `true`.
    public var query = true
    /// The header fields that must be equal. Defaults to none.
    public var headers: [String] = []
    /// Whether the body must be equal. Defaults to `false`.
    public var body = false

    /// Creates the default: the method, the origin, the path and the query. The path must always be equal.
    public init() {}
  }

  let entries: [HTTPArchive.Entry]
  /// The recorded order of external events. Empty without a recording.
  let steps: [ReplayStep]
  /// The entries whose loads end at a step.
  private let ordered: Set<Int>
  private let matching: Matching
  private let repeats: Bool
  private let used = Locked<Set<Int>>([])
  /// The loads that wait for a step, by the index of their entry.
  let waiting = Locked<[Int: WaitingLoad]>([:])

  /// Creates a replayer.
  ///
  /// - Parameters:
  ///   - archive: The recorded requests and responses.
  ///   - matching: The parts of a request that an entry must have.
  ///   - repeats: Whether the last matching entry answers again when all have been used. Defaults to `false`.
  public convenience init(_ archive: HTTPArchive, matching: Matching = Matching(), repeats: Bool = false) {
    self.init(archive.entries.filter(\.response.hasOutcome), [], matching, repeats)
  }

  /// Creates a replayer that repeats the order of a recording.
  ///
  /// ```swift
  /// let recording = try FlightRecording(Data(contentsOf: URL(filePath: "missed-deadline.json")))
  /// let replayer = HTTPReplayer(recording)
  /// let feed = Feed(api: Retry(clock: clock) --> replayer, clock: clock)
  /// try replayer.replay(on: clock)
  /// ```
  ///
  /// A load that had completed when the recorder received it, or whose events the log has dropped, completes at once. Each other
  /// load waits for its step.
  ///
  /// - Parameters:
  ///   - recording: The recorded loads and events.
  ///   - matching: The parts of a request that an entry must have.
  public convenience init(_ recording: FlightRecording, matching: Matching = Matching()) {
    let entries = recording.exchanges.entries
    self.init(entries, ReplayStep.all(of: entries, recording.futures), matching, false)
  }

  private init(_ entries: [HTTPArchive.Entry], _ steps: [ReplayStep], _ matching: Matching, _ repeats: Bool) {
    self.entries = entries
    self.steps = steps
    ordered = Set(steps.filter(\.event.isEnd).map(\.entry))
    self.matching = matching
    self.repeats = repeats
  }

  /// The entries that have answered no request: the method and the URL of each, without the values of the query.
  public var unused: [String] {
    let used = used.value
    return entries.indices.filter { !used.contains($0) }.map { entries[$0].request.summary }
  }

  /// Answers the request from the archive.
  ///
  /// - Returns: A future that has completed, or that waits for its step of a recording. It fails with `UnmatchedRequest` if no unused entry matches.
  public func load(_ request: HTTPRequest) -> Future<HTTPResponse> {
    .attempt {
      let candidates = entries.map { mismatches(of: request, and: $0.request) }
      let matches = candidates.indices.filter { candidates[$0].isEmpty }
      let index = used.withLock { used -> Int? in
        let index = matches.first { !used.contains($0) } ?? (repeats ? matches.last : nil)
        if let index { used.insert(index) }
        return index
      }
      guard let index else { throw unmatched(request, candidates) }
      let response = entries[index].response
      if ordered.contains(index) || response.isPending { return wait(for: index, request) }
      guard response.hasOutcome else { return .cancelled("the load was cancelled when it was recorded") }
      return .succeeded(try response.response(to: request).delivered(for: request))
    }.named(request.description)
  }

  /// Does nothing: the entries that were used remain used.
  public func reset() -> Future<Void> { .succeeded }
}

extension HTTPReplayer {
  private func wait(for index: Int, _ request: HTTPRequest) -> Future<HTTPResponse> {
    let promise = Promise<HTTPResponse>()
    waiting.withLock { $0[index] = WaitingLoad(request: request, promise: promise) }
    return promise.future
  }

  /// Returns the parts that differ, without their values.
  private func mismatches(of request: HTTPRequest, and recorded: HTTPArchive.Entry.Request) -> [String] {
    var parts: [String] = []
    if matching.method, request.method.name != recorded.method { parts.append("the method") }
    let url = try? HTTPURL(received: recorded.url)
    // The path of a request without a URL is recorded alone.
    let path = url?.path ?? String(recorded.url.prefix { $0 != "?" && $0 != "#" })
    if matching.origin, request.url?.origin != url?.origin { parts.append("the host") }
    if request.path.drop(while: { $0 == "/" }) != path.drop(while: { $0 == "/" }) { parts.append("the path") }
    let items = QueryItems(url?.query.map { "?" + $0 } ?? recorded.url).fields
    if matching.query, !hasQuery(request, items) { parts.append("the query") }
    for name in matching.headers where !hasValues(of: name, request, recorded) { parts.append("the header \(name)") }
    if matching.body, !hasBody(request, of: recorded) { parts.append("the body") }
    return parts
  }

  private func hasQuery(_ request: HTTPRequest, _ recorded: [HTTPArchive.Field]) -> Bool {
    var (sent, recorded) = (QueryItems("?" + (request.query ?? "")).fields, recorded)
    let names = Set(recorded.map(\.name))
    // An item without `=` is hidden with its name.
    for hidden in recorded where hidden == HTTPArchive.Field(name: Redaction.mark, value: "") {
      guard let index = sent.firstIndex(where: { $0.value.isEmpty && !names.contains($0.name) }) else { return false }
      sent.remove(at: index)
      recorded.remove(at: recorded.firstIndex(of: hidden)!)
    }
    let hidden = Set(recorded.filter { $0.value == Redaction.mark }.map(\.name))
    let visible = { (fields: [HTTPArchive.Field]) in
      fields.map { [$0.name, hidden.contains($0.name) ? "" : $0.value] }.sorted { $0.lexicographicallyPrecedes($1) }
    }
    return visible(sent) == visible(recorded)
  }

  private func hasValues(of name: String, _ request: HTTPRequest, _ recorded: HTTPArchive.Entry.Request) -> Bool {
    let values = recorded.headers.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    return values.contains(Redaction.mark) || request.headers.values(for: name) == values
  }

  private func hasBody(_ request: HTTPRequest, of recorded: HTTPArchive.Entry.Request) -> Bool {
    guard let body = recorded.postData else { return request.body.isEmpty }
    if body.text == Redaction.mark { return true }
    guard case .data(let data) = request.body.content else { return false }
    return data == body.data
  }

  private func unmatched(_ request: HTTPRequest, _ candidates: [[String]]) -> UnmatchedRequest {
    let used = used.value
    // Of entries that are equally near, an unused one.
    let nearest = candidates.indices.min { first, second in
      (candidates[first].count, used.contains(first) ? 1 : 0) < (
        candidates[second].count, used.contains(second) ? 1 : 0
      )
    }
    return UnmatchedRequest(
      request: request.description, nearest: nearest.map { entries[$0].request.summary },
      differences: nearest.map { candidates[$0] } ?? [])
  }
}

/// The error of a request for which an archive has no unused entry.
public struct UnmatchedRequest: Error, Hashable, CustomStringConvertible {
  /// The method and the URL of the request, without the query.
  public let request: String
  /// The method and the URL of the nearest entry, without the values of the query. `nil` if the archive is empty.
  public let nearest: String?
  /// The parts in which the nearest entry differs, without their values. Empty if the entry was used before.
  public let differences: [String]

  public var description: String {
    let advice = "Record again, or match fewer parts."
    guard let nearest else {
      return "HTTPReplayer has no entry for \(request), because its archive is empty. \(advice)"
    }
    guard !differences.isEmpty else {
      return
        "HTTPReplayer has no more entries for \(request): the entry \(nearest) was used before. Record the request as "
        + "often as it is loaded, or replay with `repeats`."
    }
    return "HTTPReplayer has no entry for \(request). The nearest entry is \(nearest), which differs in "
      + "\(differences.joined(separator: " and ")). \(advice)"
  }
}

extension HTTPArchive.Entry.Request {
  /// The method and the URL, without the values of the query.
  var summary: String {
    let names = QueryItems(url).fields.map(\.name).joined(separator: ", ")
    return "\(method) \(url.prefix { $0 != "?" && $0 != "#" })" + (names.isEmpty ? "" : " with the query \(names)")
  }
}

extension HTTPArchive.Entry.Response {
  /// The response to a request.
  ///
  /// - Throws: The error with which the load failed, or `InvalidArchive` if its body was not recorded.
  func response(to request: HTTPRequest) throws -> HTTPResponse {
    let status = HTTPStatus(status)
    guard (100...999).contains(status.code) else {
      throw HTTPError(
        _error.map { HTTPError.Code($0) } ?? .transportFailed,
        "The load of \(request) failed when it was recorded. Record it again.")
    }
    // Other tools state the size of the body that a response to `GET` has.
    guard let body = status.hasNoBody || request.method == .head ? Data() : content.data else {
      throw InvalidArchive(reason: "the body of the response to \(request) was not recorded")
    }
    var headers = HTTPHeaders()
    for field in self.headers where !Self.framing.contains(field.name.lowercased()) {
      // Archives of browsers have names such as `:status`.
      if let field = try? HTTPHeaders.Field(received: field.name, field.value) { headers.add(field) }
    }
    return HTTPResponse(to: request, status: status, headers: headers, body: body)
  }

  private static let framing: Set = ["content-encoding", "content-length", "transfer-encoding"]
}

extension HTTPReplayer {
  /// Repeats the order and the times in which the recorded loads ended and received cancellation requests.
  ///
  /// ```swift
  /// let replayer = HTTPReplayer(recording)
  /// let feed = Feed(api: Retry(clock: clock) --> replayer, clock: clock)  // Begins its first load.
  /// try replayer.replay(on: clock)
  /// ```
  ///
  /// The first load of the recording begins now. Before each step, the clock is advanced to the time of the step, and the timers that
  /// are due run in order. Jobs of the executor run after each timer and each step, in the order in which they were added.
  ///
  /// - A recorded response, or error, completes its load.
  /// - A recorded cancellation request is made again, with its options and its reason. It is made of the load, and not of the derived
  ///   future that the program cancelled. As when it was recorded, the load ends at its own step.
  /// - A load that was in flight at the end of the recording remains pending.
  ///
  /// - Parameters:
  ///   - clock: The clock of the program.
  ///   - executor: The executor of the program. `nil`, the default, runs no jobs.
  /// - Throws: ``ReplayDiverged`` if the program has not begun a load whose step is next. Earlier steps were performed.
  public func replay(on clock: ManualClock, running executor: ManualExecutor? = nil) throws {
    guard let first = steps.first else { return }
    let offset = clock.now - first.time
    executor?.runAll()
    for step in steps {
      let time = step.time + offset
      while let deadline = clock.nextDeadline, deadline <= time {
        clock.advanceToNextTimer()
        executor?.runAll()
      }
      if time > clock.now { clock.advance(by: time - clock.now) }
      guard step.event != .began else { continue }
      guard let load = waiting.withLock({ $0[step.entry] }) else {
        throw ReplayDiverged(request: entries[step.entry].request.summary, step: "\(step.event)")
      }
      perform(step, load)
      executor?.runAll()
    }
  }

  private func perform(_ step: ReplayStep, _ load: WaitingLoad) {
    switch step.event {
    case .began: break
    case .cancelRequested(let request): load.promise.future.cancel(request.options, reason: request.reason)
    case .cancelled(let reason): load.promise.completeCancelled(reason)
    case .answered:
      do {
        load.promise.succeed(try entries[step.entry].response.response(to: load.request).delivered(for: load.request))
      } catch {
        load.promise.fail(error)
      }
    }
  }
}

/// A load of a replayer that waits for its step.
struct WaitingLoad {
  let request: HTTPRequest
  let promise: Promise<HTTPResponse>
}

/// One recorded event that comes from outside of the program.
struct ReplayStep: Sendable {
  enum Event: Sendable, Equatable, CustomStringConvertible {
    /// The load began. Marks the time of the first step.
    case began
    case cancelRequested(CancelRequest)
    case cancelled(CancellationReason)
    case answered

    /// Whether the load ends.
    var isEnd: Bool {
      switch self {
      case .began, .cancelRequested: false
      case .cancelled, .answered: true
      }
    }

    var description: String {
      switch self {
      case .began: "the load"
      case .cancelRequested: "the cancellation request"
      case .cancelled: "the cancellation"
      case .answered: "the response"
      }
    }
  }

  /// The index of the entry.
  let entry: Int
  let time: Duration
  let event: Event

  /// Returns the steps of a recording, in the order of its events.
  static func all(of entries: [HTTPArchive.Entry], _ log: FutureLog.Recording) -> [ReplayStep] {
    var indices: [Int: Int] = [:]
    for (index, entry) in entries.enumerated() { entry._future.map { indices[$0] = index } }
    return log.events.compactMap { event in
      guard let entry = indices[event.future] else { return nil }
      let step: Event
      switch event.fact {
      case .joined, .created: step = .began
      case .cancelRequested(let request): step = .cancelRequested(request)
      case .cancelled(let reason): step = .cancelled(reason)
      case .succeeded, .failed: step = .answered
      case .named, .linked, .activity, .withheld, .released: return nil
      }
      return ReplayStep(entry: entry, time: event.time, event: step)
    }
  }
}

/// The error of a replay whose program behaves differently than the recorded one.
public struct ReplayDiverged: Error, Hashable, CustomStringConvertible {
  /// The method and the URL of the request that the program has not loaded.
  public let request: String
  /// The recorded event of that load, such as `the response`.
  public let step: String

  public var description: String {
    "The replay has stopped before \(step) of \(request): the program has not loaded this request yet. Give the program the clock of "
      + "the replay, and its executor, or record again."
  }
}

extension UnmatchedRequest: LocalizedError {
  /// The same text as `description`.
  public var errorDescription: String? { description }
}

extension ReplayDiverged: LocalizedError {
  /// The same text as `description`.
  public var errorDescription: String? { description }
}
