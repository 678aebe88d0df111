extension HTTPURL {
  /// Builds a URL from its parts, which are percent-encoded where that is needed.
  ///
  /// ```swift
  /// let url = try HTTPURL(host: "example.com", path: ["users", "Ada Lovelace"], query: [("page", "2"), ("all", nil)])
  /// url.absoluteString  // "https://example.com/users/Ada%20Lovelace?page=2&all"
  /// ```
  ///
  /// A segment is one segment, whatever is in it: a slash in it is encoded. An empty last one ends the path with a slash.
  ///
  /// - Parameters:
  ///   - scheme: how the connection is made.
  ///   - host: a name, four decimal bytes, or an IPv6 address in brackets; nothing in it is encoded.
  ///   - port: nil for the scheme's own.
  ///   - segments: the segments of the path, in order.
  ///   - query: names and values in order; a name without a value stands without `=`.
  /// - Throws: `HTTPError` with the code `invalidURL`, which says which part and why. Segments `.` and `..` are refused:
  ///   they would lead elsewhere, and encoded they are the same to many servers.
  public init(
    scheme: Scheme = .https, host: String, port: UInt16? = nil, path segments: [String] = [],
    query: [(String, String?)] = []
  ) throws(HTTPError) {
    let (name, portInHost) = try HTTPURL.split(host[...])
    guard portInHost == nil else {
      throw HTTPError(.invalidURL, "The host of a URL has a port: give it as the port.")
    }
    guard port != 0 else { throw HTTPError(.invalidURL, "The port of a URL is 0: use a number from 1 to 65535.") }
    self.init(
      scheme: scheme, host: name, explicitPort: port, path: "/" + (try URLText.path(segments)),
      query: URLText.appending(query, to: nil))
  }

  /// The URL with further segments at the end of its path, each percent-encoded where that is needed.
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

  /// The URL with further items at the end of its query, each percent-encoded where that is needed.
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

  /// What a reference means that was found here, such as the value of `Location` (RFC 3986, section 5.2).
  ///
  /// ```swift
  /// try HTTPURL("https://example.com/a/b?q").resolving("../c")  // https://example.com/c
  /// ```
  ///
  /// It is resolved strictly: `http:c` is no reference to `c`. The fragment is left out.
  ///
  /// - Throws: `HTTPError` with the code `invalidURL`, as for a URL that is written out.
  public func resolving(_ reference: String) throws(HTTPError) -> HTTPURL {
    let parts = try URLReference(reference)
    if let scheme = parts.scheme { return try HTTPURL(scheme: try HTTPURL.scheme(scheme), parts) }
    if parts.authority != nil { return try HTTPURL(scheme: scheme, parts) }
    let query = parts.query.map(String.init)
    if parts.path.isEmpty { return replacing(path: path, query: query ?? self.query) }
    let merged =
      parts.path.hasPrefix("/") ? parts.path : path[...(path.lastIndex(of: "/") ?? path.startIndex)] + parts.path
    return replacing(path: URLReference.withoutDotSegments(merged), query: query)
  }
}

/// Paths and queries that are built from their parts (RFC 3986, sections 3.3 and 3.4).
enum URLText {
  /// The segments with slashes between them.
  ///
  /// - Throws: `HTTPError` with the code `invalidURL` for `.` and `..`.
  static func path(_ segments: [String]) throws(HTTPError) -> String {
    if let position = segments.firstIndex(where: { URLReference.isDots($0.utf8) }) {
      throw HTTPError(
        .invalidURL,
        "The segment at position \(position) of a path is \(segments[position]), which would lead elsewhere. Remove it."
      )
    }
    return segments.map { ASCII.percentEncoded($0, keeping: isSegmentByte) }.joined(separator: "/")
  }

  /// A path below another; an empty last segment of the upper one gives way.
  static func joined(_ front: String, _ back: String) -> String {
    front + (front.hasSuffix("/") ? "" : "/") + back
  }

  /// The query with further items, or nil if there is neither.
  static func appending(_ items: [(String, String?)], to query: String?) -> String? {
    guard !items.isEmpty else { return query }
    let added = items.map { name, value in
      ASCII.percentEncoded(name, keeping: ASCII.isUnreserved)
        + (value.map { "=" + ASCII.percentEncoded($0, keeping: ASCII.isUnreserved) } ?? "")
    }.joined(separator: "&")
    guard let query, !query.isEmpty else { return added }
    return query + (query.hasSuffix("&") ? "" : "&") + added
  }

  /// The names of the items of a query, decoded as forms are.
  static func names(in query: String?) -> Set<[UInt8]> {
    let items = query.map { $0.split(separator: "&") } ?? []
    return Set(
      items.map { item in
        let name = item.prefix { $0 != "=" }.utf8.map { $0 == 0x2B ? 0x20 : $0 }
        return ASCII.percentDecoded(String(decoding: name, as: UTF8.self))
      })
  }

  /// What RFC 3986 allows in a segment, but for `;`, which begins parameters of a segment.
  private static func isSegmentByte(_ byte: UInt8) -> Bool {
    ASCII.isUnreserved(byte) || "!$&'()*+,=:@".utf8.contains(byte)
  }
}
