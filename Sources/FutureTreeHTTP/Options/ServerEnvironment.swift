/// The server for requests that do not name one, such as a production, staging or test server.
///
/// ```swift
/// let staging = try ServerEnvironment(host: "staging.example.com", pathPrefix: "/v1", headers: ["X-Team": "blue"])
/// let request = try staging.applied(to: HTTPRequest(.get, path: "users/1"))
/// request.url  // https://staging.example.com/v1/users/1
/// ```
public struct ServerEnvironment: Sendable {
  /// The URL of the server, with the path prefix.
  let base: HTTPURL
  /// The header fields for requests that do not set them.
  public let headers: HTTPHeaders
  /// The query items for requests that do not have them.
  public let query: NameValuePairs<String?>

  /// Creates an environment.
  ///
  /// - Parameters:
  ///   - scheme: The scheme. Defaults to `https`.
  ///   - host: A name, an IPv4 address with four decimal bytes, or an IPv6 address in brackets.
  ///   - port: The port. `nil` selects the default port of the scheme.
  ///   - pathPrefix: The prefix of relative paths, percent-encoded, with or without slashes at its ends.
  ///   - headers: Names and values, for requests that do not set these names.
  ///   - query: Names and values, for requests that do not have these names. They are percent-encoded.
  /// - Throws: `HTTPError` with the code `invalidURL`, `invalidHeaderName`, `invalidHeaderValue` or `forbiddenHeader`.
  public init(
    scheme: HTTPURL.Scheme = .https, host: String, port: UInt16? = nil, pathPrefix: String = "/",
    headers: NameValuePairs<String> = [], query: NameValuePairs<String?> = []
  ) throws(HTTPError) {
    let prefix = try HTTPPath(pathPrefix)
    guard prefix.query == nil else {
      throw HTTPError(
        .invalidURL, "The path prefix of the environment has a query. Pass the items as the parameter `query`.")
    }
    let root = try HTTPURL(scheme: scheme, host: host, port: port)
    base = root.replacing(path: prefix.isAbsolute ? prefix.path : "/" + prefix.path, query: nil)
    for (name, _) in headers { try HTTPRequest.checkIsAllowed(name) }
    self.headers = try HTTPHeaders(headers)
    self.query = query
  }

  /// The scheme.
  public var scheme: HTTPURL.Scheme { base.scheme }
  /// The host: a name in lower case, an IPv4 address, or an IPv6 address in brackets.
  public var host: String { base.host }
  /// The explicit port, or `nil` for the default port of the scheme.
  public var port: UInt16? { base.explicitPort }
  /// The prefix of relative paths. It begins with a slash.
  public var pathPrefix: String { base.path }

  /// Returns the request with the missing parts filled in.
  ///
  /// - A request with only a path gets the scheme, the host and the port. A relative path is appended to the prefix.
  /// - Header fields and query items are appended if the request does not have their names.
  ///
  /// A request with a URL of another origin is returned unchanged: headers and query items of an environment may be
  /// credentials, and credentials never cross an origin. For the same reason the names of the added fields are inserted
  /// into `SensitiveHeaders`, so that redirects to other origins drop them.
  ///
  /// - Throws: `HTTPError` if the result is not a valid request. Currently, the result is always valid.
  /// - Complexity: O(n) in the size of the request's head.
  public func applied(to request: HTTPRequest) throws(HTTPError) -> HTTPRequest {
    var request = request
    let url: HTTPURL
    switch request.target {
    case .url(let own):
      guard own.hasSameOrigin(as: base) else { return request }
      url = own
    case .path(let path):
      url = base.replacing(path: path.isAbsolute ? path.path : whole(path.path), query: path.query)
    }
    let present = URLText.names(in: url.query)
    let missing = query.filter { !present.contains(Array($0.0.utf8)) }
    let template = request.urlTemplate
    request.target = .url(url.appending(query: missing))
    request.urlTemplate = template.map { $0.hasPrefix("/") ? $0 : whole($0) }
    let added = headers.filter { !request.headers.contains($0.name) }
    request.addMissing(headers)
    for field in added { request.sensitiveHeaders.insert(field.name) }
    return request
  }

  /// Appends a relative path to the prefix.
  private func whole(_ path: String) -> String { path.isEmpty ? base.path : URLText.joined(base.path, path) }
}

extension ServerEnvironment: HTTPRequestOption {
  /// `nil`: the layer uses its own environment.
  public static var defaultValue: ServerEnvironment? { nil }
}

extension HTTPRequest {
  /// The server of this request, which replaces the server of the layer. If it is `nil`, the layer uses its own.
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
