/// A URL reference, split into its parts without validation of the parts, and without its fragment (RFC 3986, appendix
/// B).
///
/// Foundation cannot be used: it encodes invalid characters instead of refusing them.
struct URLReference {
  /// The text before the first `:`, if it is a valid scheme.
  let scheme: Substring?
  /// The text after `//`.
  let authority: Substring?
  let path: Substring
  let query: Substring?

  /// - Throws: `HTTPError` with the code `invalidURL` for bytes that are not allowed in a URL.
  init(_ text: String, _ noun: String = "The URL") throws(HTTPError) {
    if let offset = text.utf8.enumerated().first(where: { !URLReference.isURLByte($0.element) })?.offset {
      throw URLReference.refused(noun, "has a byte at offset \(offset) that is not allowed. Percent-encode it")
    }
    var rest = text.prefix { $0 != "#" }
    let first = rest.prefix { $0 != ":" && $0 != "/" && $0 != "?" }
    if first.endIndex != rest.endIndex, rest[first.endIndex] == ":", URLReference.isScheme(first) {
      scheme = first
      rest = rest[rest.index(after: first.endIndex)...]
    } else {
      scheme = nil
    }
    if rest.hasPrefix("//") {
      let start = rest.dropFirst(2)
      let authority = start.prefix { $0 != "/" && $0 != "?" }
      self.authority = authority
      rest = start[authority.endIndex...]
    } else {
      authority = nil
    }
    path = rest.prefix { $0 != "?" }
    query = path.endIndex == rest.endIndex ? nil : rest[path.endIndex...].dropFirst()
    try URLReference.check(rest, noun)
    try URLReference.checkSegments(of: path, noun)
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
      throw refused(noun, "has a bracket in its path or query. Percent-encode it")
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
    for segment in path.split(separator: "/") where segment.utf8.contains(0x25) {
      guard !isDots(ASCII.percentDecoded(segment)) else {
        throw refused(
          noun, "has a percent-encoded . or .. as a segment of its path, which parsers read differently. Remove it")
      }
    }
  }

  static func isDots(_ segment: some Collection<UInt8>) -> Bool {
    (1...2).contains(segment.count) && segment.allSatisfy { $0 == 0x2E }
  }

  private static func isScheme(_ text: Substring) -> Bool {
    guard let first = text.utf8.first, ASCII.isLetter(first) else { return false }
    return text.utf8.allSatisfy { ASCII.isLetter($0) || ASCII.isDigit($0) || "+-.".utf8.contains($0) }
  }

  /// Whether RFC 3986 allows the character anywhere in a URL. Includes `%`.
  private static func isURLByte(_ byte: UInt8) -> Bool {
    ASCII.isLetter(byte) || ASCII.isDigit(byte) || "-._~:/?#[]@!$&'()*+,;=%".utf8.contains(byte)
  }
}
