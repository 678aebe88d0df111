extension HTTPURL {
  /// Builds a URL from its parts. The parts are percent-encoded where necessary.
  ///
  /// ```swift
  /// let url = try HTTPURL(host: "example.com", path: ["users", "Ada Lovelace"], query: [("page", "2"), ("all", nil)])
  /// url.absoluteString  // "https://example.com/users/Ada%20Lovelace?page=2&all"
  /// ```
  ///
  /// A slash inside a segment is encoded, so that each segment stays one segment. If the last segment is empty, the path
  /// ends with a slash.
  ///
  /// - Parameters:
  ///   - scheme: The scheme. Defaults to `https`.
  ///   - host: A name, an IPv4 address with four decimal bytes, or an IPv6 address in brackets. It is not encoded.
  ///   - port: The port. `nil` selects the default port of the scheme.
  ///   - segments: The segments of the path, in order.
  ///   - query: Names and values in order. A name without a value has no `=`.
  /// - Throws: `HTTPError` with the code `invalidURL`. Its message names the part and the fault. The segments `.` and
  ///   `..` are refused, because they change the path. Their encoded forms would not help, because many servers treat
  ///   them in the same way.
  public init(
    scheme: Scheme = .https, host: String, port: UInt16? = nil, path segments: [String] = [],
    query: [(String, String?)] = []
  ) throws(HTTPError) {
    let (name, portInHost) = try HTTPURL.split(host[...])
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
  /// try HTTPURL("https://example.com/?page=2").appending(query: [("q", "a&b"), ("all", nil)])  // …/?page=2&q=a%26b&all
  /// ```
  public func appending(query items: [(String, String?)]) -> HTTPURL {
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
  /// to the same host. A backslash next to the host and user information are refused. The guide <doc:Policies> lists all
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
  static func appending(_ items: [(String, String?)], to query: String?) -> String? {
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
