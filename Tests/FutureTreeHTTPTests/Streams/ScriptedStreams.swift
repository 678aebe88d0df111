import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeTesting
import Testing

/// A loader that answers its loads in the order of a script. After the script, loads are held.
///
/// Held loads and open streams do not react to a cancellation request until the test ends them, unless the loader confirms
/// requests.
final class ScriptedStreams: HTTPLoader {
  enum Ending: Sendable {
    case whole
    case error(HTTPError.Code)
    case open
  }

  enum Answer: Sendable {
    case events(String, then: Ending = .whole, at: String? = nil)
    case head(HTTPStatus, type: String? = "text/event-stream")
    case error(HTTPError.Code)
    case cancelled
    case held
  }

  private struct State {
    var script: [Answer]
    var requests: [HTTPRequest] = []
    var promises: [Promise<HTTPResponse>] = []
    var writers: [HTTPBodyWriter] = []
    var stopCount = 0
  }

  private let state: Locked<State>
  private let confirms: Bool
  /// A closure that runs inside of each load.
  let onLoad = Locked<(@Sendable () -> Void)?>(nil)
  /// The clock of the streams.
  let clock = ManualClock()

  init(_ script: Answer..., confirms: Bool = false) {
    self.confirms = confirms
    state = Locked(State(script: script))
  }

  var requests: [HTTPRequest] { state.withLock { $0.requests } }
  var writers: [HTTPBodyWriter] { state.withLock { $0.writers } }
  /// The number of streams that were asked to stop.
  var stopCount: Int { state.withLock { $0.stopCount } }
  /// The field `Last-Event-ID` of each request. `-` means that it is missing.
  var lastEventIDs: [String] { requests.map { $0.headers["Last-Event-ID"] ?? "-" } }
  /// The load that began last.
  var lastLoad: Promise<HTTPResponse>? { state.withLock { $0.promises.last } }

  /// Releases the loads and the streams.
  func forget() {
    let forgotten = state.withLock { state in
      defer { (state.promises, state.writers) = ([], []) }
      return (state.promises, state.writers)
    }
    _ = forgotten  // Released outside the lock.
  }

  func waitForLoad(_ count: Int) async {
    while requests.count < count { await Task.yield() }
  }

  func waitForReader() async {
    while writers.last?.isAwaited != true { await Task.yield() }
  }

  func load(_ request: HTTPRequest) -> Future<HTTPResponse> {
    let promise = Promise<HTTPResponse>()
    promise.onRequestCancel { [confirms] _ in confirms ? .complete(.cancelled) : .continue }
    onLoad.value?()
    let answer = state.withLock { state in
      state.requests.append(request)
      state.promises.append(promise)
      return state.script.isEmpty ? .held : state.script.removeFirst()
    }
    switch answer {
    case .events(let text, let ending, let url): promise.succeed(stream(text, ending, at: url, for: request))
    case .head(let status, let type):
      let headers = HTTPHeaders(type.map { [try! HTTPHeaders.Field("Content-Type", $0)] } ?? [])
      promise.succeed(HTTPResponse(to: request, status: status, headers: headers, body: Data("body".utf8)))
    case .error(let code): promise.fail(HTTPError(code, "The script fails. Change the script."))
    case .cancelled: promise.completeCancelled("the chain was reset")
    case .held: break
    }
    return promise.future
  }

  func stream(
    _ text: String, _ ending: Ending = .open, type: String = "text/event-stream", at url: String? = nil,
    for request: HTTPRequest
  ) -> HTTPResponse {
    var request = request
    if let url { request.target = .url(try! HTTPURL(url)) }
    let (stream, writer) = HTTPBodyStream.makeStream(for: request, clock: clock)
    writer.onStop { [state, confirms, weak writer] in
      state.withLock { $0.stopCount += 1 }
      if confirms { writer?.fail(HTTPError(.connectionLost, "It was closed.")) }
    }
    do { try writer.write(Data(text.utf8)) } catch { Issue.record(error) }
    switch ending {
    case .whole: writer.finish()
    case .error(let code): writer.fail(HTTPError(code, "The script fails. Change the script."))
    case .open: state.withLock { $0.writers.append(writer) }
    }
    let headers = HTTPHeaders([try! HTTPHeaders.Field("Content-Type", type)])
    return HTTPResponse(to: request, status: .ok, headers: headers, content: .stream(stream))
  }

  func reset() -> Future<Void> { .succeeded }
}

extension HTTPLoader {
  /// The events of a feed, with reconnections without a delay.
  func feed(
    _ rules: EventReconnection = EventReconnection(delay: .zero), url: String = "http://example.com/feed",
    configure: Configure = { _ in }
  ) -> ServerSentEvents {
    // The least random number, so that the delay does not grow.
    events(reconnecting: rules, maximumEventSize: 100, random: RandomSource { 0 }) {
      var request = try HTTPRequest(url)
      try configure(&request)
      return request
    }
  }
}

extension AsyncSequence where Element == ServerSentEvent {
  /// The data of the events, and after them the code of the error, if any.
  func data() async -> [String] {
    var data: [String] = []
    do {
      for try await event in self { data.append(event.data) }
    } catch {
      let error: any Error = error
      data.append((error as? HTTPError).map { "error: \($0.code)" } ?? "\(type(of: error))")
    }
    return data
  }
}
