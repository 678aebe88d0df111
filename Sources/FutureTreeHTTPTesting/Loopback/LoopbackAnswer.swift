/// The answer of a loopback server to one request: a list of steps.
///
/// ```swift
/// server.on("/users/1", .json(#"{"name": "Ada"}"#))
/// server.on("/flaky", .status(503), .reset, .json("[]"))              // In turn; the last repeats.
/// server.on("/slow", .text("at last").held(by: gate))
/// server.on("/cut", [.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n0"), .close])
/// ```
///
/// After the last step the connection handles its next request, unless it has to close.
public struct LoopbackAnswer: Sendable, ExpressibleByArrayLiteral {
  /// The steps, in order.
  public let steps: [LoopbackStep]

  public init(arrayLiteral steps: LoopbackStep...) {
    self.steps = steps
  }

  /// Creates an answer from steps, performed in order.
  public static func steps(_ steps: [LoopbackStep]) -> LoopbackAnswer { LoopbackAnswer(steps: steps) }

  init(steps: [LoopbackStep]) {
    self.steps = steps
  }
}

// MARK: - Whole answers

extension LoopbackAnswer {
  /// Creates a response without a body.
  public static func status(_ status: Int, headers: [(String, String)] = []) -> LoopbackAnswer {
    [.respond(status: status, headers: headers, body: [])]
  }

  /// Creates a response with a body of bytes.
  public static func respond(
    status: Int = 200, headers: [(String, String)] = [], body: [UInt8] = []
  ) -> LoopbackAnswer {
    [.respond(status: status, headers: headers, body: body)]
  }

  /// Creates a response with a body of text and no default headers.
  public static func respond(status: Int = 200, headers: [(String, String)] = [], body: String) -> LoopbackAnswer {
    [.respond(status: status, headers: headers, body: body)]
  }

  /// Creates a response with a JSON body.
  public static func json(_ json: String, status: Int = 200, headers: [(String, String)] = []) -> LoopbackAnswer {
    [.respond(status: status, headers: [("Content-Type", "application/json")] + headers, body: json)]
  }

  /// Creates a response with a plain-text body.
  public static func text(_ text: String, status: Int = 200, headers: [(String, String)] = []) -> LoopbackAnswer {
    [.respond(status: status, headers: [("Content-Type", "text/plain; charset=utf-8")] + headers, body: text)]
  }

  /// Sends this text in UTF-8, exactly as given.
  public static func send(_ text: String) -> LoopbackAnswer { [.send(text)] }

  /// Sends these bytes, exactly as given.
  public static func send(_ bytes: [UInt8]) -> LoopbackAnswer { [.send(bytes)] }

  /// An answer that never comes. The connection stays open until the client closes it or the server stops.
  public static let stall: LoopbackAnswer = [.stall]

  /// Closes the connection without a response (FIN).
  public static let close: LoopbackAnswer = [.close]

  /// Resets the connection without a response (RST).
  public static let reset: LoopbackAnswer = [.reset]
}

// MARK: - Changed answers

extension LoopbackAnswer {
  /// Returns this answer, held back until a gate opens.
  public func held(by gate: LoopbackGate) -> LoopbackAnswer { LoopbackAnswer(steps: [.hold(gate)] + steps) }

  /// Returns this answer, preceded by a pause.
  public func delayed(by duration: Duration) -> LoopbackAnswer { LoopbackAnswer(steps: [.pause(duration)] + steps) }

  /// Returns this answer, followed by more steps.
  public func then(_ steps: LoopbackStep...) -> LoopbackAnswer { LoopbackAnswer(steps: self.steps + steps) }
}

// MARK: - Streams

extension LoopbackAnswer {
  /// Creates a response whose body is sent in chunks of text, with chunked transfer coding.
  ///
  /// ```swift
  /// server.on("/feed", .stream(["data: one\n\n", "data: two\n\n"], headers: [("Content-Type", "text/event-stream")]))
  /// ```
  public static func stream(
    _ chunks: [String], status: Int = 200, headers: [(String, String)] = []
  ) -> LoopbackAnswer {
    stream(bytes: chunks.map { Array($0.utf8) }, status: status, headers: headers)
  }

  /// Creates a response whose body is sent in chunks of bytes, with chunked transfer coding.
  ///
  /// `Transfer-Encoding: chunked` is added unless `headers` contain the field. The headers are sent as given, also a
  /// `Content-Length`, which contradicts the chunks.
  public static func stream(
    bytes chunks: [[UInt8]], status: Int = 200, headers: [(String, String)] = []
  ) -> LoopbackAnswer {
    let isFramed = headers.contains { $0.0.lowercased() == "transfer-encoding" }
    let framing = isFramed ? [] : [("Transfer-Encoding", "chunked")]
    let head = LoopbackStep.respond(status: status, headers: headers + framing)
    return LoopbackAnswer(steps: [head] + chunks.map(LoopbackStep.chunk) + [.lastChunk])
  }
}

// MARK: - Answers that change in the middle of their body

// A position is a number of bytes of the body, as the client reads it. The bytes of `send` and `drip` belong to no body.
extension LoopbackAnswer {
  /// Returns this answer, cut after a number of bytes of its body: the connection is closed (FIN).
  ///
  /// ```swift
  /// server.on("/film", .respond(body: film).cut(at: 1_000), .respond(body: film))  // The first is truncated.
  /// ```
  ///
  /// - Parameter position: The number of bytes of the body that are sent. With zero, only the head is sent. At the end of the
  ///   body or after it, the whole body is sent, except the last chunk of a chunked body. Inside a chunk, the size of the
  ///   whole chunk is sent.
  public func cut(at position: Int) -> LoopbackAnswer { interrupted(at: position, by: .close, continues: false) }

  /// Returns this answer, reset after a number of bytes of its body (RST).
  ///
  /// Bytes that the client has not read may be lost. If they must arrive, hold the answer at the same position, and open the gate
  /// when they have arrived:
  ///
  /// ```swift
  /// server.on("/film", .respond(body: film).held(at: 1_000, by: gate).reset(at: 1_000))
  /// ```
  ///
  /// - Parameter position: The number of bytes of the body that are sent, as for `cut(at:)`.
  public func reset(at position: Int) -> LoopbackAnswer { interrupted(at: position, by: .reset, continues: false) }

  /// Returns this answer, held after a number of bytes of its body until a gate opens.
  ///
  /// - Parameters:
  ///   - position: The number of bytes of the body that are sent before, as for `cut(at:)`.
  ///   - gate: The gate.
  public func held(at position: Int, by gate: LoopbackGate) -> LoopbackAnswer {
    interrupted(at: position, by: .hold(gate), continues: true)
  }

  /// Returns this answer, with a body that is sent in pieces with a pause between them.
  ///
  /// ```swift
  /// server.on("/film", .respond(body: film).slow(chunk: 1_024, every: .milliseconds(1)))
  /// ```
  ///
  /// If a test can wait for a condition instead, use `held(at:by:)`, which is faster and more reliable.
  ///
  /// - Parameters:
  ///   - chunk: The number of bytes in each piece. Values below 1 are treated as 1.
  ///   - pause: The time between two pieces.
  public func slow(chunk: Int = 1, every pause: Duration) -> LoopbackAnswer {
    let size = max(1, chunk)
    var slowed: [LoopbackStep] = []
    var isFirst = true
    for step in steps.flatMap(\.parts) {
      guard case .body(var rest) = step.kind else {
        slowed.append(step)
        continue
      }
      while !rest.bytes.isEmpty {
        if !isFirst { slowed.append(LoopbackStep(kind: .bodyPause(pause))) }
        isFirst = false
        guard rest.bytes.count > size else { break }
        let parts = rest.split(at: size)
        slowed.append(LoopbackStep(kind: .body(parts.head)))
        rest = parts.rest
      }
      slowed.append(LoopbackStep(kind: .body(rest)))
    }
    return LoopbackAnswer(steps: slowed)
  }

  /// - Parameter continues: Whether the rest of the answer follows the step.
  private func interrupted(at position: Int, by step: LoopbackStep, continues: Bool) -> LoopbackAnswer {
    var steps = steps.flatMap(\.parts)
    // The step follows the last byte before the position. At the position 0, it follows the head.
    let first = steps.firstIndex { $0.bodySize > 0 } ?? steps.endIndex
    var end = steps[..<first].lastIndex { $0.isHead }.map { $0 + 1 } ?? first
    var left = max(0, position)
    for (index, next) in steps.enumerated() where left > 0 && next.bodySize > 0 {
      guard case .body(let part) = next.kind else { continue }
      if left < part.bytes.count {
        let parts = part.split(at: left)
        steps.replaceSubrange(index...index, with: [parts.head, parts.rest].map { LoopbackStep(kind: .body($0)) })
      }
      left -= min(left, part.bytes.count)
      end = index + 1
    }
    // Answers that are held at the same position are held before.
    while end < steps.endIndex, case .hold = steps[end].kind { end += 1 }
    return LoopbackAnswer(steps: steps[..<end] + [step] + (continues ? Array(steps[end...]) : []))
  }
}

extension LoopbackStep {
  /// The number of bytes of a body that this step sends, as the client reads them. The step must not be a response.
  fileprivate var bodySize: Int {
    if case .body(let part) = kind { part.bytes.count } else { 0 }
  }

  fileprivate var isHead: Bool {
    if case .respond = kind { true } else { false }
  }

  /// This step. A response is two: its head and its body.
  fileprivate var parts: [LoopbackStep] {
    guard case .respond(let response) = kind, !response.body.isEmpty else { return [self] }
    let head = LoopbackResponse(
      status: response.status, headers: response.headers, body: [], length: response.body.count)
    return [LoopbackStep(kind: .respond(head)), LoopbackStep(kind: .body(LoopbackBodyPart(response.body)))]
  }
}
