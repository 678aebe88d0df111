import Foundation
import FutureTree
import FutureTreeHTTP

/// A layer that continues uploads after the connection failed, in a later run, or after a cancellation.
///
/// ```swift
/// let uploads = ResumeUploads(.tus, directory: caches.appendingPathComponent("uploads"))
/// let api = Autocancel() --> ApplyEnvironment(production) --> uploads --> Timeout(idle: .seconds(30)) --> SystemLoader()
///
/// var request = try HTTPRequest(.post, path: "films")
/// request.body = .file(film, contentType: "video/mp4")
/// api.load(request)  // Cancel it, or quit. The next load of the same file continues.
/// ```
///
/// After a failure, the layer asks the server how many bytes it has, and sends the rest of the body. The caller sees one load.
///
/// **Protocols.** The server must support the protocol of the layer:
///
/// - `UploadProtocol.tus`: The layer continues `POST` requests. It creates an upload with the fields of the request, such as
///   `Upload-Metadata` and `Authorization`, and without `Content-Type`. It sends the body with `PATCH` to the URL of the upload. The
///   response is the last one, whose `request.url` is that URL. For an empty body, it is the response to the creation.
/// - `UploadProtocol.draft`: The layer continues `POST`, `PUT` and `PATCH` requests. The first request is the request of the caller with
///   three more fields. A server without support answers it as usual. The URL of the upload arrives in an interim response
///   (104), which only `CurlLoader` reports. With other transports, an interrupted first request is not continued. The response is
///   that of the server to the whole body. If it was lost, it is the response to the request for the offset.
///
/// With tus, every `POST` with a body becomes an upload. Use a chain of its own, or limit the layer with `Route`.
///
/// **Bodies.** The layer continues files, bytes in memory, and streams that have a length and can be read again. A file that changes
/// during a load fails with the code `wrongBodyLength`. Other bodies are forwarded unchanged, and so are requests that have
/// `Tus-Resumable`, `Upload-Offset` or `Upload-Complete` of their own, requests with `trailers`, and with tus those with
/// `Content-Encoding`.
///
/// **Later loads.** With a `directory`, a load of a file is recorded when the server has announced the upload. The next load with the
/// same method, URL, file, `Content-` fields and `Upload-Metadata` continues it, also in a later run of the program.
///
/// - A record has the URL of the upload, and the size and the date of the file. It has no credentials. The URL can be enough to
///   continue the upload, so only the user can read the record. Use a directory for each account.
/// - If the file has changed, the upload begins again.
/// - The record is removed when the upload is complete, by a reset, and after a response that does not follow the protocol.
/// - If two loads of one file run at the same time, the second one has no record.
/// - If the disk refuses a record, the upload continues, and a later load begins again. A directory that cannot be used
///   fails the load with the code `storeFailed` before a request is sent.
///
/// **Attempts.** The strategy decides about another attempt after a failure. By default, there are five attempts, with exponential
/// delays, after transient failures (`RetryContext.isTransientFailure`). An offset that increases starts the count again. The
/// responses 409 (Conflict) and 423 (Locked) count as lost connections. A `RequestRetry` of the request replaces the strategy. If
/// the draft's first request fails before the upload was announced, it is repeated only if `RetryContext.isRepeatable`.
///
/// If the server does not have the upload any more (404 or 410), the layer begins again, once. With the draft, it does so only if the
/// request is repeatable, because the upload may have been completed. Otherwise the load fails with the code `unacceptableStatus`.
/// All other responses are the response of the load, also if the request for the offset is refused.
///
/// The load fails with the code `invalidResponse` if an offset is missing, is not a number or is beyond the length, and if the server
/// accepts no bytes five times. It fails with `missingHost` if the request has only a path: put `ApplyEnvironment` before the layer.
/// It fails with `deadlineExceeded` if the next attempt would begin after the `RequestDeadline`.
///
/// **Credentials.** The server chooses the URL of the upload. If it is at another origin, requests to it have no credentials, as after
/// a `Redirect`. If it leads from `https` to `http`, the load fails with the code `insecureRedirect`.
///
/// **Progress.** A `ProgressHandler` counts the bytes of the whole upload, with those of earlier loads.
///
/// **Cancellation.** A cancellation request is forwarded to the request in flight. A pause ends at once. No request follows, and the
/// record stays: the next load continues. The upload also stays at the server until the server removes it.
///
/// **Reset.** Loads that wait for their next attempt complete as `.cancelled`. Requests in flight are not cancelled by this layer (an
/// `Autocancel` before it does that), and no request follows them. When the loads have ended, the records are removed, except
/// those that another process uses.
///
/// **Order.** Put `Retry`, `Timeout(idle:)` and `Throttle` after this layer, so that they see each request, and a pause holds no slot.
///
/// **In two chains.** A reset of either chain ends the pauses of both.
public final class ResumeUploads: HTTPLayer {
  private struct Loads {
    var last = 0
    var live: [Int: UploadLoad] = [:]

    mutating func add(_ load: UploadLoad) -> Int {
      last += 1
      live[last] = load
      return last
    }
  }

  private let uploadProtocol: UploadProtocol
  private let rules: Resume.Rules
  private let directory: URL?
  private let loads = Locked(Loads())

  /// Creates the layer.
  ///
  /// - Parameters:
  ///   - uploadProtocol: The protocol that the server supports.
  ///   - directory: The directory of the records, with which a later load continues. It belongs to this layer, and is created if it
  ///     is missing. Several processes can use it. Defaults to `nil`: an upload is continued only within its load.
  ///   - strategy: The strategy for requests that have no strategy of their own (`RequestRetry`). It counts attempts since the
  ///     offset increased.
  ///   - longestRetryAfter: The longest delay that a server may ask for. If it asks for a longer one, its response is the outcome of
  ///     the load. Defaults to 2 minutes. Values below 0 are treated as 0.
  ///   - clock: The clock that measures delays.
  ///   - date: The clock for the date in `Retry-After`. It is used if the response has no `Date`.
  ///   - random: The source of the jitter.
  public init(
    _ uploadProtocol: UploadProtocol, directory: URL? = nil, strategy: RetryStrategy = .exponential(attempts: 5),
    longestRetryAfter: Duration = .seconds(120), clock: any FutureClock = .system, date: WallClock = .system,
    random: RandomSource = .system
  ) {
    self.uploadProtocol = uploadProtocol
    self.directory = directory
    rules = Resume.Rules(strategy, longestRetryAfter: longestRetryAfter, clock: clock, date: date, random: random)
  }

  /// Loads the request. If its body can be continued, the layer sends it in as many requests as are needed.
  public func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    guard isUpload(request), let body = UploadBody(request.body) else { return next.load(request) }
    do {
      let record = try record(of: request, body)
      let upload = UploadLoad(request, body, record, uploadProtocol, rules, next)
      let number = loads.withLock { $0.add(upload) }
      let load = Future.attempt { try upload.send() }.named(.resumeUploads)
      load.observe { [weak self] _ in
        upload.loadEnded()
        self?.loads.release { $0.live.removeValue(forKey: number) }
      }
      return load
    } catch {
      return .failed(error.naming(request))
    }
  }

  private func isUpload(_ request: HTTPRequest) -> Bool {
    let isTus = uploadProtocol == .tus
    let methods: [HTTPMethod] = isTus ? [.post] : [.post, .put, .patch]
    let fields = ["Tus-Resumable", "Upload-Offset", "Upload-Complete"] + (isTus ? ["Content-Encoding"] : [])
    return methods.contains(request.method) && !fields.contains { request.headers.contains($0) }
      && request.trailers == nil
  }

  private func record(of request: HTTPRequest, _ body: UploadBody) throws(HTTPError) -> UploadRecord? {
    let url = try request.requireURL()
    guard let directory, let version = body.version, case .file(let file) = request.body.content else { return nil }
    let fields = request.headers.filter { field in
      let name = field.name.lowercased()
      return name.hasPrefix("content-") || name == "upload-metadata"
    }
    let parts =
      [
        uploadProtocol.rawValue, request.method.name, url.absoluteString, file.path,
        request.body.contentType ?? "",
      ]
      + fields.map { "\($0.name.lowercased()): \($0.value)" }.sorted()
    return try UploadRecord(of: parts.joined(separator: "\n"), version, in: directory)
  }

  /// Cancels the pauses. No request follows those in flight.
  public func drain(_ notes: ResetNotes) -> Future<Void> {
    let live = loads.withLock { $0.live.sorted { $0.key < $1.key }.map(\.value) }
    for load in live { load.reset(.chainReset) }
    return .succeeded
  }

  /// Removes the records that no other process uses, when the loads of this process have ended.
  public func wipe(_ notes: ResetNotes) -> Future<Void> {
    guard let directory else { return .succeeded }
    let ends = loads.withLock { $0.live.values.map(\.ended) }
    return Future.allSettled(ends).flatMap { _ in Future<Void> { try UploadRecord.removeAll(in: directory) } }
      .map { notes.wiped("the records of uploads") }
  }

  /// The number of loads that have not ended.
  package var liveCount: Int { loads.withLock { $0.live.count } }

  /// The number of loads that wait for their next attempt.
  package var waitingCount: Int { loads.withLock { Array($0.live.values) }.count { $0.isWaiting } }
}
