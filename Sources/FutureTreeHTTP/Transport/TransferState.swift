import Foundation

/// One request on the wire, as a value: what has arrived, what was asked, and what comes of it. Pure: no socket, no lock.
///
/// # Invariants
/// 1. It ends once. What is reported after that changes nothing, a success included.
/// 2. A body that is not whole, or of which nobody can say whether it is, never is a success (H12).
/// 3. A cancellation ends it only when the transport confirms, so that its connection is free then (H5); a deadline or a
///    limit ends it at once, and the transport is stopped behind it.
struct TransferState {
  struct Head {
    let status: HTTPStatus
    let headers: HTTPHeaders
  }

  /// What the transport reports at its end, in the terms of no platform.
  enum End {
    case completed
    case stopped
    case failed(HTTPError)
  }

  /// What is to be done after an event.
  enum Action {
    case none
    /// Stop the transport, and wait for it.
    case stop
    /// The transfer has ended; the transport, where it has not, is to be stopped.
    case end(Ending, stopsTransport: Bool)
  }

  enum Ending {
    case response(Head, Data)
    case failure(HTTPError)
    case cancelled
  }

  var hasHead: Bool { head != nil }
  private let expectsBody: Bool
  private let maximumBodySize: Int
  private(set) var head: Head?
  private var declaredLength: Int?
  private var body = Data()
  private var isCancelAsked = false
  /// Body bytes were thrown away because nobody wants them any more.
  private var hasDropped = false
  /// The platform asked for credentials and was refused: the answer that it stopped is the answer (a 401).
  private var hasRefusedChallenge = false
  private var hasEnded = false

  init(method: HTTPMethod, maximumBodySize: Int) {
    expectsBody = method != .head
    self.maximumBodySize = maximumBodySize
  }
}

// MARK: - Events

extension TransferState {
  mutating func cancelAsked() -> Action {
    guard !hasEnded, !isCancelAsked else { return .none }
    isCancelAsked = true
    return .stop
  }

  mutating func deadlinePassed() -> Action {
    fail(.timedOut, "The deadline passed \(head == nil ? "before the answer began" : "while the body arrived").")
  }

  mutating func challengeRefused() {
    hasRefusedChallenge = true
  }

  mutating func headArrived(_ head: Head) -> Action {
    guard !hasEnded else { return .none }
    self.head = head
    guard expectsBody, !head.status.hasNoBody else { return .none }
    switch BodyFraming(head.headers) {
    case .refused(let error):
      return end(.failure(error), stopsTransport: true)
    case .declared(let length) where length > maximumBodySize:
      return fail(.bodyTooLarge, "The body has \(length) bytes; the loader accepts \(maximumBodySize).")
    case .declared(let length):
      declaredLength = length
      return .none
    case .undeclared:
      return .none
    }
  }

  mutating func dataArrived(_ data: Data) -> Action {
    guard !hasEnded else { return .none }
    guard !isCancelAsked else {
      hasDropped = true
      body = Data()
      return .none
    }
    guard body.count + data.count <= maximumBodySize else {
      return fail(.bodyTooLarge, "The body has more than the \(maximumBodySize) bytes that the loader accepts.")
    }
    body.append(data)
    return .none
  }

  mutating func transportEnded(_ end: End) -> Action {
    guard !hasEnded else { return .none }
    switch end {
    case .completed:
      return isCancelAsked && hasDropped ? self.end(.cancelled) : self.end(response())
    case .stopped where isCancelAsked:
      return self.end(.cancelled)
    case .stopped where hasRefusedChallenge && head != nil:
      return self.end(response())
    case .stopped:
      return self.end(.failure(HTTPError(.transportFailed, "The platform stopped a request that nobody cancelled.")))
    case .failed(let error):
      return self.end(.failure(error))
    }
  }

  private func response() -> Ending {
    guard let head else { return .failure(HTTPError(.invalidResponse, "The answer had no status line.")) }
    if let declaredLength, declaredLength != body.count {
      return .failure(
        HTTPError(.truncatedBody, "The body ended after \(body.count) of \(declaredLength) bytes."))
    }
    return .response(head, body)
  }

  private mutating func fail(_ code: HTTPError.Code, _ message: String) -> Action {
    guard !hasEnded else { return .none }
    return end(.failure(HTTPError(code, message)), stopsTransport: true)
  }

  private mutating func end(_ ending: Ending, stopsTransport: Bool = false) -> Action {
    hasEnded = true
    body = Data()
    return .end(ending, stopsTransport: stopsTransport)
  }
}
