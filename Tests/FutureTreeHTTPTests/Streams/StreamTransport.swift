import Foundation
import FutureTree
import FutureTreeHTTP

/// A transport of one stream, whose steps a test performs. It confirms a stop when the test says so.
final class StreamTransport: HTTPLoader {
  private struct State {
    var request: HTTPRequest?
    var head: Promise<HTTPResponse>?
    var writer: HTTPBodyWriter?
    var received = 0
    var stops = 0
  }

  private let state = Locked(State())
  private let live = LiveLoads()
  private let clock: any FutureClock

  init(clock: any FutureClock) {
    self.clock = clock
  }

  /// The number of loads that the transport has not released.
  var liveCount: Int { live.count }

  /// How often the transport was asked to stop.
  var stopCount: Int { state.withLock { $0.stops } }

  var isAwaited: Bool { state.withLock { $0.writer }?.isAwaited == true }

  func load(_ request: HTTPRequest) -> Future<HTTPResponse> {
    let head = Promise<HTTPResponse>()
    head.onRequestCancel { [weak self] _ in
      self?.stop()
      return .continue
    }
    release()
    state.withLock { ($0.request, $0.head) = (request, head) }
    return live.track(head.future)
  }

  func reset() -> Future<Void> { live.drain() }

  private func stop() {
    state.withLock { $0.stops += 1 }
  }
}

// MARK: - Steps

extension StreamTransport {
  func sendHead() {
    guard let (request, head) = state.withLock({ state in state.request.flatMap { r in state.head.map { (r, $0) } } })
    else { return }
    report(0, request)
    let (stream, writer) = HTTPBodyStream.makeStream(for: request, clock: clock)
    writer.onStop { [weak self] in self?.stop() }
    // A promise would keep its response.
    state.withLock { ($0.head, $0.writer) = (nil, writer) }
    head.succeed(HTTPResponse(to: request, status: .ok, content: .stream(stream)))
  }

  func send(_ text: String) {
    guard
      let (request, writer) = state.withLock({ state in state.request.flatMap { r in state.writer.map { (r, $0) } } })
    else { return }
    _ = try? writer.write(Data(text.utf8))
    report(text.utf8.count, request)
  }

  func finish() {
    let writer = state.withLock { $0.writer }
    writer?.finish()
  }

  /// Ends as a transport does that has closed its connection: because it was asked to, or because the server did.
  func close() {
    let (head, writer) = state.withLock { ($0.head, $0.writer) }
    let error = HTTPError(.connectionLost, "The server closed the connection. Load again.")
    writer?.fail(error)
    if head?.cancelRequest == nil { head?.fail(error) } else { head?.completeCancelled() }
  }

  /// Releases everything that the transport holds for its load.
  func release() {
    let released = state.withLock { state in
      defer { (state.request, state.head, state.writer) = (nil, nil, nil) }
      return (state.request, state.head, state.writer)
    }
    _ = released  // Released here, not under the lock.
  }

  private func report(_ count: Int, _ request: HTTPRequest) {
    let received = state.withLock { state in
      state.received += count
      return state.received
    }
    request.progress?(HTTPProgress(received: .init(completed: received)))
  }
}
