extension HTTPURL {
  /// Parses an absolute URL. A fragment is allowed and not sent.
  ///
  /// - Throws: `HTTPError` with the code `invalidURL`, which says which part and why.
  public init(_ text: String) throws(HTTPError) {
    if let offset = text.utf8.enumerated().first(where: { !HTTPURL.isURLByte($0.element) })?.offset {
      throw HTTPURL.refused("has a byte at offset \(offset) that must be percent-encoded")
    }
    guard let separator = text.firstRange(of: "://") else {
      throw HTTPURL.refused("has no scheme: write http:// or https://")
    }
    guard let scheme = Scheme(rawValue: text[..<separator.lowerBound].lowercased()) else {
      throw HTTPURL.refused("has a scheme other than http and https")
    }
    let rest = text[separator.upperBound...].prefix { $0 != "#" }
    let authority = rest.prefix { $0 != "/" && $0 != "?" }
    let target = rest[authority.endIndex...]
    let path = target.prefix { $0 != "?" }
    let query = path.endIndex == target.endIndex ? nil : target[path.endIndex...].dropFirst()
    try HTTPURL.check(target: target)

    let (host, port) = try HTTPURL.split(authority)
    self.scheme = scheme
    self.host = host
    explicitPort = port
    self.path = path.isEmpty ? "/" : String(path)
    self.query = query.map(String.init)
  }

  private static func refused(_ fault: String) -> HTTPError {
    HTTPError(.invalidURL, "The URL \(fault).")
  }

  private static func split(_ authority: Substring) throws(HTTPError) -> (host: String, port: UInt16?) {
    guard !authority.contains("@") else {
      throw refused("has user information before its host: send credentials in a header")
    }
    if authority.hasPrefix("[") {
      guard let end = authority.firstIndex(of: "]") else { throw refused("has a host without its closing bracket") }
      let address = authority[authority.index(after: authority.startIndex)..<end]
      guard isIPv6(address) else { throw refused("has a host in brackets that is no IPv6 address") }
      return ("[\(address.lowercased())]", try port(in: authority[authority.index(after: end)...]))
    }
    let host = authority.prefix { $0 != ":" }
    try check(host)
    return (host.lowercased(), try port(in: authority[host.endIndex...]))
  }

  /// `""` or `":"` and a number from 1 to 65535.
  private static func port(in text: Substring) throws(HTTPError) -> UInt16? {
    guard !text.isEmpty else { return nil }
    let digits = text.dropFirst()
    guard text.first == ":", !digits.isEmpty, digits.utf8.allSatisfy({ isDigit($0) }), let port = UInt16(digits),
      port > 0
    else { throw refused("has a port that is no number from 1 to 65535") }
    return port
  }

  /// Letters, digits and hyphens in labels of 1 to 63 bytes, or four decimal bytes. An underscore is allowed, as in the
  /// names that service discovery uses.
  private static func check(_ host: Substring) throws(HTTPError) {
    guard !host.isEmpty else { throw refused("has no host") }
    guard host.utf8.count <= 253 else { throw refused("has a host longer than 253 bytes") }
    var labels = host.split(separator: ".", omittingEmptySubsequences: false)
    if labels.count > 1, labels.last?.isEmpty == true { labels.removeLast() }  // The root: "example.com."
    for label in labels {
      guard (1...63).contains(label.utf8.count) else { throw refused("has a host with a label of no or over 63 bytes") }
      guard label.utf8.allSatisfy({ isLetter($0) || isDigit($0) || $0 == 0x2D || $0 == 0x5F }) else {
        throw refused(
          "has a host with a byte that no name has: use letters, digits, hyphens, and Punycode for the rest")
      }
      guard label.utf8.first != 0x2D, label.utf8.last != 0x2D else {
        throw refused("has a host with a label that begins or ends with a hyphen")
      }
    }
    guard let last = labels.last, let first = last.utf8.first, isDigit(first) else { return }
    guard labels.count == 4, labels.allSatisfy({ isDecimalByte($0) }), !host.hasSuffix(".") else {
      throw refused("has a host that ends in a number and is not four decimal bytes, which parsers read differently")
    }
  }

  private static func isDecimalByte(_ label: Substring) -> Bool {
    label.utf8.allSatisfy { isDigit($0) } && UInt8(label) != nil && (label.utf8.count == 1 || label.first != "0")
  }

  /// RFC 4291, section 2.2, without zone identifiers: groups of up to four hexadecimal digits, `::` once at most, and four
  /// decimal bytes in the place of the last two groups.
  private static func isIPv6(_ address: Substring) -> Bool {
    let halves = address.split(separator: "::", omittingEmptySubsequences: false)
    guard halves.count <= 2 else { return false }
    var groups = 0
    for (position, half) in halves.enumerated() where !half.isEmpty {
      let parts = half.split(separator: ":", omittingEmptySubsequences: false)
      for (index, part) in parts.enumerated() {
        let isLast = position == halves.count - 1 && index == parts.count - 1
        if isLast, part.contains(".") {
          let bytes = part.split(separator: ".", omittingEmptySubsequences: false)
          guard bytes.count == 4, bytes.allSatisfy({ isDecimalByte($0) }) else { return false }
          groups += 2
        } else {
          guard (1...4).contains(part.utf8.count), part.utf8.allSatisfy({ isHexDigit($0) }) else { return false }
          groups += 1
        }
      }
    }
    return halves.count == 2 ? groups <= 7 : groups == 8
  }

  private static func check(target: Substring) throws(HTTPError) {
    guard !target.utf8.contains(where: { $0 == 0x5B || $0 == 0x5D }) else {
      throw refused("has a bracket in its path or query: percent-encode it")
    }
    var rest = target.utf8[...]
    while let percent = rest.firstIndex(of: 0x25) {
      let digits = rest[rest.index(after: percent)...].prefix(2)
      guard digits.count == 2, digits.allSatisfy({ isHexDigit($0) }) else {
        throw refused("has a percent sign in its path or query that two hexadecimal digits do not follow")
      }
      rest = rest[digits.endIndex...]
    }
  }

  /// The characters that RFC 3986 allows anywhere in a URL, and `%`.
  private static func isURLByte(_ byte: UInt8) -> Bool {
    isLetter(byte) || isDigit(byte) || "-._~:/?#[]@!$&'()*+,;=%".utf8.contains(byte)
  }

  private static func isLetter(_ byte: UInt8) -> Bool { (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) }

  private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

  private static func isHexDigit(_ byte: UInt8) -> Bool {
    isDigit(byte) || (0x41...0x46).contains(byte) || (0x61...0x66).contains(byte)
  }
}
