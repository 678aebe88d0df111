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
