import Foundation
import FutureTree
import FutureTreeHTTP

/// A layer that records requests and their responses in an ``HTTPArchive``.
///
/// ```swift
/// let recorder = HTTPRecorder()
/// let api = Retry() --> recorder --> URLSessionLoader()
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
/// **Cancellation.** The layer returns the future of `next`, and holds no requests.
///
/// **Reset.** The recorded entries are removed, because they can contain data of a user. Loads in flight are not recorded.
public final class HTTPRecorder: HTTPLayer {
  private struct State {
    var entries: [Int: HTTPArchive.Entry] = [:]
    var lastNumber = 0
    /// The number of resets.
    var generation = 0
  }

  private let state = Locked(State())
  private let redaction: Redaction
  private let maximumBodySize: Int
  private let date: WallClock
  private let clock: any FutureClock

  /// Creates a recorder.
  ///
  /// - Parameters:
  ///   - redaction: The parts of requests that are recorded. `.nothing` also records all fields of responses.
  ///   - maximumBodySize: The maximum size of a recorded body in bytes. Defaults to 16 MiB. A larger body is omitted, and replaying
  ///     its response fails.
  ///   - date: The clock for the beginning of a load.
  ///   - clock: The clock for the duration of a load.
  public init(
    redacting redaction: Redaction = .standard, maximumBodySize: Int = 16 << 20, date: WallClock = .system,
    clock: any FutureClock = .system
  ) {
    self.redaction = redaction
    self.maximumBodySize = max(0, maximumBodySize)
    self.date = date
    self.clock = clock
  }

  /// The completed loads, in the order in which they began.
  public var archive: HTTPArchive {
    var archive = HTTPArchive()
    archive.entries = state.withLock { $0.entries }.sorted { $0.key < $1.key }.map(\.value)
    return archive
  }

  /// Forwards the request, and records its response.
  ///
  /// - Returns: The future of `next`.
  public func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    let (number, generation) = state.withLock { state in
      state.lastNumber += 1
      return (state.lastNumber, state.generation)
    }
    let began = (date: date.now, time: clock.now)
    let future = next.load(request)
    future.observe { [self] outcome in
      switch outcome {
      case .cancelled: break
      case .failure(let error): keep(entry(request, failed(error), began), number, generation)
      case .success(let response):
        guard case .stream(let stream) = response.content, let copy = stream.copy(limit: maximumBodySize) else {
          return keep(entry(request, recorded(response, body(of: response)), began), number, generation)
        }
        let head = recorded(response, nil)
        stream.transfer.observe { [self] transfer in
          var recorded = head
          switch transfer {
          case .cancelled: return
          case .failure(let error): recorded = failed(error)
          case .success: recorded.content = content(copy.body, size: nil, response.headers)
          }
          keep(entry(request, recorded, began), number, generation)
        }
      }
    }
    return future
  }

  /// Removes the recorded entries, and resets `next`.
  public func reset(next: any HTTPLoader) -> Future<Void> {
    let count = state.withLock { state in
      defer { state.entries = [:] }
      state.generation += 1
      return state.entries.count
    }
    ResetNotes.current?.wiped(count, "recorded entry", plural: "recorded entries")
    return next.reset()
  }

  private func keep(_ entry: HTTPArchive.Entry, _ number: Int, _ generation: Int) {
    state.withLock { state in
      if state.generation == generation { state.entries[number] = entry }
    }
  }
}

// MARK: - Entries

extension HTTPRecorder {
  private func entry(
    _ request: HTTPRequest, _ response: HTTPArchive.Entry.Response, _ began: (date: Date, time: Duration)
  ) -> HTTPArchive.Entry {
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
    return HTTPArchive.Entry(
      startedDateTime: began.date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)),
      time: max(0, (clock.now - began.time) / .milliseconds(1)), request: recorded, response: response)
  }

  private func recorded(_ response: HTTPResponse, _ content: HTTPArchive.Body?) -> HTTPArchive.Entry.Response {
    var recorded = HTTPArchive.Entry.Response(
      status: response.status.code, content: content ?? HTTPArchive.Body(Data(), mimeType: ""))
    recorded.headers = response.headers.map { field in
      HTTPArchive.Field(name: field.name, value: redaction.value(ofResponse: field, to: response.request))
    }
    recorded.redirectURL = recorded.headers.first { $0.name.lowercased() == "location" }?.value ?? ""
    recorded.bodySize = response.bodySize
    return recorded
  }

  private func failed(_ error: any Error) -> HTTPArchive.Entry.Response {
    var recorded = HTTPArchive.Entry.Response(status: 0, content: HTTPArchive.Body(Data(), mimeType: ""))
    recorded._error = (error as? HTTPError)?.code.description ?? HTTPError.Code.transportFailed.description
    return recorded
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

/// The items of a query, not decoded.
struct QueryItems: Equatable {
  let fields: [HTTPArchive.Field]

  /// - Parameter url: A URL with or without a query.
  init(_ url: String) {
    guard let start = url.firstIndex(of: "?") else {
      fields = []
      return
    }
    fields = url[start...].dropFirst().prefix { $0 != "#" }.split(separator: "&").map { item in
      let name = item.prefix { $0 != "=" }
      return HTTPArchive.Field(name: String(name), value: String(item.dropFirst(name.count + 1)))
    }
  }
}
