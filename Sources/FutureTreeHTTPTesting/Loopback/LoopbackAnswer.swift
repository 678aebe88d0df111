/// What a loopback server does about one request: a list of steps.
///
/// ```swift
/// server.on("/users/1", .json(#"{"name": "Ada"}"#))
/// server.on("/flaky", .status(503), .reset, .json("[]"))              // In turn; the last repeats.
/// server.on("/slow", .text("at last").held(by: gate))
/// server.on("/cut", [.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n0"), .close])
/// ```
///
/// After its last step the connection takes the next request, unless it was to be closed.
public struct LoopbackAnswer: Sendable, ExpressibleByArrayLiteral {
  /// What is done, one after the other.
  public let steps: [LoopbackStep]

  public init(arrayLiteral steps: LoopbackStep...) {
    self.steps = steps
  }

  /// These steps, one after the other.
  public static func steps(_ steps: [LoopbackStep]) -> LoopbackAnswer { LoopbackAnswer(steps: steps) }

  init(steps: [LoopbackStep]) {
    self.steps = steps
  }
}

// MARK: - Whole answers

extension LoopbackAnswer {
  /// A response without a body.
  public static func status(_ status: Int, headers: [(String, String)] = []) -> LoopbackAnswer {
    [.respond(status: status, headers: headers, body: [])]
  }

  /// A response with a body of bytes.
  public static func respond(
    status: Int = 200, headers: [(String, String)] = [], body: [UInt8] = []
  ) -> LoopbackAnswer {
    [.respond(status: status, headers: headers, body: body)]
  }

  /// A response with a body of text, and no header of its own.
  public static func respond(status: Int = 200, headers: [(String, String)] = [], body: String) -> LoopbackAnswer {
    [.respond(status: status, headers: headers, body: body)]
  }

  /// A response of JSON.
  public static func json(_ json: String, status: Int = 200, headers: [(String, String)] = []) -> LoopbackAnswer {
    [.respond(status: status, headers: [("Content-Type", "application/json")] + headers, body: json)]
  }

  /// A response of plain text.
  public static func text(_ text: String, status: Int = 200, headers: [(String, String)] = []) -> LoopbackAnswer {
    [.respond(status: status, headers: [("Content-Type", "text/plain; charset=utf-8")] + headers, body: text)]
  }

  /// These bytes, exactly as given.
  public static func send(_ text: String) -> LoopbackAnswer { [.send(text)] }

  /// These bytes, exactly as given.
  public static func send(_ bytes: [UInt8]) -> LoopbackAnswer { [.send(bytes)] }

  /// No answer. The connection stays open until the client closes it or the server stops.
  public static let stall: LoopbackAnswer = [.stall]

  /// No answer: the connection is closed (FIN).
  public static let close: LoopbackAnswer = [.close]

  /// No answer: the connection is reset (RST).
  public static let reset: LoopbackAnswer = [.reset]
}

// MARK: - Changed answers

extension LoopbackAnswer {
  /// Returns this answer, held back until a gate is opened.
  public func held(by gate: LoopbackGate) -> LoopbackAnswer { LoopbackAnswer(steps: [.hold(gate)] + steps) }

  /// Returns this answer after a pause.
  public func delayed(by duration: Duration) -> LoopbackAnswer { LoopbackAnswer(steps: [.pause(duration)] + steps) }

  /// Returns this answer, followed by other steps.
  public func then(_ steps: LoopbackStep...) -> LoopbackAnswer { LoopbackAnswer(steps: self.steps + steps) }
}
