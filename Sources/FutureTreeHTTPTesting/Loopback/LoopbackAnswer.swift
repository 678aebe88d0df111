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
