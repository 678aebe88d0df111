/// A parser of HTTP/1.1 requests, as a value. Pure: takes no lock, calls no closure.
///
/// # Invariants
/// 1. The same bytes give the same requests, however they are split. Only the split of body events differs.
/// 2. After `.malformed` nothing more is read: the start of the next request is unknown.
/// 3. Each byte is examined a bounded number of times.
struct RequestParser {
  enum Event: Equatable {
    case head(RequestHead)
    case body(ArraySlice<UInt8>)
    case end(trailers: [LoopbackRequest.Field])
    /// These bytes are not a request. After `head`: the following bytes are not a body.
    case malformed(RequestHead.Malformed, bytes: [UInt8])
  }

  private enum State {
    case head
    case body(remaining: Int)
    case chunkSize
    case chunk(remaining: Int)
    case chunkEnd
    case trailers
    case failed
  }

  /// The limit of a head, a chunk line and a trailer block, in bytes.
  static let limit = 1 << 20

  private var state = State.head
  /// The bytes so far of a head, a trailer block or an incomplete line.
  private var held: [UInt8] = []

  /// Whether a head has begun and is incomplete.
  var isInsideHead: Bool {
    if case .head = state { !held.isEmpty } else { false }
  }

  /// The bytes of an incomplete head.
  var partialHead: [UInt8] { isInsideHead ? held : [] }

  /// Parses received bytes and returns their events.
  mutating func receive(_ bytes: [UInt8]) -> [Event] {
    var rest = bytes[...]
    var events: [Event] = []
    while !rest.isEmpty {
      switch state {
      case .failed: return events
      case .head: readHead(&rest, &events)
      case .body(let remaining): readBody(remaining, &rest, &events)
      case .chunkSize: readChunkSize(&rest, &events)
      case .chunk(let remaining): readChunk(remaining, &rest, &events)
      case .chunkEnd: readChunkEnd(&rest, &events)
      case .trailers: readTrailers(&rest, &events)
      }
    }
    return events
  }
}

// MARK: - Each state

extension RequestParser {
  private mutating func readHead(_ rest: inout ArraySlice<UInt8>, _ events: inout [Event]) {
    if held.isEmpty, let first = rest.first, first != 0x0D, first <= 0x20 || first >= 0x7F {
      return fail(.init("not text, possibly a TLS handshake"), bytes: [first], &events)
    }
    guard holdLine(&rest, &events, of: "header block") else { return }
    if held == [0x0D, 0x0A] {  // RFC 9112 asks servers to ignore an empty line before a request.
      held = []
      return
    }
    guard held.endsWithEmptyLine else { return }
    let bytes = held
    held = []
    do {
      let head = try RequestHead(parsing: bytes)
      events.append(.head(head))
      switch head.framing {
      case .length(0): events.append(.end(trailers: []))
      case .length(let length): state = .body(remaining: length)
      case .chunked: state = .chunkSize
      }
    } catch {
      fail(error, bytes: bytes, &events)
    }
  }

  private mutating func readBody(_ remaining: Int, _ rest: inout ArraySlice<UInt8>, _ events: inout [Event]) {
    let part = rest.prefix(remaining)
    rest = rest.dropFirst(part.count)
    events.append(.body(part))
    guard part.count == remaining else {
      state = .body(remaining: remaining - part.count)
      return
    }
    state = .head
    events.append(.end(trailers: []))
  }

  private mutating func readChunkSize(_ rest: inout ArraySlice<UInt8>, _ events: inout [Event]) {
    guard holdLine(&rest, &events, of: "chunk line") else { return }
    let line = held.dropLast(2)
    held = []
    let digits = line.prefix { $0 != UInt8(ascii: ";") }.trimmingBlanks
    guard !digits.isEmpty, digits.allSatisfy(\.isHexDigit),
      let size = Int(String(decoding: digits, as: UTF8.self), radix: 16)
    else {
      return fail(.init("a chunk size that is not a number"), bytes: Array(line), &events)
    }
    state = size == 0 ? .trailers : .chunk(remaining: size)
  }

  private mutating func readChunk(_ remaining: Int, _ rest: inout ArraySlice<UInt8>, _ events: inout [Event]) {
    let part = rest.prefix(remaining)
    rest = rest.dropFirst(part.count)
    events.append(.body(part))
    state = part.count == remaining ? .chunkEnd : .chunk(remaining: remaining - part.count)
  }

  private mutating func readChunkEnd(_ rest: inout ArraySlice<UInt8>, _ events: inout [Event]) {
    held.append(rest.removeFirst())
    let expected: [UInt8] = [0x0D, 0x0A]
    guard held == Array(expected.prefix(held.count)) else {
      return fail(.init("a chunk that is longer than its declared size"), bytes: held, &events)
    }
    guard held.count == 2 else { return }
    held = []
    state = .chunkSize
  }

  private mutating func readTrailers(_ rest: inout ArraySlice<UInt8>, _ events: inout [Event]) {
    guard holdLine(&rest, &events, of: "trailer block"), held == [0x0D, 0x0A] || held.endsWithEmptyLine else { return }
    let bytes = held
    held = []
    let lines = bytes.dropLast(2).split(separator: UInt8(ascii: "\n")).map { $0.dropLast() }
    do {
      events.append(.end(trailers: try RequestHead.fields(lines[...])))
      state = .head
    } catch {
      fail(error, bytes: bytes, &events)
    }
  }
}

// MARK: - Lines

extension RequestParser {
  /// Moves the bytes up to the end of the line from `rest` to `held`.
  ///
  /// - Returns: Whether the line is complete and valid.
  private mutating func holdLine(_ rest: inout ArraySlice<UInt8>, _ events: inout [Event], of what: String) -> Bool {
    let part = rest.firstIndex(of: 0x0A).map { rest[...$0] } ?? rest
    let begin = held.count
    held.append(contentsOf: part)
    rest = rest.dropFirst(part.count)
    // A carriage return is valid only before a line feed, and a line feed only after a carriage return.
    for index in begin..<held.count {
      let follows = index > 0 && held[index - 1] == 0x0D
      if follows != (held[index] == 0x0A) {
        fail(.init("a \(what) with a line that does not end with CR LF"), bytes: Array(held[...index]), &events)
        return false
      }
      if index >= Self.limit {
        fail(.init("a \(what) over \(Self.limit) bytes"), bytes: Array(held[...index]), &events)
        return false
      }
    }
    return held.last == 0x0A
  }

  private mutating func fail(_ error: RequestHead.Malformed, bytes: [UInt8], _ events: inout [Event]) {
    state = .failed
    held = []
    events.append(.malformed(error, bytes: bytes))
  }
}

extension [UInt8] {
  fileprivate var endsWithEmptyLine: Bool { suffix(4).elementsEqual([0x0D, 0x0A, 0x0D, 0x0A]) }
}

extension UInt8 {
  fileprivate var isHexDigit: Bool {
    switch self {
    case 0x30...0x39, 0x41...0x46, 0x61...0x66: true
    default: false
    }
  }
}
