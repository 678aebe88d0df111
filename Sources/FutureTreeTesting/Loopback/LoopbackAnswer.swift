import FutureTree

/// What a server does about a request, step by step.
///
/// ```swift
/// let gate = LoopbackGate()
/// server.on("/slow", [.hold(gate), .respond(body: "at last")])
/// server.on("/cut", [.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123"), .close])
/// ```
///
/// After the last step the connection takes the next request, unless the client asked to close it.
public struct LoopbackStep: Sendable {
  enum Kind: Sendable {
    case send([UInt8])
    case pause(Duration)
    case hold(LoopbackGate)
    case stall
    case stopReading
    case close
    case reset
  }

  let kind: Kind

  /// Sends bytes as they are.
  public static func send(_ bytes: [UInt8]) -> LoopbackStep { LoopbackStep(kind: .send(bytes)) }

  /// Sends text as it is, in UTF-8.
  public static func send(_ text: String) -> LoopbackStep { send(Array(text.utf8)) }

  /// Sends a whole answer, with its `Content-Length`.
  public static func respond(
    status: Int = 200, headers: [(String, String)] = [], body: String = ""
  ) -> LoopbackStep {
    let fields = (headers + [("Content-Length", "\(body.utf8.count)")]).map { "\($0): \($1)\r\n" }.joined()
    return send("HTTP/1.1 \(status) Answer\r\n\(fields)\r\n\(body)")
  }

  /// Sends a whole answer of JSON.
  public static func json(_ json: String, status: Int = 200) -> LoopbackStep {
    respond(status: status, headers: [("Content-Type", "application/json")], body: json)
  }

  /// Waits. Prefer `hold`: a test that waits for time is slow or wrong.
  public static func pause(_ duration: Duration) -> LoopbackStep { LoopbackStep(kind: .pause(duration)) }

  /// Waits until a gate is opened.
  public static func hold(_ gate: LoopbackGate) -> LoopbackStep { LoopbackStep(kind: .hold(gate)) }

  /// Never goes on. The connection stays open until the client closes it or the server stops.
  public static let stall = LoopbackStep(kind: .stall)

  /// Reads nothing more, so that what the client sends piles up. It is not noticed then when the client closes.
  public static let stopReading = LoopbackStep(kind: .stopReading)

  /// Closes the connection, after what was sent.
  public static let close = LoopbackStep(kind: .close)

  /// Resets the connection (RST), and throws away what was not sent.
  public static let reset = LoopbackStep(kind: .reset)
}

extension [LoopbackStep] {
  /// Steps that send bytes in pieces, with a pause before each.
  public static func drip(_ bytes: [UInt8], chunk: Int, every pause: Duration) -> [LoopbackStep] {
    stride(from: 0, to: bytes.count, by: Swift.max(1, chunk)).flatMap { start in
      [.pause(pause), .send([UInt8](bytes[start..<Swift.min(start + Swift.max(1, chunk), bytes.count)]))]
    }
  }
}

/// Holds answers until a test opens it. Then it stays open.
public final class LoopbackGate: Sendable {
  private let promise = Promise<Void>()

  public init() {}

  /// Lets every answer that waits go on, and every one that comes. Opening it again changes nothing.
  public func open() {
    promise.succeed()
  }

  func whenOpen(_ body: @escaping @Sendable () -> Void) {
    promise.future.observe { _ in body() }
  }
}
