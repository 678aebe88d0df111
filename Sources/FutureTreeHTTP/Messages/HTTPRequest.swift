/// A request, as a value.
///
/// ```swift
/// var request = try HTTPRequest(.post, "https://example.com/comments")
/// try request.setHeader("Accept", "application/json")
/// request.body = .data(comment, contentType: "application/json")
/// ```
///
/// What could split or smuggle a request is refused by throwing an error that says which part (RFC 9110 and 9112): control
/// bytes in method, header name or value, header fields that say where the message ends, user information in the URL.
/// Nothing is dropped or rewritten silently. A request that is loaded twice is two executions.
public struct HTTPRequest: Sendable {
  /// What a request is for.
  public enum Target: Sendable, Hashable {
    /// A URL, which says where to connect.
    case url(HTTPURL)
    /// A path. Where to connect is filled in by a layer that has a `ServerEnvironment`.
    case path(HTTPPath)
  }

  /// What is to be done.
  public var method: HTTPMethod {
    get { storage.parts.method }
    set { change { $0.method = newValue } }
  }
  /// What it is to be done with.
  public var target: Target {
    get { storage.parts.target }
    set { change { $0.target = newValue } }
  }
  /// The header fields that were set. The transport adds `Host`, `Content-Type`, and what frames the body.
  public var headers: HTTPHeaders { storage.parts.headers }
  /// What is sent with it.
  public var body: HTTPBody {
    get { storage.parts.body }
    set { change { $0.body = newValue } }
  }

  /// One reference, because every layer and every future of a chain copies the request.
  private var storage: Storage

  private struct Parts {
    var method: HTTPMethod
    var target: Target
    var headers = HTTPHeaders()
    var body: HTTPBody = .empty
    var options = HTTPRequestOptions()
  }

  private final class Storage: @unchecked Sendable {  // Because: it changes only while one request refers to it.
    @exclusivity(unchecked) var parts: Parts

    init(_ parts: Parts) {
      self.parts = parts
    }
  }

  private mutating func change<Failure>(_ body: (inout Parts) throws(Failure) -> Void) throws(Failure) {
    if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.parts) }
    try body(&storage.parts)
  }

  /// Returns whether one request is an unchanged copy of the other. If false, the requests may still be equal.
  func sharesStorage(with other: HTTPRequest) -> Bool { storage === other.storage }

  /// A `GET` request.
  ///
  /// - Throws: `HTTPError` with the code `invalidURL`.
  public init(_ url: String) throws(HTTPError) {
    self.init(.get, try HTTPURL(url))
  }

  /// - Throws: `HTTPError` with the code `invalidURL`.
  public init(_ method: HTTPMethod, _ url: String) throws(HTTPError) {
    self.init(method, try HTTPURL(url))
  }

  /// A request for a URL that was parsed before.
  public init(_ method: HTTPMethod, _ url: HTTPURL) {
    storage = Storage(Parts(method: method, target: .url(url)))
  }

  /// A request for a path, as in `/users/1`; a layer fills in the host.
  ///
  /// ```swift
  /// let request = try HTTPRequest(.get, path: "users/1")
  /// ```
  ///
  /// - Throws: `HTTPError` with the code `invalidURL`.
  public init(_ method: HTTPMethod, path: String) throws(HTTPError) {
    self.init(method, path: try HTTPPath(path))
  }

  /// A request for a path that was built before.
  public init(_ method: HTTPMethod, path: HTTPPath) {
    storage = Storage(Parts(method: method, target: .path(path)))
  }

  /// The URL, or nil if the request has only a path.
  public var url: HTTPURL? {
    if case .url(let url) = target { url } else { nil }
  }

  /// The path, percent-encoded, without the query.
  public var path: String {
    switch target {
    case .url(let url): url.path
    case .path(let path): path.path
    }
  }

  /// What stands behind the path, percent-encoded, or nil.
  public var query: String? {
    switch target {
    case .url(let url): url.query
    case .path(let path): path.query
    }
  }

  /// The URL, for transports and layers that must know the host.
  ///
  /// - Throws: `HTTPError` with the code `missingHost` if the request has only a path.
  public func requireURL() throws(HTTPError) -> HTTPURL {
    switch target {
    case .url(let url): return url
    case .path(let path):
      throw HTTPError(
        .missingHost,
        "The request \(method) \(path) has no host. Give it a URL, or put a layer before the transport that fills in a "
          + "ServerEnvironment.")
    }
  }

  /// Puts one header field in the place of all with this name.
  ///
  /// - Throws: `HTTPError` with the code `invalidHeaderName`, `invalidHeaderValue` or `forbiddenHeader`.
  public mutating func setHeader(_ name: String, _ value: String) throws(HTTPError) {
    try HTTPRequest.checkIsAllowed(name)
    try change { parts throws(HTTPError) in try parts.headers.set(name, value) }
  }

  /// Adds a header field after those that are there.
  ///
  /// - Throws: `HTTPError` with the code `invalidHeaderName`, `invalidHeaderValue` or `forbiddenHeader`.
  public mutating func addHeader(_ name: String, _ value: String) throws(HTTPError) {
    try HTTPRequest.checkIsAllowed(name)
    try change { parts throws(HTTPError) in try parts.headers.add(name, value) }
  }

  /// Removes every header field with this name.
  public mutating func removeHeader(_ name: String) {
    change { $0.headers.remove(name) }
  }

  /// Adds the fields whose names the request does not have; they were checked by `checkIsAllowed`.
  mutating func addMissing(_ fields: HTTPHeaders) {
    let missing = fields.filter { !headers.contains($0.name) }
    if !missing.isEmpty { change { $0.headers.add(contentsOf: missing) } }
  }

  /// An option of this request, or its default.
  public subscript<Option: HTTPRequestOption>(option option: Option.Type) -> Option.Value {
    get { storage.parts.options[option] }
    set { change { $0.options[option] = newValue } }
  }

  /// The options that were set, to be compared, without some. nil if one of them cannot be compared.
  func comparableOptions(without ignored: Set<ObjectIdentifier>) -> [ObjectIdentifier: AnyHashable]? {
    storage.parts.options.comparable(without: ignored)
  }

  /// RFC 9112, section 6, and RFC 9110, sections 7.2 and 7.6.1: what only the transport may say.
  private static let forbidden: Set<String> = [
    "connection", "content-length", "expect", "host", "http2-settings", "keep-alive", "proxy-connection", "te",
    "trailer",
    "transfer-encoding", "upgrade",
  ]

  static func checkIsAllowed(_ name: String) throws(HTTPError) {
    guard forbidden.contains(name.lowercased()) else { return }
    throw HTTPError(
      .forbiddenHeader,
      "The header \(FieldSyntax.visible(name)) is the transport's: it frames or routes the message. Leave it out; the transport sets it."
    )
  }
}

extension HTTPRequest: CustomStringConvertible, CustomReflectable {
  /// Method and URL or path, without the query and the values of the headers, which may be secrets.
  public var description: String { "\(method) \(target)" }

  public var customMirror: Mirror {
    Mirror(self, children: ["request": description, "headers": headers, "body": body], displayStyle: .struct)
  }
}

extension HTTPRequest.Target: CustomStringConvertible, CustomReflectable {
  /// The URL or the path, without the query.
  public var description: String {
    switch self {
    case .url(let url): url.description
    case .path(let path): path.description
    }
  }

  public var customMirror: Mirror { Mirror(self, children: ["target": description], displayStyle: .enum) }
}
