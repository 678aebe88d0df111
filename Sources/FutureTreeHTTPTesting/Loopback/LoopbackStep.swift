/// One thing that a loopback server does to answer a request.
///
/// ```swift
/// server.on("/cut", [.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123"), .hold(gate), .reset])
/// ```
///
/// A step begins when the one before has ended; sending has ended when the system has taken all bytes. The server keeps
/// watching its client meanwhile, so that a close is recorded whatever the step.
public struct LoopbackStep: Sendable {
  enum Kind: Sendable {
    case send([UInt8])
    case respond(LoopbackResponse)
    case drip([UInt8], chunk: Int, every: Duration)
    case pause(Duration)
    case hold(LoopbackGate)
    case stall
    case stopReading
    case finishSending
    case close
    case reset
  }

  let kind: Kind
}

extension LoopbackStep {
  /// Sends bytes exactly as given.
  public static func send(_ bytes: [UInt8]) -> LoopbackStep { LoopbackStep(kind: .send(bytes)) }

  /// Sends text exactly as given, in UTF-8. Write `\r\n` where HTTP wants it.
  public static func send(_ text: String) -> LoopbackStep { send(Array(text.utf8)) }

  /// Sends a correct response.
  ///
  /// `Content-Length` is added unless `headers` frame the body themselves, and left out where HTTP forbids it (1xx, 204).
  /// A body that HTTP does not allow (after HEAD, 1xx, 204, 304) is not sent: to send it nevertheless, use `send`. The
  /// connection is closed after the answer if the request or `headers` say `Connection: close`.
  public static func respond(
    status: Int = 200, headers: [(String, String)] = [], body: [UInt8] = []
  ) -> LoopbackStep {
    LoopbackStep(kind: .respond(LoopbackResponse(status: status, headers: headers, body: body)))
  }

  /// Sends a correct response with a text as its body.
  public static func respond(status: Int = 200, headers: [(String, String)] = [], body: String) -> LoopbackStep {
    respond(status: status, headers: headers, body: Array(body.utf8))
  }

  /// Sends bytes in pieces of `chunk` bytes, each in a packet of its own, with a pause between them.
  public static func drip(_ bytes: [UInt8], chunk: Int = 1, every pause: Duration) -> LoopbackStep {
    LoopbackStep(kind: .drip(bytes, chunk: max(1, chunk), every: pause))
  }

  /// Sends a text in pieces of `chunk` bytes, with a pause between them.
  public static func drip(_ text: String, chunk: Int = 1, every pause: Duration) -> LoopbackStep {
    drip(Array(text.utf8), chunk: chunk, every: pause)
  }

  /// Waits. A test that can say what it waits for is faster and safer with `hold`.
  public static func pause(_ duration: Duration) -> LoopbackStep { LoopbackStep(kind: .pause(duration)) }

  /// Waits until a gate is opened.
  public static func hold(_ gate: LoopbackGate) -> LoopbackStep { LoopbackStep(kind: .hold(gate)) }

  /// Never goes on. The connection stays open until the client closes it or the server stops.
  public static let stall = LoopbackStep(kind: .stall)

  /// Reads nothing more until this answer is finished, so that what the client sends piles up.
  ///
  /// The system takes some megabytes before the client's writes block. A client that closes with much unsent data is
  /// noticed late, because its close waits behind that data.
  public static let stopReading = LoopbackStep(kind: .stopReading)

  /// Sends FIN and goes on reading: the client sees the end and may still send.
  public static let finishSending = LoopbackStep(kind: .finishSending)

  /// Closes the connection (FIN) after what was sent.
  public static let close = LoopbackStep(kind: .close)

  /// Resets the connection (RST). What the client has not read yet may be lost: hold before it if it must arrive.
  public static let reset = LoopbackStep(kind: .reset)
}
