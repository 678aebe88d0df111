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

/// The parsed head of an HTTP/1.1 request.
struct RequestHead: Equatable {
  /// How the end of the body is determined.
  enum Framing: Equatable {
    case length(Int)
    case chunked
  }

  struct Malformed: Error, Equatable {
    let reason: String
    /// The parts that could be parsed. Empty if none.
    let method: String
    let target: String

    init(_ reason: String, method: String = "", target: String = "") {
      self.reason = reason
      self.method = method
      self.target = target
    }
  }

  let method: String
  let target: String
  let headers: [LoopbackRequest.Field]
  let bytes: [UInt8]
  let framing: Framing
  /// Whether the connection closes after the answer.
  let wantsClose: Bool
  /// Whether the client waits for `100 Continue` before it sends the body.
  let expectsContinue: Bool

  /// Parses a head that ends with an empty line. Every line ends with CR LF and contains neither.
  init(parsing bytes: [UInt8]) throws(Malformed) {
    var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)[...].map { $0.dropLast() }
    lines.removeLast()  // The empty text after the last line feed.
    lines.removeLast()  // The empty line.
    let words = lines[0].split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
    guard words.count == 3 else { throw Malformed("the request line has \(words.count) words, not 3") }
    let method = String(decoding: words[0], as: UTF8.self)
    let target = String(decoding: words[1], as: UTF8.self)
    func malformed(_ reason: String) -> Malformed { Malformed(reason, method: method, target: target) }
    guard words[0].isToken else { throw malformed("the method is not a token") }
    guard !target.isEmpty, words[1].allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
      throw malformed("the target is empty or has a control character")
    }
    let version = String(decoding: words[2], as: UTF8.self)
    guard version == "HTTP/1.1" || version == "HTTP/1.0" else { throw malformed("the version is not HTTP/1.1 or 1.0") }

    do {
      headers = try Self.fields(lines.dropFirst())
      framing = try Self.framing(headers)
    } catch {
      throw malformed(error.reason)
    }
    let connection = headers.values(for: "connection").map { $0.lowercased() }
    let keepsAlive = version == "HTTP/1.1" || connection.contains { $0.hasToken("keep-alive") }
    wantsClose = !keepsAlive || connection.contains { $0.hasToken("close") }
    expectsContinue = headers.values(for: "expect").contains { $0.lowercased() == "100-continue" }
    self.method = method
    self.target = target
    self.bytes = bytes
  }
}

extension RequestHead {
  /// Parses the lines of a header block, without their CR LF.
  static func fields(_ lines: ArraySlice<ArraySlice<UInt8>>) throws(Malformed) -> [LoopbackRequest.Field] {
    var fields: [LoopbackRequest.Field] = []
    for line in lines {
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
        throw Malformed("a header line has no colon")
      }
      guard line[..<colon].isToken else { throw Malformed("a header name is not a token") }
      guard !line.contains(0) else { throw Malformed("a header value has a NUL") }
      let value = line[(colon + 1)...].trimmingBlanks
      fields.append(
        .init(name: String(decoding: line[..<colon], as: UTF8.self), value: String(decoding: value, as: UTF8.self)))
    }
    return fields
  }

  private static func framing(_ headers: [LoopbackRequest.Field]) throws(Malformed) -> Framing {
    let lengths = headers.values(for: "content-length")
    let encodings = headers.values(for: "transfer-encoding")
    guard lengths.isEmpty || encodings.isEmpty else {
      throw Malformed("both Content-Length and Transfer-Encoding")
    }
    if !encodings.isEmpty {
      guard encodings.count == 1, encodings[0].lowercased() == "chunked" else {
        throw Malformed("a Transfer-Encoding other than chunked")
      }
      return .chunked
    }
    guard let first = lengths.first else { return .length(0) }
    guard lengths.allSatisfy({ $0 == first }) else { throw Malformed("conflicting Content-Lengths") }
    guard !first.isEmpty, first.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), let length = Int(first) else {
      throw Malformed("a Content-Length that is not a number")
    }
    return .length(length)
  }
}

extension [LoopbackRequest.Field] {
  /// The values of the fields with this name, which is lower case.
  fileprivate func values(for name: String) -> [String] {
    filter { $0.name.lowercased() == name }.map(\.value)
  }
}

extension ArraySlice<UInt8> {
  /// Whether this is a token (RFC 9110).
  var isToken: Bool {
    !isEmpty
      && allSatisfy { byte in
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
      }
  }

  var trimmingBlanks: ArraySlice<UInt8> {
    let start = drop { $0 == 0x20 || $0 == 0x09 }
    guard let last = start.lastIndex(where: { $0 != 0x20 && $0 != 0x09 }) else { return start.prefix(0) }
    return start[...last]
  }
}
