import FutureTree

/// One iteration over the events of several connections. The decisions are those of `EventReconnectionState`.
final class EventReader {
  private enum Step {
    case event(ServerSentEvent)
    case again
    case end
  }

  private let source: EventSource
  private let interest: EventInterest
  private var state: EventReconnectionState
  private var body: ParsedBody<ServerSentEventParser>?
  /// The end of the sequence, which every later call has.
  private var end: Result<Void, any Error>?

  init(_ source: EventSource, _ interest: EventInterest) {
    self.source = source
    self.interest = interest
    state = EventReconnectionState(source.request, source.reconnection)
  }

  nonisolated(nonsending) func next() async throws -> ServerSentEvent? {
    do {
      while end == nil {
        try Task.checkCancellation()
        try interest.connection.checkCancellation()
        switch try await step() {
        case .event(let event): return event
        case .again: break
        case .end: finish(.success(()))
        }
      }
    } catch {
      finish(.failure(error))
    }
    try end?.get()
    return nil
  }

  private func finish(_ result: Result<Void, any Error>) {
    end = result
    body = nil
    switch result {
    case .success: interest.connection.end(.success(()))
    case .failure(let cancelled as FutureCancelled): interest.connection.end(.cancelled(cancelled.reason))
    case .failure(is CancellationError): interest.withdraw("the iterating task was cancelled")
    case .failure(let error): interest.connection.end(.failure(error))
    }
  }

  private nonisolated(nonsending) func step() async throws -> Step {
    guard let body else { return try await connect() }
    var result = Result<Void, any Error>.success(())
    do {
      if let event = try await body.next() {
        state.receivedEvent()
        return .event(event)
      }
    } catch {
      result = .failure(error)
    }
    state.connectionEnded(body.parser)
    self.body = nil
    return try await reconnect(after: result)
  }

  private nonisolated(nonsending) func connect() async throws -> Step {
    let response: HTTPResponse
    do {
      response = try await interest.connection.connect(try state.request).value
    } catch {
      return try await reconnect(after: .failure(error))
    }
    guard try state.accepts(response) else { return .end }
    body = ParsedBody(
      response,
      ServerSentEventParser(maximumEventSize: source.maximumEventSize, lastEventID: state.lastEventID))
    return .again
  }

  private nonisolated(nonsending) func reconnect(after result: Result<Void, any Error>) async throws -> Step {
    switch state.step(after: result, source.random) {
    case .ends(let result):
      try result.get()
      return .end
    case .reconnects(let delay):
      try await interest.connection.pause(for: delay).value
      return .again
    }
  }
}
