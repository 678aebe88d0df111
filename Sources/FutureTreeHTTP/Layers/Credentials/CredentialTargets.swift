import FutureTree

/// The set of requests that get the credentials of a layer.
///
/// ```swift
/// let api = BearerAuth(token, for: .origins(try HTTPURL("https://api.example.com/"))) --> SystemLoader()
/// ```
///
/// Other requests are forwarded without credentials. The targets are not evaluated again for redirects: `Redirect`, which
/// comes after the credentials, removes them when a redirect leads to another origin.
public struct CredentialTargets: Sendable {
  private let includes: @Sendable (HTTPRequest) -> Bool

  private init(_ includes: @escaping @Sendable (HTTPRequest) -> Bool) {
    self.includes = includes
  }

  /// Every request that goes through the layer. Use this for chains with one server.
  public static let everyRequest = CredentialTargets { _ in true }

  /// Requests with the scheme, host and port of one of these URLs. A request that has only a path is not included.
  public static func origins(_ origins: HTTPURL...) -> CredentialTargets {
    CredentialTargets { request in
      guard let url = request.url else { return false }
      return origins.contains { $0.hasSameOrigin(as: url) }
    }
  }

  /// Requests that match a predicate. The predicate is called outside every lock, from any thread.
  public static func requests(where includes: @escaping @Sendable (HTTPRequest) -> Bool) -> CredentialTargets {
    CredentialTargets(includes)
  }

  func include(_ request: HTTPRequest) -> Bool { includes(request) }
}

/// The rules for sending credentials.
package struct CredentialRules: Sendable {
  private let targets: CredentialTargets
  private let allowsInsecureConnections: Bool

  package init(targets: CredentialTargets, allowsInsecureConnections: Bool) {
    self.targets = targets
    self.allowsInsecureConnections = allowsInsecureConnections
  }

  /// Returns whether a layer adds credentials: the request has no `Authorization` header, and is a target.
  package func covers(_ request: HTTPRequest) -> Bool {
    !request.headers.contains("Authorization") && targets.include(request)
  }

  /// Checks that the connection is secure enough for credentials.
  ///
  /// - Throws: `HTTPError` with the code `insecureCredentials` or `missingHost`.
  package func checkIsSecure(_ request: HTTPRequest) throws(HTTPError) {
    try checkIsSecure(try request.requireURL())
  }

  /// Checks that the connection is encrypted. Connections to this machine need no encryption.
  package func checkIsSecure(_ url: HTTPURL) throws(HTTPError) {
    guard url.scheme == .http, !allowsInsecureConnections, !url.isLoopback else { return }
    throw HTTPError(
      .insecureCredentials,
      "The credentials for \(url.origin) would be sent over plain http, which is not encrypted. Use https, or allow "
        + "insecure connections.")
  }

  /// Returns the request with its credentials.
  ///
  /// - Throws: `HTTPError` with the code `insecureCredentials`, `missingHost` or `invalidHeaderValue`.
  package func authorized(_ request: HTTPRequest, _ authorization: String) throws(HTTPError) -> HTTPRequest {
    try checkIsSecure(request)
    var request = request
    try request.setHeader("Authorization", authorization)
    return request
  }

  /// Loads the request with its credentials. If `authorized` throws, returns a failed future with this name.
  package func send(
    _ request: HTTPRequest, _ authorization: String, _ next: any HTTPLoader, named name: FutureName
  ) -> Future<HTTPResponse> {
    do {
      return next.load(try authorized(request, authorization))
    } catch {
      return .failed(error).named(name)
    }
  }
}

extension HTTPURL {
  /// Whether the host is this machine: `localhost`, `127.x.x.x` or `[::1]`.
  package var isLoopback: Bool {
    if host == "localhost" || host == "[::1]" { return true }
    let bytes = host.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
    return bytes.count == 4 && bytes.first == 127 && !bytes.contains(nil)
  }
}
