/// One step of a loopback server's answer to a request.
///
/// ```swift
/// server.on("/cut", [.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123"), .hold(gate), .reset])
/// ```
///
/// A step begins when the previous step has ended. A send has ended when the system has taken all bytes. The server watches its
/// client during every step, so a close is always recorded.
public struct LoopbackStep: Sendable {
  enum Kind: Sendable {
    case send([UInt8])
    case respond(LoopbackResponse)
    case body(LoopbackBodyPart)
    case lastChunk
    case drip([UInt8], chunk: Int, every: Duration)
    case pause(Duration)
    /// A pause between two parts of a body. It is omitted with them.
    case bodyPause(Duration)
    case hold(LoopbackGate)
    case stall
    case stopReading
    case read(Int)
    case finishSending
    case close
    case reset
  }

  let kind: Kind
}

/// A part of the body of the response before it.
struct LoopbackBodyPart: Sendable {
  /// The framing before the bytes: the size of their chunk.
  var prefix: [UInt8] = []
  /// The bytes, as the client reads them.
  let bytes: [UInt8]
  /// The framing after the bytes: the end of their chunk.
  var suffix: [UInt8] = []

  /// Creates a chunk, or a part without bytes and framing.
  init(chunk bytes: [UInt8]) {
    self.bytes = bytes
    guard !bytes.isEmpty else { return }
    (prefix, suffix) = (Array("\(String(bytes.count, radix: 16))\r\n".utf8), [0x0D, 0x0A])
  }

  init(prefix: [UInt8] = [], _ bytes: some Sequence<UInt8>, suffix: [UInt8] = []) {
    (self.prefix, self.bytes, self.suffix) = (prefix, Array(bytes), suffix)
  }

  /// Returns two parts that are sent as this part.
  func split(at position: Int) -> (head: LoopbackBodyPart, rest: LoopbackBodyPart) {
    (LoopbackBodyPart(prefix: prefix, bytes[..<position]), LoopbackBodyPart(bytes[position...], suffix: suffix))
  }
}

extension LoopbackStep {
  /// Sends bytes exactly as given.
  public static func send(_ bytes: [UInt8]) -> LoopbackStep { LoopbackStep(kind: .send(bytes)) }

  /// Sends text in UTF-8, exactly as given. Write `\r\n` where HTTP requires it.
  public static func send(_ text: String) -> LoopbackStep { send(Array(text.utf8)) }

  /// Sends a correct response.
  ///
  /// `Content-Length` is added unless `headers` frame the body. It is omitted where HTTP forbids it (1xx, 204). A body that
  /// HTTP does not allow (after HEAD, 1xx, 204, 304) is not sent; to send it, use `send`. The connection closes after the
  /// answer if the request or `headers` contain `Connection: close`.
  public static func respond(
    status: Int = 200, headers: [(String, String)] = [], body: [UInt8] = []
  ) -> LoopbackStep {
    LoopbackStep(kind: .respond(LoopbackResponse(status: status, headers: headers, body: body)))
  }

  /// Sends a correct response with a text body.
  public static func respond(status: Int = 200, headers: [(String, String)] = [], body: String) -> LoopbackStep {
    respond(status: status, headers: headers, body: Array(body.utf8))
  }

  /// Sends a chunk of a body with chunked transfer coding (RFC 9112, section 7.1). An empty chunk is not sent, because it would
  /// end the body.
  ///
  /// ```swift
  /// let head = LoopbackStep.respond(headers: [("Transfer-Encoding", "chunked")])
  /// server.on("/log", .steps([head, .chunk("one\n"), .hold(gate), .chunk("two\n"), .lastChunk]))
  /// ```
  public static func chunk(_ bytes: [UInt8]) -> LoopbackStep {
    LoopbackStep(kind: .body(LoopbackBodyPart(chunk: bytes)))
  }

  /// Sends a chunk of text in UTF-8.
  public static func chunk(_ text: String) -> LoopbackStep { chunk(Array(text.utf8)) }

  /// Ends a body with chunked transfer coding.
  public static let lastChunk = LoopbackStep(kind: .lastChunk)

  /// Sends bytes in pieces of `chunk` bytes, each in its own packet, with a pause between them. Values of `chunk` below 1 are
  /// treated as 1.
  public static func drip(_ bytes: [UInt8], chunk: Int = 1, every pause: Duration) -> LoopbackStep {
    LoopbackStep(kind: .drip(bytes, chunk: max(1, chunk), every: pause))
  }

  /// Sends text in pieces of `chunk` bytes, with a pause between them. Values of `chunk` below 1 are treated as 1.
  public static func drip(_ text: String, chunk: Int = 1, every pause: Duration) -> LoopbackStep {
    drip(Array(text.utf8), chunk: chunk, every: pause)
  }

  /// Waits for a duration. If a test can wait for a condition instead, use `hold`, which is faster and more reliable.
  public static func pause(_ duration: Duration) -> LoopbackStep { LoopbackStep(kind: .pause(duration)) }

  /// Waits until a gate opens.
  public static func hold(_ gate: LoopbackGate) -> LoopbackStep { LoopbackStep(kind: .hold(gate)) }

  /// Stalls the answer. The connection stays open until the client closes it or the server stops.
  public static let stall = LoopbackStep(kind: .stall)

  /// Stops reading until this answer is finished, so that the client's bytes are not consumed.
  ///
  /// The system buffers some megabytes before the client's writes block. If a client closes with much unsent data, the close is
  /// detected late, because it is queued behind that data.
  public static let stopReading = LoopbackStep(kind: .stopReading)

  /// Reads until at least `count` bytes have arrived or the request is complete, and stops reading again.
  package static func read(_ count: Int) -> LoopbackStep { LoopbackStep(kind: .read(count)) }

  /// Sends FIN and continues to read. The client sees the end of the stream and can still send.
  public static let finishSending = LoopbackStep(kind: .finishSending)

  /// Closes the connection after all bytes sent before (FIN).
  public static let close = LoopbackStep(kind: .close)

  /// Resets the connection (RST). Bytes that the client has not read may be lost: use `hold` before this step if they must
  /// arrive.
  public static let reset = LoopbackStep(kind: .reset)
}
