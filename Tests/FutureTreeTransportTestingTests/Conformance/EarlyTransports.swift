import FutureTree
import FutureTreeHTTP
import FutureTreeTesting

extension Fault {
  /// Transports that complete futures before they have stopped. They never stop by themselves, so that the faults do not depend on
  /// the time that passes.
  static let early: [Fault] = [
    Fault(
      "confirms a cancellation before it stops",
      fails: .cancelledBeforeHead, .cancelledInBody, .cancelledUpload, .cancelledAtEveryByte,
      .streamCancelledBeforeHead, .streamCancelledAtEveryByte,
      passes: [.racedCancellations, .forced, .resetWaits, .streamCancelled]
    ) {
      let early = EarlyTransport()
      return FaultyTransport { request, base in early.load(request, base) }
    },
    Fault(
      "confirms the end of a stream before it stops",
      fails: .streamCancelled, .streamLeft, .streamTaskCancelled, .streamDropped, passes: [.streamHead, .streamOrder]
    ) {
      let early = EarlyTransport()
      return FaultyTransport { request, base in base.load(request).map { early.response($0) } }
    },
    Fault(
      "completes a reset before its loads have stopped", fails: .resetWaits, .streamReset,
      passes: [.callbacks, .resetTwice]
    ) {
      let early = EarlyTransport()
      let reset: FaultyTransport.Reset = { _ in early.reset() }
      return FaultyTransport(reset: reset) { request, base in
        early.load(request, base).map { early.response($0) }
      }
    },
  ]
}

/// Futures that complete when they are asked to cancel, and whose real loads continue.
private final class EarlyTransport: Sendable {
  /// Keeps the real loads and their responses.
  private let kept = Locked<[any Sendable]>([])
  private let endings = Locked<[@Sendable () -> Void]>([])

  func load(_ request: HTTPRequest, _ base: SystemLoader) -> Future<HTTPResponse> {
    let (load, promise) = (base.load(request), Promise<HTTPResponse>())
    keep(load) { promise.completeCancelled() }
    load.observe { outcome in promise.complete(with: outcome) }
    promise.onRequestCancel { cancellation in
      if cancellation.options.contains(.forceImmediately) { load.cancel(.forceImmediately) }
      return .complete(.cancelled)
    }
    return promise.future
  }

  /// Returns a response whose stream ends when it is asked to cancel. Other responses are unchanged.
  func response(_ response: HTTPResponse) -> HTTPResponse {
    guard case .stream(let body) = response.content else { return response }
    let (stream, writer) = HTTPBodyStream.makeStream(for: response.request, clock: ManualClock())
    writer.onStop { writer.fail(CancellationError()) }
    keep(response) { [transfer = stream.transfer] in transfer.cancel(.forceImmediately) }
    Task {
      do {
        for try await bytes in body { try writer.write(bytes) }
        writer.finish()
      } catch { writer.fail(error) }
    }
    return HTTPResponse(
      to: response.request, status: response.status, headers: response.headers, content: .stream(stream))
  }

  func reset() -> Future<Void> {
    for end in endings.withLock({ $0 }) { end() }
    return .succeeded
  }

  private func keep(_ value: any Sendable, _ end: @escaping @Sendable () -> Void) {
    kept.withLock { $0.append(value) }
    endings.withLock { $0.append(end) }
  }
}
