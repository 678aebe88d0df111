/// The path of a request whose host is filled in later, perhaps with a query.
///
/// ```swift
/// let request = HTTPRequest(.get, path: try HTTPPath(["users", id], query: [("page", "2")]))
/// ```
///
/// `/users/1` is the whole path; `users/1` stands below the prefix that the environment has. Neither names a host, and
/// neither leads out of the prefix: what begins with `//`, or with `..`, is refused.
public struct HTTPPath: Sendable, Hashable {
  /// The path, percent-encoded as it was written, without dot segments.
  public let path: String
  /// What stands after `?`, percent-encoded, or nil.
  public let query: String?

  /// Whether it begins with a slash, so that it stands below no prefix.
  public var isAbsolute: Bool { path.hasPrefix("/") }

  /// Parses a path, perhaps with a query. A fragment is allowed and not sent.
  ///
  /// - Throws: `HTTPError` with the code `invalidURL`, which says what is wrong.
  public init(_ text: String) throws(HTTPError) {
    let reference = try URLReference(text, "The path")
    guard reference.scheme == nil, !reference.path.prefix(while: { $0 != "/" }).contains(":") else {
      throw URLReference.refused("The path", "begins as a URL does, with a scheme: use HTTPURL, or begin with a slash")
    }
    guard reference.authority == nil else {
      throw URLReference.refused("The path", "begins with //, which would name a host: write one slash")
    }
    let path = URLReference.withoutDotSegments(reference.path)
    guard !path.hasPrefix("//"), reference.path.hasPrefix("/") || !path.hasPrefix("/") else {
      throw URLReference.refused(
        "The path", "begins with an empty segment when its dot segments are resolved: write it without them")
    }
    guard reference.path.hasPrefix("/") || !HTTPPath.climbs(reference.path) else {
      throw URLReference.refused("The path", "leads out of the prefix that it stands below: it has a .. too many")
    }
    self.path = path
    query = reference.query.map(String.init)
  }

  /// A path of segments below the prefix, each percent-encoded where that is needed, as by `HTTPURL`.
  ///
  /// - Throws: `HTTPError` with the code `invalidURL` for the segments `.` and `..`, and if the first of several is empty.
  public init(_ segments: [String], query: [(String, String?)] = []) throws(HTTPError) {
    guard segments.count < 2 || segments.first?.isEmpty == false else {
      throw HTTPError(
        .invalidURL,
        "The first segment of a path is empty, so that it would not stand below the prefix. "
          + "Remove it.")
    }
    path = try URLText.path(segments)
    self.query = URLText.appending(query, to: nil)
  }

  private init(path: String, query: String?) {
    self.path = path
    self.query = query
  }

  /// The path with further items at the end of its query, percent-encoded as by `HTTPURL`.
  func appending(query items: [(String, String?)]) -> HTTPPath {
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
  /// The path without the query, which may hold secrets.
  public var description: String { path + (query == nil ? "" : "?…") }

  public var customMirror: Mirror { Mirror(self, children: ["path": description], displayStyle: .struct) }
}
