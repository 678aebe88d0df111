/// A URL reference, split into its parts, without its fragment (RFC 3986, appendix B). The scheme and the authority are
/// not validated.
///
/// Foundation cannot be used: it encodes invalid characters instead of refusing them.
struct URLReference {
  /// The text before the first `:`, if it is a valid scheme.
  let scheme: Substring?
  /// The text after `//`.
  let authority: Substring?
  let path: Substring
  let query: Substring?

  /// Splits text that a program writes. An international host is converted to ASCII. In the query, brackets and bars are percent-encoded: many APIs use them, and they have one
  /// meaning there.
  ///
  /// - Throws: `HTTPError` with the code `invalidURL` for other bytes that are not allowed in a URL.
  init(_ text: String, _ noun: String = "The URL") throws(HTTPError) {
    let text = InternationalHost.converted(text)
    var isInQuery = false
    for (offset, byte) in text.utf8.enumerated() {
      if byte == UInt8(ascii: "?") { isInQuery = true }
      guard URLReference.isURLByte(byte) || isInQuery && byte == UInt8(ascii: "|") else {
        throw URLReference.refused(noun, "has a byte at offset \(offset) that is not allowed. Percent-encode it")
      }
    }
    let parts = URLReference.split(text.prefix { $0 != "#" })
    (scheme, authority, path) = (parts.scheme, parts.authority, parts.path)
    query = parts.query.map(URLReference.encodingMarks)
    try URLReference.check(path, noun)
    if let query { try URLReference.check(query, noun) }
    try URLReference.checkSegments(of: path, noun)
  }

  /// Splits text that a server sent, as the URL Standard does. Tabs and line ends are removed, also control characters
  /// and spaces at both ends. In the path and the query, bytes that are not allowed are percent-encoded, and a `%` that
  /// encodes nothing. In the path, a backslash is a slash, and encoded dot segments are dot segments. An empty port is no
  /// port.
  ///
  /// H13 (tolerant reading): a backslash before or after the host is refused, because the URL Standard and RFC 3986 find
  /// different hosts.
  ///
  /// - Throws: `HTTPError` with the code `invalidURL`.
  init(received text: String) throws(HTTPError) {
    let parts = URLReference.split(URLReference.encoded(received: text)[...])
    let path = URLReference.encodingMarks(parts.path.replacing("\\", with: "/"))
    guard !(parts.authority?.contains("\\") ?? path.hasPrefix("//")) else {
      throw URLReference.refused(
        "The URL", "has a backslash next to its host, which parsers read differently. Write a slash")
    }
    scheme = parts.scheme
    authority = parts.authority.map { $0.hasSuffix(":") ? $0.dropLast() : $0 }
    self.path =
      path.split(separator: "/", omittingEmptySubsequences: false)
      .map { URLReference.isEncodedDots($0) ? Substring(decoding: ASCII.percentDecoded($0), as: UTF8.self) : $0 }
      .joined(separator: "/")[...]
    query = parts.query.map { URLReference.encodingMarks($0.replacing("\\", with: "%5C")) }
  }

  /// Splits a reference without a fragment.
  private static func split(
    _ text: Substring
  ) -> (scheme: Substring?, authority: Substring?, path: Substring, query: Substring?) {
    var rest = text
    var scheme: Substring?
    let first = rest.prefix { $0 != ":" && $0 != "/" && $0 != "?" }
    if first.endIndex != rest.endIndex, rest[first.endIndex] == ":", isScheme(first) {
      scheme = first
      rest = rest[rest.index(after: first.endIndex)...]
    }
    var authority: Substring?
    if rest.hasPrefix("//") {
      let start = rest.dropFirst(2)
      let found = start.prefix { $0 != "/" && $0 != "?" }
      authority = found
      rest = start[found.endIndex...]
    }
    let path = rest.prefix { $0 != "?" }
    return (scheme, authority, path, path.endIndex == rest.endIndex ? nil : rest[path.endIndex...].dropFirst())
  }

  /// Returns the reference without its fragment, in bytes that a URL may have, and backslashes.
  ///
  /// The text is read by bytes: a combining character after a delimiter must not hide it.
  private static func encoded(received text: String) -> String {
    let start = text.utf8.drop { $0 <= 0x20 }
    let kept = start.dropLast(start.reversed().prefix { $0 <= 0x20 }.count)
      .filter { $0 != 0x09 && $0 != 0x0A && $0 != 0x0D }
      .prefix { $0 != UInt8(ascii: "#") }
    var encoded: [UInt8] = []
    encoded.reserveCapacity(kept.count)
    for (index, byte) in zip(kept.indices, kept) {
      let digits = kept[index...].dropFirst().prefix(2)
      let isEncoding = byte == UInt8(ascii: "%") && digits.count == 2 && digits.allSatisfy(ASCII.isHexDigit)
      if isEncoding || byte == UInt8(ascii: "\\") || isURLByte(byte) && byte != UInt8(ascii: "%") {
        encoded.append(byte)
      } else {
        encoded += "%\(ASCII.hexadecimal(byte))".utf8
      }
    }
    return String(decoding: encoded, as: UTF8.self)
  }

  /// Percent-encodes brackets and bars.
  private static func encodingMarks(_ text: Substring) -> Substring {
    func isMark(_ byte: UInt8) -> Bool { "[]|".utf8.contains(byte) }
    guard text.utf8.contains(where: isMark) else { return text }
    return ASCII.percentEncoded(String(text)) { !isMark($0) }[...]
  }

  static func refused(_ noun: String, _ fault: String) -> HTTPError {
    HTTPError(.invalidURL, "\(noun) \(fault).")
  }

  /// Returns the path without its segments `.` and `..` (RFC 3986, section 5.2.4).
  static func withoutDotSegments(_ path: Substring) -> String {
    let isAbsolute = path.hasPrefix("/")
    let segments = (isAbsolute ? path.dropFirst() : path).split(separator: "/", omittingEmptySubsequences: false)
    var kept: [Substring] = []
    for segment in segments {
      switch segment {
      case ".": break
      case "..": _ = kept.popLast()
      default: kept.append(segment)
      }
    }
    if let last = segments.last, last == "." || last == ".." { kept.append("") }  // The rest is a directory.
    return (isAbsolute ? "/" : "") + kept.joined(separator: "/")
  }

  private static func check(_ target: Substring, _ noun: String) throws(HTTPError) {
    guard !target.utf8.contains(where: { $0 == 0x5B || $0 == 0x5D }) else {
      throw refused(noun, "has a bracket in its path. Percent-encode it")
    }
    var rest = target.utf8[...]
    while let percent = rest.firstIndex(of: 0x25) {
      let digits = rest[rest.index(after: percent)...].prefix(2)
      guard digits.count == 2, digits.allSatisfy({ ASCII.isHexDigit($0) }) else {
        throw refused(
          noun, "has a percent sign in its path or query without two hexadecimal digits after it. Write %25")
      }
      rest = rest[digits.endIndex...]
    }
  }

  /// Refuses encoded dot segments: some parsers read `%2e%2e` as `..`, others as a name.
  private static func checkSegments(of path: Substring, _ noun: String) throws(HTTPError) {
    guard !path.split(separator: "/").contains(where: isEncodedDots) else {
      throw refused(
        noun, "has a percent-encoded . or .. as a segment of its path, which parsers read differently. Remove it")
    }
  }

  private static func isEncodedDots(_ segment: Substring) -> Bool {
    segment.utf8.contains(0x25) && isDots(ASCII.percentDecoded(segment))
  }

  static func isDots(_ segment: some Collection<UInt8>) -> Bool {
    (1...2).contains(segment.count) && segment.allSatisfy { $0 == 0x2E }
  }

  static func isScheme(_ text: Substring) -> Bool {
    guard let first = text.utf8.first, ASCII.isLetter(first) else { return false }
    return text.utf8.allSatisfy { ASCII.isLetter($0) || ASCII.isDigit($0) || "+-.".utf8.contains($0) }
  }

  /// Whether RFC 3986 allows the character anywhere in a URL. Includes `%`.
  private static func isURLByte(_ byte: UInt8) -> Bool {
    ASCII.isLetter(byte) || ASCII.isDigit(byte) || "-._~:/?#[]@!$&'()*+,;=%".utf8.contains(byte)
  }
}
