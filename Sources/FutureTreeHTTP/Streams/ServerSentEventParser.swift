import Foundation

/// Parses a stream of events (WHATWG HTML, sections 9.2.5 and 9.2.6). A pure value: it reads nothing and starts no timer.
///
/// ```
/// var parser = ServerSentEventParser(maximumEventSize: 1 << 20)
/// parser.receive(Data("id: 1\ndata: one\ndata: two\n\ndata: thr".utf8))
/// try parser.next()   // message, "one\ntwo", ID 1
/// try parser.next()   // nil
/// parser.lastEventID  // "1"
/// ```
///
/// An event that is incomplete at the end of the stream is discarded, so the end needs no call.
///
/// # Invariants
/// 1. The events, `lastEventID`, `retry` and the error depend only on the bytes and not on their division into chunks.
/// 2. When `next()` returns an event, `lastEventID` is the ID of that event. A client that reconnects with it misses no
///    event that was received and not yet returned.
/// 3. No line and no event with more than `maximumEventSize` bytes is accepted.
struct ServerSentEventParser: Sendable {
  /// The ID of the last complete event, for the field `Last-Event-ID`. Events without data count. Empty if there is none.
  private(set) var lastEventID: String

  /// The last valid value of the field `retry`: the delay before a client reconnects. It can be longer than a timer allows.
  private(set) var retry: Duration?

  private let maximumEventSize: Int
  private var lines: ByteLines
  /// The number of bytes of the lines of the current event, without line ends and comments. Comments can be a sign of life
  /// in a long time without events, and occupy no memory.
  private var size = 0
  private var type = ""
  /// The values of the fields `data`, each followed by LF.
  private var data: [UInt8] = []
  /// The last event ID buffer of the standard. No event resets it.
  private var id: String
  private var failure: HTTPError?

  /// - Parameters:
  ///   - maximumEventSize: The largest number of bytes of one event, which is the sum of its lines without line ends and
  ///     comments, and of one comment. Values below 1 are treated as 1.
  ///   - lastEventID: The ID with which the client reconnected. It remains valid until an event has another ID.
  init(maximumEventSize: Int, lastEventID: String = "") {
    self.maximumEventSize = max(1, maximumEventSize)
    self.lastEventID = lastEventID
    id = lastEventID
    lines = ByteLines(ending: .lineFeedOrCarriageReturn, limit: self.maximumEventSize)
  }

  /// Receives the next bytes. To keep little in memory, call `next()` until it returns `nil` first.
  ///
  /// - Complexity: O(n) in the number of bytes, amortized.
  mutating func receive(_ bytes: Data) {
    lines.receive(bytes)
  }

  /// Returns the next event, or `nil` if no complete event with data was received.
  ///
  /// - Throws: `HTTPError` with the code `eventTooLarge`. The events before it are returned first. Each later call throws
  ///   the same error.
  /// - Complexity: O(n) in the number of bytes that were not yet examined, up to the end of the event.
  mutating func next() throws(HTTPError) -> ServerSentEvent? {
    if let failure { throw failure }
    do throws(ByteLines.TooLong) {
      while let line = try lines.next() {
        if !line.isEmpty {
          try process(line)
        } else if let event = completeEvent() {
          return event
        }
      }
      return nil
    } catch {
      let failure = HTTPError(
        .eventTooLarge,
        "An event or a line of the stream has more bytes than the limit of \(maximumEventSize). Raise `maximumEventSize`, or "
          + "check whether the server ends each event with an empty line.")
      self.failure = failure
      throw failure
    }
  }

  private mutating func process(_ line: [UInt8]) throws(ByteLines.TooLong) {
    let colon = line.firstIndex(of: UInt8(ascii: ":"))
    guard colon != line.startIndex else { return }  // A comment.
    size += line.count
    guard size <= maximumEventSize else { throw ByteLines.TooLong() }
    var value = line[(colon.map { $0 + 1 } ?? line.endIndex)...]
    if value.first == UInt8(ascii: " ") { value.removeFirst() }
    // Line ends and colons are ASCII, so that the parts of a line decode as the whole stream does.
    switch String(decoding: line[..<(colon ?? line.endIndex)], as: UTF8.self) {
    case "data":
      data += value
      data.append(ByteLines.lineFeed)
    case "event": type = String(decoding: value, as: UTF8.self)
    // The standard ignores only an ID with NUL. No field can carry another control character either: a client that reconnects
    // sends the ID before it, and receives the later events again.
    case "id" where !value.contains(where: FieldSyntax.isControlByte): id = String(decoding: value, as: UTF8.self)
    case "retry" where value.allSatisfy(ASCII.isDigit):
      // The conversion fails if there are no digits, and if the number is too large.
      if let milliseconds = Int64(String(decoding: value, as: UTF8.self)) { retry = .milliseconds(milliseconds) }
    default: break
    }
  }

  /// Ends the current event. Returns `nil` if it has no data.
  private mutating func completeEvent() -> ServerSentEvent? {
    defer { (size, type, data) = (0, "", []) }
    lastEventID = id
    guard !data.isEmpty else { return nil }
    return ServerSentEvent(
      type: type.isEmpty ? "message" : type, data: String(decoding: data.dropLast(), as: UTF8.self), id: id)
  }
}
