/// The path of a request whose host is filled in later, with an optional query.
///
/// ```swift
/// let request = HTTPRequest(.get, path: try HTTPPath(["users", id], query: ["page": "2"]))
/// ```
///
/// `/users/1` is the whole path. `users/1` is appended to the path prefix of the environment. A path never names a host
/// and never leaves the prefix: a path that begins with `//`, or climbs above the prefix with `..`, is refused.
public struct HTTPPath: Sendable, Hashable {
  /// The path, percent-encoded as written, without dot segments.
  public let path: String
  /// The text after `?`, percent-encoded, or `nil`.
  public let query: String?

  /// Whether the path begins with a slash and therefore ignores the prefix.
  public var isAbsolute: Bool { path.hasPrefix("/") }

  /// Parses a path with an optional query. A fragment is allowed but not sent.
  ///
  /// - Throws: `HTTPError` with the code `invalidURL`. Its message says what is wrong.
  public init(_ text: String) throws(HTTPError) {
    let reference = try URLReference(text, "The path")
    guard reference.scheme == nil, !reference.path.prefix(while: { $0 != "/" }).contains(":") else {
      throw URLReference.refused("The path", "begins with a scheme, like a URL. Use HTTPURL, or begin with a slash")
    }
    guard reference.authority == nil else {
      throw URLReference.refused("The path", "begins with //, which would name a host. Write one slash")
    }
    let path = URLReference.withoutDotSegments(reference.path)
    guard !path.hasPrefix("//"), reference.path.hasPrefix("/") || !path.hasPrefix("/") else {
      throw URLReference.refused(
        "The path", "begins with an empty segment after its dot segments are resolved. Write it without dot segments")
    }
    guard reference.path.hasPrefix("/") || !HTTPPath.climbs(reference.path) else {
      throw URLReference.refused("The path", "climbs above its prefix. Remove a .. segment")
    }
    self.path = path
    query = reference.query.map(String.init)
  }

  /// Creates a path below the prefix from segments. Segments are percent-encoded where necessary, as in `HTTPURL`.
  ///
  /// - Throws: `HTTPError` with the code `invalidURL` for the segments `.` and `..`, and if the first of several segments
  ///   is empty.
  public init(_ segments: [String], query: NameValuePairs<String?> = []) throws(HTTPError) {
    guard segments.count < 2 || segments.first?.isEmpty == false else {
      throw HTTPError(
        .invalidURL,
        "The first segment of the path is empty, so the path would not be below the prefix. "
          + "Remove it.")
    }
    path = try URLText.path(segments)
    self.query = URLText.appending(query, to: nil)
  }

  private init(path: String, query: String?) {
    self.path = path
    self.query = query
  }

  /// Returns the path with items appended to its query, percent-encoded as in `HTTPURL`.
  func appending(query items: NameValuePairs<String?>) -> HTTPPath {
    HTTPPath(path: path, query: URLText.appending(items, to: query))
  }

  private static func climbs(_ path: Substring) -> Bool {
    var depth = 0
    for segment in path.split(separator: "/", omittingEmptySubsequences: false) where segment != "." {
      depth += segment == ".." ? -1 : 1
      if depth < 0 { return true }
    }
    return false
  }
}

extension HTTPPath: CustomStringConvertible, CustomReflectable {
  /// The path without the query, which may contain secrets.
  public var description: String { path + (query == nil ? "" : "?…") }

  public var customMirror: Mirror { Mirror(self, children: ["path": description], displayStyle: .struct) }
}
