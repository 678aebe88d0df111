import Foundation

/// A URL with the scheme `http` or `https`, split into its parts (RFC 3986).
///
/// ```swift
/// let url = try HTTPURL("https://example.com:8443/feed?page=2")
/// url.host  // "example.com"
/// ```
///
/// URLs are parsed strictly and sent as written, except that dot segments are resolved (RFC 3986, section 5.2.4), that an
/// international host is converted to Punycode by the platform (UTS 46), and that brackets and bars in the query are
/// percent-encoded: `filter[name]=a|b`. Parts that parsers interpret differently are refused,
/// because a check of the URL and the connection must refer to the same host. These are user information, backslashes, percent
/// signs and control bytes in a host, numeric hosts that are not four decimal bytes, and encoded dot segments. For text that a
/// server sent, use `resolving(received:)`.
public struct HTTPURL: Sendable, Hashable {
  /// The scheme of a URL.
  public enum Scheme: String, Sendable {
    /// HTTP without encryption.
    case http
    /// HTTP over TLS.
    case https

    /// The port of URLs that name no port.
    public var defaultPort: UInt16 { self == .http ? 80 : 443 }
  }

  /// The scheme.
  public let scheme: Scheme
  /// The host: a name in lower case, an IPv4 address, or an IPv6 address in brackets.
  public let host: String
  /// The port in the URL, or `nil` if it has none.
  public let explicitPort: UInt16?
  /// The path, percent-encoded as written, without dot segments. `/` if the URL has no path.
  public let path: String
  /// The text between `?` and `#`, percent-encoded, or `nil`.
  public let query: String?
  /// The whole URL as it is sent, without a fragment.
  public let absoluteString: String

  package init(scheme: Scheme, host: String, explicitPort: UInt16?, path: String, query: String?) {
    self.scheme = scheme
    self.host = host
    self.explicitPort = explicitPort
    self.path = path
    self.query = query
    var text = ""
    HTTPURL.write(scheme, host, explicitPort, to: &text)
    text += path
    if let query {
      text += "?"
      text += query
    }
    absoluteString = text
  }

  public static func == (first: HTTPURL, second: HTTPURL) -> Bool { first.absoluteString == second.absoluteString }

  public func hash(into hasher: inout Hasher) { hasher.combine(absoluteString) }

  /// The port of the connection.
  public var port: UInt16 { explicitPort ?? scheme.defaultPort }

  /// The scheme, the host and the port. Credentials never cross an origin.
  public var origin: String {
    var text = ""
    write(originTo: &text)
    return text
  }

  /// Appends `origin` to a string, without a string of its own.
  func write(originTo text: inout String) { HTTPURL.write(scheme, host, explicitPort, to: &text) }

  private static func write(_ scheme: Scheme, _ host: String, _ explicitPort: UInt16?, to text: inout String) {
    text += scheme.rawValue
    text += "://"
    text += host
    if let explicitPort {
      text += ":"
      text += String(explicitPort)
    }
  }

  /// Returns whether the scheme, the host and the port are equal. An explicit default port equals no port.
  public func hasSameOrigin(as other: HTTPURL) -> Bool {
    scheme == other.scheme && host == other.host && port == other.port
  }
}

extension HTTPURL: CustomStringConvertible, CustomReflectable {
  /// The URL without the query, which may contain secrets.
  public var description: String { query == nil ? absoluteString : origin + path + "?…" }

  public var customMirror: Mirror { Mirror(self, children: ["url": description], displayStyle: .struct) }
}

extension HTTPURL {
  /// Parses an absolute URL. Dot segments in its path are resolved. A fragment is allowed but not sent.
  ///
  /// - Throws: `HTTPError` with the code `invalidURL`. Its message names the part and the fault.
  public init(_ text: String) throws(HTTPError) {
    try self.init(URLReference(text))
  }

  /// Parses a URL of Foundation. A relative one is resolved against its base.
  ///
  /// - Throws: `HTTPError` with the code `invalidURL`.
  public init(_ url: URL) throws(HTTPError) {
    try self.init(url.absoluteString)
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
          "has a host with a character that no host can have. Use letters, digits and hyphens")
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

extension HTTPURL {
  /// Builds a URL from its parts. The parts are percent-encoded where necessary.
  ///
  /// ```swift
  /// let url = try HTTPURL(host: "example.com", path: ["users", "Ada Lovelace"], query: ["page": "2", "all": nil])
  /// url.absoluteString  // "https://example.com/users/Ada%20Lovelace?page=2&all"
  /// ```
  ///
  /// A slash inside a segment is encoded, so that each segment stays one segment. If the last segment is empty, the path
  /// ends with a slash.
  ///
  /// - Parameters:
  ///   - scheme: The scheme. Defaults to `https`.
  ///   - host: A name, an IPv4 address with four decimal bytes, or an IPv6 address in brackets. An international name is converted
  ///     to Punycode.
  ///   - port: The port. `nil` selects the default port of the scheme.
  ///   - segments: The segments of the path, in order.
  ///   - query: Names and values in order. A name without a value has no `=`.
  /// - Throws: `HTTPError` with the code `invalidURL`. Its message names the part and the fault. The segments `.` and
  ///   `..` are refused, because they change the path. Their encoded forms would not help, because many servers treat
  ///   them in the same way.
  public init(
    scheme: Scheme = .https, host: String, port: UInt16? = nil, path segments: [String] = [],
    query: NameValuePairs<String?> = []
  ) throws(HTTPError) {
    let (name, portInHost) = try HTTPURL.split((InternationalHost.ascii(host) ?? host)[...])
    guard portInHost == nil else {
      throw HTTPError(.invalidURL, "The host of the URL contains a port. Pass the port as the parameter `port`.")
    }
    guard port != 0 else { throw HTTPError(.invalidURL, "The port of the URL is 0. Use a number from 1 to 65535.") }
    self.init(
      scheme: scheme, host: name, explicitPort: port, path: "/" + (try URLText.path(segments)),
      query: URLText.appending(query, to: nil))
  }

  /// Returns the URL with segments appended to its path. Segments are percent-encoded where necessary.
  ///
  /// ```swift
  /// try HTTPURL("https://example.com/v1/?q").appending(path: ["users", "1/2"])  // https://example.com/v1/users/1%2F2?q
  /// ```
  ///
  /// - Throws: `HTTPError` with the code `invalidURL` for the segments `.` and `..`.
  public func appending(path segments: [String]) throws(HTTPError) -> HTTPURL {
    guard !segments.isEmpty else { return self }
    return replacing(path: URLText.joined(path, try URLText.path(segments)), query: query)
  }

  /// Returns the URL with items appended to its query. Items are percent-encoded where necessary.
  ///
  /// ```swift
  /// try HTTPURL("https://example.com/?page=2").appending(query: ["q": "a&b", "all": nil])  // …/?page=2&q=a%26b&all
  /// ```
  public func appending(query items: NameValuePairs<String?>) -> HTTPURL {
    replacing(path: path, query: URLText.appending(items, to: query))
  }

  func replacing(path: String, query: String?) -> HTTPURL {
    HTTPURL(scheme: scheme, host: host, explicitPort: explicitPort, path: path, query: query)
  }

  /// Resolves a reference relative to this URL (RFC 3986, section 5.2).
  ///
  /// ```swift
  /// try HTTPURL("https://example.com/a/b?q").resolving("../c")  // https://example.com/c
  /// ```
  ///
  /// References are resolved strictly: `http:c` is not a reference to `c`. The fragment is dropped. For text that a server
  /// sent, use `resolving(received:)`.
  ///
  /// - Throws: `HTTPError` with the code `invalidURL`, under the same rules as for an absolute URL.
  public func resolving(_ reference: String) throws(HTTPError) -> HTTPURL {
    try resolving(URLReference(reference))
  }

  /// Resolves a reference that a server sent, such as the value of `Location` or a URL in a body.
  ///
  /// ```swift
  /// let folder = try HTTPURL("https://example.com/files/")
  /// try folder.resolving(received: "my report.pdf?filter[year]=1")  // …/files/my%20report.pdf?filter%5Byear%5D=1
  /// ```
  ///
  /// References are read as browsers read them (URL Standard, section 4.4). In the path and the query, characters that a
  /// URL must not contain are percent-encoded as UTF-8. A backslash in the path is a slash. Tabs, line ends, and spaces at
  /// both ends are removed. The fragment is dropped.
  ///
  /// The scheme and the host are parsed as strictly as in `init(_:)`, so that all programs that read the reference connect
  /// to the same host. An international host is refused, because parsers convert such hosts in different ways. A backslash next to the host and user information are refused. The guide <doc:Policies> lists all
  /// refused forms.
  ///
  /// - Returns: A URL that `init(_:)` accepts. It can have another origin.
  /// - Throws: `HTTPError` with the code `invalidURL`.
  /// - Complexity: O(n) in the length of the reference.
  public func resolving(received reference: String) throws(HTTPError) -> HTTPURL {
    try resolving(URLReference(received: reference))
  }

  private func resolving(_ parts: URLReference) throws(HTTPError) -> HTTPURL {
    if let scheme = parts.scheme { return try HTTPURL(scheme: try HTTPURL.scheme(scheme), parts) }
    if parts.authority != nil { return try HTTPURL(scheme: scheme, parts) }
    let query = parts.query.map(String.init)
    if parts.path.isEmpty { return replacing(path: path, query: query ?? self.query) }
    let merged =
      parts.path.hasPrefix("/") ? parts.path : path[...(path.lastIndex(of: "/") ?? path.startIndex)] + parts.path
    return replacing(path: URLReference.withoutDotSegments(merged), query: query)
  }
}

/// Functions that build paths and queries from their parts (RFC 3986, sections 3.3 and 3.4).
enum URLText {
  /// Returns the encoded segments, joined with slashes.
  ///
  /// - Throws: `HTTPError` with the code `invalidURL` for `.` and `..`.
  static func path(_ segments: [String]) throws(HTTPError) -> String {
    if let position = segments.firstIndex(where: { URLReference.isDots($0.utf8) }) {
      throw HTTPError(
        .invalidURL,
        "The segment at position \(position) of the path is \(segments[position]), a dot segment. Remove it."
      )
    }
    return segments.map { ASCII.percentEncoded($0, keeping: isSegmentByte) }.joined(separator: "/")
  }

  /// Appends a path to another. An empty last segment of the first path is replaced.
  static func joined(_ front: String, _ back: String) -> String {
    front + (front.hasSuffix("/") ? "" : "/") + back
  }

  /// Returns the query with items appended, or `nil` if there is neither a query nor an item.
  static func appending(_ items: NameValuePairs<String?>, to query: String?) -> String? {
    guard !items.isEmpty else { return query }
    let added = items.map { name, value in
      ASCII.percentEncoded(name, keeping: ASCII.isUnreserved)
        + (value.map { "=" + ASCII.percentEncoded($0, keeping: ASCII.isUnreserved) } ?? "")
    }.joined(separator: "&")
    guard let query, !query.isEmpty else { return added }
    return query + (query.hasSuffix("&") ? "" : "&") + added
  }

  /// Returns the names of the items of a query, decoded as form fields.
  static func names(in query: String?) -> Set<[UInt8]> {
    let items = query.map { $0.split(separator: "&") } ?? []
    return Set(
      items.map { item in
        let name = item.prefix { $0 != "=" }.utf8.map { $0 == 0x2B ? 0x20 : $0 }
        return ASCII.percentDecoded(String(decoding: name, as: UTF8.self))
      })
  }

  /// Whether RFC 3986 allows the byte in a segment. `;` is excluded, because it begins parameters of a segment.
  private static func isSegmentByte(_ byte: UInt8) -> Bool {
    ASCII.isUnreserved(byte) || "!$&'()*+,=:@".utf8.contains(byte)
  }
}
