/// An HTTP request.
///
/// ```swift
/// var request = try HTTPRequest(.post, "https://example.com/comments")
/// try request.setHeader("Accept", "application/json")
/// request.body = .data(comment, contentType: "application/json")
/// ```
///
/// Parts that could split or smuggle a request are refused with an error that names the part (RFC 9110 and RFC 9112).
/// These are control bytes in the method, in header names and in header values, header fields that frame the message, and
/// user information in the URL. Nothing is dropped or rewritten silently. If a request is loaded twice, it is executed
/// twice.
public struct HTTPRequest: Sendable {
  /// The target of a request.
  public enum Target: Sendable, Hashable {
    /// A URL, which names the host.
    case url(HTTPURL)
    /// A path. A layer with a `ServerEnvironment` fills in the host.
    case path(HTTPPath)
  }

  /// The method.
  public var method: HTTPMethod {
    get { storage.parts.method }
    set { change { $0.method = newValue } }
  }
  /// The URL or the path. A new one has no `urlTemplate`.
  public var target: Target {
    get { storage.parts.target }
    set {
      change { parts in
        parts.target = newValue
        parts.urlTemplate = nil
      }
    }
  }
  /// The path with placeholders in place of its values, such as `/users/{}/posts`. `nil` if it is not known.
  ///
  /// ```swift
  /// var request = try HTTPRequest(.get, to: "users/\(id)/posts")  // users/{}/posts
  /// request.urlTemplate = "/users/{id}/posts"
  /// ```
  ///
  /// An `HTTPEndpoint` that is written as a literal knows its template, in which each interpolated value is `{}`, and a
  /// `ServerEnvironment` adds its prefix. Measurements have it as `url.template`: requests for many users are one time series.
  /// It is never sent.
  public var urlTemplate: String? {
    get { storage.parts.urlTemplate }
    set { change { $0.urlTemplate = newValue } }
  }
  /// The header fields that were set. The transport adds `Host`, `Content-Type`, and the fields that frame the body.
  public var headers: HTTPHeaders { storage.parts.headers }
  /// The body.
  ///
  /// A body with `GET` has no defined meaning (RFC 9110, section 9.3.1), although some servers read one. `CurlLoader` sends it, and
  /// `URLSessionLoader` refuses it with the code `forbiddenBody`. `HTTPMethod.query` works with both.
  public var body: HTTPBody {
    get { storage.parts.body }
    set { change { $0.body = newValue } }
  }

  /// A single reference, because every layer and every future of a chain holds a copy of the request.
  private var storage: Storage

  private struct Parts {
    var method: HTTPMethod
    var target: Target
    var urlTemplate: String?
    var headers = HTTPHeaders()
    var body: HTTPBody = .empty
    var options = HTTPRequestOptions()
    var sharedLoad: AnyObject?
  }

  private final class Storage: @unchecked Sendable {  // Because: it changes only while a single request holds it.
    @exclusivity(unchecked) var parts: Parts

    init(_ parts: Parts) {
      self.parts = parts
    }
  }

  private mutating func change<Failure>(_ body: (inout Parts) throws(Failure) -> Void) throws(Failure) {
    if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.parts) }
    try body(&storage.parts)
  }

  /// Returns whether one request is an unmodified copy of the other. If it returns `false`, the requests can still be
  /// equal.
  package func sharesStorage(with other: HTTPRequest) -> Bool { storage === other.storage }

  /// Creates a `GET` request.
  ///
  /// - Throws: `HTTPError` with the code `invalidURL`.
  public init(_ url: String) throws(HTTPError) {
    self.init(.get, try HTTPURL(url))
  }

  /// Creates a request for the URL in a string.
  ///
  /// - Throws: `HTTPError` with the code `invalidURL`.
  public init(_ method: HTTPMethod, _ url: String) throws(HTTPError) {
    self.init(method, try HTTPURL(url))
  }

  /// Creates a request for a parsed URL.
  public init(_ method: HTTPMethod, _ url: HTTPURL) {
    storage = Storage(Parts(method: method, target: .url(url)))
  }

  /// Creates a request for a path. A layer fills in the host.
  ///
  /// ```swift
  /// let request = try HTTPRequest(.get, path: "users/1")
  /// ```
  ///
  /// - Throws: `HTTPError` with the code `invalidURL`.
  public init(_ method: HTTPMethod, path: String) throws(HTTPError) {
    self.init(method, path: try HTTPPath(path))
  }

  /// Creates a request for a path that is already built.
  public init(_ method: HTTPMethod, path: HTTPPath) {
    storage = Storage(Parts(method: method, target: .path(path)))
  }

  /// The URL, or `nil` if the request has only a path.
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

  /// The query, percent-encoded, or `nil`.
  public var query: String? {
    switch target {
    case .url(let url): url.query
    case .path(let path): path.query
    }
  }

  /// Returns the URL, for transports and layers that need the host.
  ///
  /// - Throws: `HTTPError` with the code `missingHost` if the request has only a path.
  public func requireURL() throws(HTTPError) -> HTTPURL {
    switch target {
    case .url(let url): return url
    case .path(let path):
      throw HTTPError(
        .missingHost,
        "The request \(method) \(path) has no host. Use a URL, or add a layer that fills in a "
          + "ServerEnvironment.")
    }
  }

  /// Replaces all header fields that have this name with one field.
  ///
  /// - Throws: `HTTPError` with the code `invalidHeaderName`, `invalidHeaderValue` or `forbiddenHeader`.
  public mutating func setHeader(_ name: String, _ value: String) throws(HTTPError) {
    try HTTPRequest.checkIsAllowed(name)
    try change { parts throws(HTTPError) in try parts.headers.set(name, value) }
  }

  /// Replaces all header fields that have this name with one field, whose value the server sent before.
  ///
  /// - Throws: `HTTPError` with the code `invalidHeaderValue`.
  package mutating func setHeader(_ name: String, received value: String) throws(HTTPError) {
    let field = try HTTPHeaders.Field(received: name, value)
    change { $0.headers.set(field) }
  }

  /// Appends a header field.
  ///
  /// - Throws: `HTTPError` with the code `invalidHeaderName`, `invalidHeaderValue` or `forbiddenHeader`.
  public mutating func addHeader(_ name: String, _ value: String) throws(HTTPError) {
    try HTTPRequest.checkIsAllowed(name)
    try change { parts throws(HTTPError) in try parts.headers.add(name, value) }
  }

  /// Removes all header fields with this name.
  public mutating func removeHeader(_ name: String) {
    change { $0.headers.remove(name) }
  }

  /// Appends the fields whose names the request does not have. The fields must have passed `checkIsAllowed`.
  package mutating func addMissing(_ fields: HTTPHeaders) {
    let missing = fields.filter { !headers.contains($0.name) }
    if !missing.isEmpty { change { $0.headers.add(contentsOf: missing) } }
  }

  /// The value of an option of this request, or the default value.
  public subscript<Option: HTTPRequestOption>(option option: Option.Type) -> Option.Value {
    get { storage.parts.options[option] }
    set { change { $0.options[option] = newValue } }
  }

  /// Returns whether the request sets an option. Faster than reading its value.
  func sets<Option: HTTPRequestOption>(_ option: Option.Type) -> Bool { storage.parts.options.contains(option) }

  /// The shared load to which the request belongs: an object of the layer that shares it. An option would cost two more heap
  /// blocks a load.
  var sharedLoad: AnyObject? {
    get { storage.parts.sharedLoad }
    set { change { $0.sharedLoad = newValue } }
  }

  /// Returns the options that are set, except `ignored`, in a comparable form. Returns `nil` if one of them is not
  /// comparable.
  func comparableOptions(without ignored: Set<ObjectIdentifier>) -> [ObjectIdentifier: AnyHashable]? {
    storage.parts.options.comparable(without: ignored)
  }

  /// Replaces some options with those of another request.
  mutating func takeOptions(_ options: Set<ObjectIdentifier>, from other: HTTPRequest) {
    let taken = other.storage.parts.options
    change { $0.options.take(options, from: taken) }
  }

  /// Header fields that only the transport may set (RFC 9112, section 6, and RFC 9110, sections 7.2 and 7.6.1).
  private static let forbidden: Set<String> = [
    "connection", "content-length", "expect", "host", "http2-settings", "keep-alive", "proxy-connection", "te",
    "trailer",
    "transfer-encoding", "upgrade",
  ]

  static func checkIsAllowed(_ name: String) throws(HTTPError) {
    guard forbidden.contains(name.lowercased()) else { return }
    throw HTTPError(
      .forbiddenHeader,
      "The header \(FieldSyntax.visible(name)) cannot be set. It frames or routes the message, so the transport sets it. Remove it."
    )
  }
}

extension HTTPRequest: CustomStringConvertible, CustomReflectable {
  /// The method and the URL or path, without the query and the values of the headers, which may be secrets.
  public var description: String { method.name + " " + target.description }

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
