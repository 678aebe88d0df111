import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting

/// The events of one exchange with a fault.
struct SimulatedScript {
  private let request: HTTPRequest
  private var response: SimulatedResponse
  private let fault: SimulatedFault?
  private let random: RandomSource
  /// The body that a client may accept as whole.
  private(set) var wholeBody: Data?

  init(_ request: HTTPRequest, _ response: SimulatedResponse, _ fault: SimulatedFault?, _ chance: UInt64) {
    self.request = request
    self.response = response
    self.fault = fault
    random = .seeded(chance)
  }

  var closing: SimulatedConnection.Closing {
    switch fault {
    case .slowClose: .after(.milliseconds(1_500))
    case .ignoresCancellation: .never
    default: .atOnce
    }
  }

  mutating func steps() -> [SimulatedConnection.Step] {
    let latency = Duration.milliseconds(
      fault == .reordered ? random.number(below: 5_000) : 5 + random.number(below: 95))
    var steps: [SimulatedConnection.Step] = []
    func add(_ event: SimulatedConnection.Event, after delay: Duration = .zero) {
      steps.append(SimulatedConnection.Step(delay: delay, event: event))
    }
    func fails(_ code: HTTPError.Code, _ text: String, after delay: Duration) {
      add(.end(.failed(HTTPError(code, "The simulated network failed: \(text). Load again."))), after: delay)
    }
    switch fault {
    case .unknownHost: fails(.unknownHost, "the host is unknown", after: latency)
    case .connectionRefused: fails(.cannotConnect, "the connection was refused", after: latency)
    case .tlsFailure: fails(.insecureConnection, "the certificate is for another host", after: latency)
    case .closedAtAccept: fails(.connectionLost, "the server closed the connection", after: latency)
    case .closedInRequestBody:
      add(.bodySent((request.body.contentLength ?? 0) / 2), after: latency)
      fails(.connectionLost, "the server closed the connection in the request", after: latency)
    case .closedAfterRequest, .resetBeforeHead, .halfClosedBeforeHead:
      sendBody(after: latency, &steps)
      fails(.connectionLost, "the connection ended before the head", after: latency)
    case .stalledBeforeHead:
      sendBody(after: latency, &steps)
      add(.stall)
    case .garbageHead, .hugeHead:
      sendBody(after: latency, &steps)
      fails(.invalidResponse, "the head is invalid", after: latency)
    default:
      sendBody(after: latency, &steps)
      answer(after: fault == .slowHead ? .seconds(20) : latency, &steps)
    }
    return steps
  }

  private func sendBody(after latency: Duration, _ steps: inout [SimulatedConnection.Step]) {
    if let length = request.body.contentLength, length > 0 {
      steps.append(SimulatedConnection.Step(delay: latency, event: .bodySent(length)))
    }
  }

  private mutating func answer(after latency: Duration, _ steps: inout [SimulatedConnection.Step]) {
    changeAnswer()
    var fields = response.fields
    let hasNoBody = [204, 304].contains(response.status.code) || request.method == .head
    if !hasNoBody { fields.append(("Content-Length", "\(response.body.count)")) }
    if fault == .conflictingLengths { fields.append(("Content-Length", "\(response.body.count + 1)")) }
    if fault == .unknownEncoding { fields.append(("Content-Encoding", "zstd")) }
    if !isCut, fault != .bodyTooLong { wholeBody = hasNoBody ? Data() : response.body }
    var delay = latency
    func add(_ event: SimulatedConnection.Event) {
      steps.append(SimulatedConnection.Step(delay: delay, event: event))
      delay = .zero
    }
    if fault == .manyInformationalHeads {
      for _ in 0..<100 { add(.head(HTTPStatus(103), [("Link", "</style.css>")])) }
    }
    add(.head(response.status, fields))
    let body = fault == .bodyTooLong ? response.body + Data("more".utf8) : response.body
    var rest = isCut ? body.prefix(random.number(below: max(1, body.count))) : body
    while !rest.isEmpty {
      let piece = rest.prefix(fault == .slowBody ? 64 : 1_024)
      delay = fault == .slowBody ? .milliseconds(500) : .milliseconds(1)
      add(.bytes(Data(piece)))
      rest = rest.dropFirst(piece.count)
    }
    switch fault {
    case .stalledInBody: add(.stall)
    case .resetInBody:
      add(.end(.failed(HTTPError(.connectionLost, "The simulated connection was reset in the body. Load again."))))
    case .badChunk:
      add(.end(.failed(HTTPError(.invalidResponse, "The simulated server sent an invalid chunk. Report it."))))
    default: add(.end(.completed))
    }
  }

  /// Whether only a part of the body is sent.
  private var isCut: Bool {
    switch fault {
    case .halfClosedInBody, .resetInBody, .badChunk, .stalledInBody: true
    default: false
    }
  }

  /// Replaces the answer, for the faults of servers.
  private mutating func changeAnswer() {
    let (url, item) = (request.url, request.simulatedItem)
    let redirect = { (location: String?) in
      SimulatedResponse(HTTPStatus(302), location.map { [("Location", $0)] } ?? [])
    }
    switch fault {
    case .redirectLoop: response = redirect("/\(item)/again")
    case .redirectToOtherOrigin: response = redirect("https://other.example/\(item)")
    case .redirectDowngrade: response = redirect("http://\(url?.host ?? "")/\(item)")
    case .redirectBadScheme: response = redirect("file:///etc/passwd")
    case .redirectWithoutLocation: response = redirect(nil)
    case .unauthorized: response = SimulatedResponse(.unauthorized, [("WWW-Authenticate", "Bearer realm=\"items\"")])
    case .serverUnavailable, .tooManyRequests:
      let values = ["0", "1", "3", "1000000000", "-1", "Fri, 31 Dec 1999 23:59:59 GMT", "soon"]
      response = SimulatedResponse(
        HTTPStatus(fault == .serverUnavailable ? 503 : 429),
        [("Retry-After", values[random.number(below: values.count)])])
    case .bodyOnNoContent: response = SimulatedResponse(HTTPStatus(204), body: Data("a body".utf8))
    default: break
    }
  }
}
