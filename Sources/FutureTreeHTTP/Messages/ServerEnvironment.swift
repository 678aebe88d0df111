/// The server that requests are for, where they do not say it themselves: production, staging, a test.
///
/// ```swift
/// let staging = try ServerEnvironment(host: "staging.example.com", pathPrefix: "/v1", headers: [("X-Team", "blue")])
/// let request = try staging.applied(to: HTTPRequest(.get, path: "users/1"))
/// request.url  // https://staging.example.com/v1/users/1
/// ```
public struct ServerEnvironment: Sendable {
  /// Where to connect, with the path prefix.
  let base: HTTPURL
  /// Header fields for requests that do not set them.
  public let headers: HTTPHeaders
  /// Names and values for the queries of requests that do not have them.
  public let query: [(String, String?)]

  /// - Parameters:
  ///   - scheme: how connections are made.
  ///   - host: a name, four decimal bytes, or an IPv6 address in brackets.
  ///   - port: nil for the scheme's own.
  ///   - pathPrefix: stands before relative paths, with or without slashes at its ends, percent-encoded.
  ///   - headers: names and values, for requests that do not set these names.
  ///   - query: names and values, which are percent-encoded, for requests that do not have these names.
  /// - Throws: `HTTPError` with the code `invalidURL`, `invalidHeaderName`, `invalidHeaderValue` or `forbiddenHeader`.
  public init(
    scheme: HTTPURL.Scheme = .https, host: String, port: UInt16? = nil, pathPrefix: String = "/",
    headers: [(String, String)] = [], query: [(String, String?)] = []
  ) throws(HTTPError) {
    let prefix = try HTTPPath(pathPrefix)
    guard prefix.query == nil else {
      throw HTTPError(.invalidURL, "The path prefix of an environment has a query: give its items as the query.")
    }
    let root = try HTTPURL(scheme: scheme, host: host, port: port)
    base = root.replacing(path: prefix.isAbsolute ? prefix.path : "/" + prefix.path, query: nil)
    for (name, _) in headers { try HTTPRequest.checkIsAllowed(name) }
    self.headers = try HTTPHeaders(headers)
    self.query = query
  }

  /// How connections are made.
  public var scheme: HTTPURL.Scheme { base.scheme }
  /// A name in lower case, four decimal bytes, or an IPv6 address in brackets.
  public var host: String { base.host }
  /// The port that was given, or nil for the scheme's own.
  public var port: UInt16? { base.explicitPort }
  /// What stands before relative paths; it begins with a slash.
  public var pathPrefix: String { base.path }

  /// The request with what it does not say itself.
  ///
  /// A request with only a path gets scheme, host and port; a path that does not begin with a slash stands below the
  /// prefix. Header fields and query items are added whose names the request does not have, behind those it has.
  ///
  /// A request with a URL of another origin is returned as it is: headers and query items of an environment may be
  /// credentials, and those never cross an origin. So the names of the fields that are added are put into
  /// `SensitiveHeaders`, and no redirect takes them elsewhere.
  ///
  /// - Throws: `HTTPError` if the result would be no valid request; what is in the types today always makes one.
  /// - Complexity: O(n) in the size of the request's head.
  public func applied(to request: HTTPRequest) throws(HTTPError) -> HTTPRequest {
    var request = request
    let url: HTTPURL
    switch request.target {
    case .url(let own):
      guard own.hasSameOrigin(as: base) else { return request }
      url = own
    case .path(let path):
      url = base.replacing(path: whole(path), query: path.query)
    }
    let present = URLText.names(in: url.query)
    let missing = query.filter { !present.contains(Array($0.0.utf8)) }
    request.target = .url(url.appending(query: missing))
    let added = headers.filter { !request.headers.contains($0.name) }
    request.addMissing(headers)
    for field in added { request[option: SensitiveHeaders.self].insert(field.name) }
    return request
  }

  private func whole(_ path: HTTPPath) -> String {
    if path.isAbsolute { return path.path }
    return path.path.isEmpty ? base.path : URLText.joined(base.path, path.path)
  }
}

extension ServerEnvironment: HTTPRequestOption {
  /// The layer decides.
  public static var defaultValue: ServerEnvironment? { nil }
}

extension HTTPRequest {
  /// The server that this request is for, in place of the one that the layer has; nil leaves it to the layer.
  ///
  /// ```swift
  /// request.serverEnvironment = staging
  /// ```
  public var serverEnvironment: ServerEnvironment? {
    get { self[option: ServerEnvironment.self] }
    set { self[option: ServerEnvironment.self] = newValue }
  }
}

extension ServerEnvironment: CustomStringConvertible, CustomReflectable {
  /// The URL of the server, without the values of headers and query, which may be secrets.
  public var description: String { base.description }

  public var customMirror: Mirror {
    Mirror(self, children: ["server": description, "headers": headers], displayStyle: .struct)
  }
}
