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
  public static func stream(
    bytes chunks: [[UInt8]], status: Int = 200, headers: [(String, String)] = []
  ) -> LoopbackAnswer {
    let head = LoopbackStep.respond(status: status, headers: headers + [("Transfer-Encoding", "chunked")])
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
  ///   body or after it, everything is sent except the last chunk of a chunked body.
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
    for step in steps {
      guard let body = step.body, !body.isEmpty else {
        slowed.append(step)
        continue
      }
      var rest = step
      if case .respond = step.kind {
        slowed.append(step.split(at: 0).head)
        rest = step.split(at: 0).rest
      }
      while let count = rest.body?.count, count > 0 {
        if !isFirst { slowed.append(.pause(pause)) }
        isFirst = false
        let parts = rest.split(at: min(size, count))
        slowed.append(parts.head)
        rest = parts.rest
      }
    }
    return LoopbackAnswer(steps: slowed)
  }

  /// - Parameter continues: Whether the rest of the answer follows the step.
  private func interrupted(at position: Int, by step: LoopbackStep, continues: Bool) -> LoopbackAnswer {
    var (before, rest) = ([LoopbackStep](), steps[...])
    var left = max(0, position)
    while let next = rest.popFirst() {
      if case .lastChunk = next.kind {
        rest = [next] + rest
        break
      }
      if let count = next.body?.count, left < count {
        let parts = next.split(at: left)
        if !parts.head.isEmpty { before.append(parts.head) }
        rest = [parts.rest] + rest
        break
      }
      left -= next.body?.count ?? 0
      before.append(next)
    }
    return LoopbackAnswer(steps: before + [step] + (continues ? Array(rest) : []))
  }
}

extension LoopbackStep {
  /// The bytes of a body that this step sends, as the client reads them. `nil` if it sends no body.
  fileprivate var body: [UInt8]? {
    switch kind {
    case .respond(let response): response.body
    case .body(let bytes), .chunk(let bytes): bytes
    default: nil
    }
  }

  /// Whether the step sends nothing.
  fileprivate var isEmpty: Bool {
    if case .respond = kind { false } else { body?.isEmpty == true }
  }

  /// Returns two steps that send the same body. A response keeps the length that it declares.
  fileprivate func split(at position: Int) -> (head: LoopbackStep, rest: LoopbackStep) {
    switch kind {
    case .respond(let response):
      let head = LoopbackResponse(
        status: response.status, headers: response.headers, body: Array(response.body[..<position]),
        length: response.length ?? response.body.count)
      return (LoopbackStep(kind: .respond(head)), LoopbackStep(kind: .body(Array(response.body[position...]))))
    case .body(let bytes):
      return (
        LoopbackStep(kind: .body(Array(bytes[..<position]))), LoopbackStep(kind: .body(Array(bytes[position...])))
      )
    case .chunk(let bytes):
      return (.chunk(Array(bytes[..<position])), .chunk(Array(bytes[position...])))
    default: return (self, self)
    }
  }
}
