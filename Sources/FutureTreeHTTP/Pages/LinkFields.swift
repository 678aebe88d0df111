/// The links of all `Link` fields of a message, up to a limit.
struct LinkFields {
  /// The maximum number of links. Memory then does not grow with the fields, which a server can make long.
  static let limit = 250

  private(set) var links: [HTTPLink] = []
  /// Whether every field was read to its end, without a malformed part.
  private(set) var isWhole = true

  init(_ headers: HTTPHeaders) {
    for value in headers.values(for: "Link") {
      var reader = LinkReader(value)
      if !reader.read(into: &links, limit: LinkFields.limit) { isWhole = false }
    }
  }
}

/// A parser for the value of one `Link` field (RFC 8288, appendix B.2). Each byte is read once, by loops.
private struct LinkReader: ByteReader {
  let bytes: [UInt8]
  var position = 0
  /// Whether a quoted string has no end. Its text can contain further links.
  private var isOpen = false

  init(_ value: String) {
    bytes = Array(value.utf8)
  }

  /// Appends the links up to the first malformed part.
  ///
  /// - Returns: Whether all of the value was read.
  mutating func read(into links: inout [HTTPLink], limit: Int) -> Bool {
    skip { $0 == UInt8(ascii: ",") || FieldSyntax.isBlank($0) }
    while current != nil {
      guard links.count < limit, let target = target() else { return false }
      var (parameters, languages) = parameters()
      let relations = LinkReader.words(of: parameters.removeValue(forKey: "rel") ?? "")
      if !relations.isEmpty {
        links.append(
          HTTPLink(target: target, relations: relations, parameters: parameters, languages: languages))
      }
      guard !isOpen, current == nil || current == UInt8(ascii: ",") else { return false }
      skip { $0 == UInt8(ascii: ",") || FieldSyntax.isBlank($0) }
    }
    return true
  }

  private mutating func target() -> String? {
    guard take(UInt8(ascii: "<")) else { return nil }
    let target = text { $0 != UInt8(ascii: ">") }
    return take(UInt8(ascii: ">")) ? target : nil
  }

  /// Reads the parameters (RFC 8288, appendix B.3). Afterwards the reader is at a comma, at a malformed part, or at the
  /// end.
  private mutating func parameters() -> ([String: String], languages: [String]) {
    var parameters: [String: String] = [:]
    var languages: [String] = []
    skip(FieldSyntax.isBlank)
    while take(UInt8(ascii: ";")) {
      skip(FieldSyntax.isBlank)
      let name = text { !FieldSyntax.isBlank($0) && $0 != UInt8(ascii: "=") && !LinkReader.isEnd($0) }.lowercased()
      skip(FieldSyntax.isBlank)
      let value = take(UInt8(ascii: "=")) ? self.value() : ""
      if !name.isEmpty, !name.hasSuffix("*"), parameters[name] == nil { parameters[name] = value }
      if name == "hreflang" { languages.append(value) }
      skip(FieldSyntax.isBlank)
    }
    return (parameters, languages)
  }

  private mutating func value() -> String {
    skip(FieldSyntax.isBlank)
    if let quoted = quotedString() {
      // A string without an end is the rest of the field (RFC 8288, appendix B.4).
      isOpen = !quoted.isClosed
      return quoted.text
    }
    let value = text { !LinkReader.isEnd($0) }
    return String(value.prefix(value.utf8.count - value.utf8.reversed().prefix(while: FieldSyntax.isBlank).count))
  }

  private static func isEnd(_ byte: UInt8) -> Bool { byte == UInt8(ascii: ";") || byte == UInt8(ascii: ",") }

  /// Returns the words between blanks, in lower case.
  private static func words(of text: String) -> [String] {
    text.utf8.split(whereSeparator: FieldSyntax.isBlank).map { String(decoding: $0, as: UTF8.self).lowercased() }
  }
}
