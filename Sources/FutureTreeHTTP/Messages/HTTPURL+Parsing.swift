extension HTTPURL {
  /// Parses an absolute URL. Dot segments in its path are resolved. A fragment is allowed but not sent.
  ///
  /// - Throws: `HTTPError` with the code `invalidURL`. Its message names the part and the fault.
  public init(_ text: String) throws(HTTPError) {
    try self.init(URLReference(text))
  }

  /// Parses an absolute URL that a server sent, as `resolving(received:)` does.
  package init(received text: String) throws(HTTPError) {
    try self.init(URLReference(received: text))
  }

  private init(_ reference: URLReference) throws(HTTPError) {
    guard let scheme = reference.scheme else {
      throw HTTPURL.refused("has no scheme. Begin it with http:// or https://")
    }
    try self.init(scheme: try HTTPURL.scheme(scheme), reference)
  }

  /// Creates the URL of a reference with an authority. The scheme of the reference is ignored.
  init(scheme: Scheme, _ reference: URLReference) throws(HTTPError) {
    guard let authority = reference.authority else {
      throw HTTPURL.refused("has no // and host after its scheme. Write it like https://example.com/")
    }
    let (host, port) = try HTTPURL.split(authority)
    let path = URLReference.withoutDotSegments(reference.path)
    self.init(
      scheme: scheme, host: host, explicitPort: port, path: path.isEmpty ? "/" : path,
      query: reference.query.map(String.init))
  }

  static func scheme(_ text: Substring) throws(HTTPError) -> Scheme {
    guard let scheme = Scheme(rawValue: text.lowercased()) else {
      throw refused("has a scheme other than http and https. Use http or https")
    }
    return scheme
  }

  private static func refused(_ fault: String) -> HTTPError { URLReference.refused("The URL", fault) }

  static func split(_ authority: Substring) throws(HTTPError) -> (host: String, port: UInt16?) {
    guard !authority.contains("@") else {
      throw refused("has user information before its host. Send credentials in a header")
    }
    if authority.hasPrefix("[") {
      guard let end = authority.firstIndex(of: "]") else {
        throw refused("has a host without a closing bracket. Write ] after the address")
      }
      let address = authority[authority.index(after: authority.startIndex)..<end]
      guard isIPv6(address) else {
        throw refused("has a host in brackets that is not an IPv6 address. Write an address like [::1]")
      }
      return ("[\(address.lowercased())]", try port(in: authority[authority.index(after: end)...]))
    }
    let host = authority.prefix { $0 != ":" }
    try check(host)
    return (host.lowercased(), try port(in: authority[host.endIndex...]))
  }

  /// Parses an empty text, or a colon and a number from 1 to 65535.
  private static func port(in text: Substring) throws(HTTPError) -> UInt16? {
    guard !text.isEmpty else { return nil }
    let digits = text.dropFirst()
    guard text.first == ":", !digits.isEmpty, digits.utf8.allSatisfy({ ASCII.isDigit($0) }), let port = UInt16(digits),
      port > 0
    else { throw refused("has a port that is not a number from 1 to 65535. Use such a number, or remove the colon") }
    return port
  }

  /// Checks that the host is a name or an IPv4 address. A name has labels of 1 to 63 letters, digits and hyphens.
  /// Underscores are allowed, because names in service discovery contain them.
  private static func check(_ host: Substring) throws(HTTPError) {
    guard !host.isEmpty else { throw refused("has no host. Write a host after the //") }
    guard host.utf8.count <= 253 else {
      throw refused("has a host longer than 253 bytes, the limit of DNS. Use a shorter name")
    }
    var labels = host.split(separator: ".", omittingEmptySubsequences: false)
    if labels.count > 1, labels.last?.isEmpty == true { labels.removeLast() }  // The root label: "example.com."
    for label in labels {
      guard (1...63).contains(label.utf8.count) else {
        throw refused("has a host with a label that is empty or longer than 63 bytes. Check its dots")
      }
      guard label.utf8.allSatisfy({ ASCII.isLetter($0) || ASCII.isDigit($0) || $0 == 0x2D || $0 == 0x5F }) else {
        throw refused(
          "has a host with an invalid character. Use letters, digits, hyphens, and Punycode for other characters")
      }
      guard label.utf8.first != 0x2D, label.utf8.last != 0x2D else {
        throw refused("has a host with a label that begins or ends with a hyphen. Remove the hyphen")
      }
    }
    guard let last = labels.last, let first = last.utf8.first, ASCII.isDigit(first) else { return }
    guard labels.count == 4, labels.allSatisfy({ isDecimalByte($0) }), !host.hasSuffix(".") else {
      throw refused(
        "has a host that ends with a number and is not an IPv4 address of four decimal numbers. Write all four numbers")
    }
  }

  private static func isDecimalByte(_ label: Substring) -> Bool {
    label.utf8.allSatisfy { ASCII.isDigit($0) } && UInt8(label) != nil && (label.utf8.count == 1 || label.first != "0")
  }

  /// Returns whether the text is an IPv6 address without a zone identifier (RFC 4291, section 2.2). It has groups of up
  /// to four hexadecimal digits and at most one `::`. Four decimal bytes can stand in place of the last two groups.
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
          guard (1...4).contains(part.utf8.count), part.utf8.allSatisfy({ ASCII.isHexDigit($0) }) else { return false }
          groups += 1
        }
      }
    }
    return halves.count == 2 ? groups <= 7 : groups == 8
  }
}
