import Foundation

/// A reader of the lines of a response: the heads before its body, and the trailers after it. Pure.
///
/// libcurl passes lines as they were sent. It calls a response complete whose connection was closed inside the head, so only
/// `hasEnded` says whether the head is whole.
struct ResponseHead {
  typealias Fields = [(name: String, value: String)]

  enum Event {
    case none
    /// The blank line after a head. More heads follow an informational head.
    case head(HTTPStatus, Fields)
    /// The line is not HTTP.
    case invalid(String)
  }

  private enum State {
    case statusLine
    case fields(HTTPStatus)
    case afterHead
  }

  /// The maximum size of all lines, in bytes. libcurl has limits of its own, which are lower in most versions.
  static let limit = 1 << 20

  /// Whether the final head is whole.
  var hasEnded: Bool { if case .afterHead = state { true } else { false } }
  /// The status of the last whole head.
  private(set) var status: HTTPStatus?
  /// Whether a line of a response has arrived.
  private(set) var hasBegun = false
  /// The fields after the body (RFC 9112, section 7.1.2).
  private(set) var trailers: Fields = []

  /// Whether the connection may speak HTTP/2, whose heads libcurl writes as lines.
  private let mayBeHTTP2: Bool
  private var state = State.statusLine
  private var fields: Fields = []
  private var size = 0

  init(mayBeHTTP2: Bool = false) { self.mayBeHTTP2 = mayBeHTTP2 }

  /// Reads a line with or without its end.
  mutating func read(_ line: UnsafeRawBufferPointer) -> Event {
    hasBegun = true
    size += line.count
    guard size <= ResponseHead.limit else { return .invalid("Its head has more than \(ResponseHead.limit) bytes.") }
    var end = line.count
    while end > 0, line[end - 1] == UInt8(ascii: "\r") || line[end - 1] == UInt8(ascii: "\n") { end -= 1 }
    let text = UnsafeRawBufferPointer(rebasing: line[..<end])
    switch state {
    case .statusLine:
      guard let status = ResponseHead.status(text) else { return .invalid("Its first line is no status line.") }
      // libcurl believes the line, and would send further requests over the connection before this response has ended.
      guard mayBeHTTP2 || !text.starts(with: "HTTP/2".utf8) else {
        return .invalid("Its first line says HTTP/2, and the connection speaks HTTP/1.1.")
      }
      state = .fields(status)
      fields = []
      return .none
    case .fields(let status) where text.isEmpty:
      let isInterim = status.isInformational && status.code != 101
      state = isInterim ? .statusLine : .afterHead
      self.status = status
      return .head(status, fields)
    case .fields:
      return ResponseHead.add(text, to: &fields) ? .none : .invalid("A line of its head has no colon.")
    case .afterHead:
      if !text.isEmpty { _ = ResponseHead.add(text, to: &trailers) }
      return .none
    }
  }

  /// Reads a line of trailers.
  mutating func readTrailer(_ line: some Collection<UInt8>) {
    Array(line).withUnsafeBytes { _ = ResponseHead.add($0, to: &trailers) }
  }

  /// `HTTP/`, a version, a blank, and three digits that a blank or nothing follows (RFC 9112, section 4).
  private static func status(_ line: UnsafeRawBufferPointer) -> HTTPStatus? {
    guard line.starts(with: "HTTP/".utf8), let blank = line.firstIndex(of: UInt8(ascii: " ")), line.count >= blank + 4,
      line.count == blank + 4 || line[blank + 4] == UInt8(ascii: " ")
    else { return nil }
    let digits = line[(blank + 1)..<(blank + 4)]
    guard digits.allSatisfy(ASCII.isDigit), digits.first! != UInt8(ascii: "0") else { return nil }
    return HTTPStatus(digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) })
  }

  /// Adds a field, or a continuation of the last one, which is joined with a blank (RFC 9112, section 5.2).
  private static func add(_ line: UnsafeRawBufferPointer, to fields: inout Fields) -> Bool {
    if FieldSyntax.isBlank(line[0]) {
      guard !fields.isEmpty else { return false }
      let name = fields[fields.count - 1].name
      fields[fields.count - 1].value += " " + ResponseReceiver.decoded(trimmed(line[...]), of: name)
      return true
    }
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return false }
    let name = String(decoding: line[..<colon], as: UTF8.self)
    fields.append((name, ResponseReceiver.decoded(trimmed(line[(colon + 1)...]), of: name)))
    return true
  }

  private static func trimmed(_ bytes: Slice<UnsafeRawBufferPointer>) -> Slice<UnsafeRawBufferPointer> {
    let bytes = bytes.drop(while: FieldSyntax.isBlank)
    return bytes.dropLast(bytes.reversed().prefix(while: FieldSyntax.isBlank).count)
  }
}
