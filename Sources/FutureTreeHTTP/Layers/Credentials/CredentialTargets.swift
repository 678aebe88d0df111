import FutureTree

/// The requests that a layer gives its credentials to.
///
/// ```swift
/// let api = BearerAuth(token, for: .origins(try HTTPURL("https://api.example.com/"))) --> URLSessionLoader()
/// ```
///
/// Others pass without. A redirect that leads elsewhere is not asked: `Redirect`, which stands behind the credentials,
/// takes them off when it crosses to another origin.
public struct CredentialTargets: Sendable {
  private let includes: @Sendable (HTTPRequest) -> Bool

  private init(_ includes: @escaping @Sendable (HTTPRequest) -> Bool) {
    self.includes = includes
  }

  /// Every request that comes through the layer: for chains that talk to one server.
  public static let everyRequest = CredentialTargets { _ in true }

  /// Requests for the scheme, host and port of one of these URLs; none for a request that has only a path.
  public static func origins(_ origins: HTTPURL...) -> CredentialTargets {
    CredentialTargets { request in
      guard let url = request.url else { return false }
      return origins.contains { $0.hasSameOrigin(as: url) }
    }
  }

  /// Requests that a predicate says yes to. It is called outside every lock, from any thread.
  public static func requests(where includes: @escaping @Sendable (HTTPRequest) -> Bool) -> CredentialTargets {
    CredentialTargets(includes)
  }

  func include(_ request: HTTPRequest) -> Bool { includes(request) }
}

/// Where credentials may go.
package struct CredentialRules: Sendable {
  private let targets: CredentialTargets
  private let allowsInsecureConnections: Bool

  package init(targets: CredentialTargets, allowsInsecureConnections: Bool) {
    self.targets = targets
    self.allowsInsecureConnections = allowsInsecureConnections
  }

  /// Whether a layer says who asks: not if the request says it itself, or is not meant.
  package func covers(_ request: HTTPRequest) -> Bool {
    !request.headers.contains("Authorization") && targets.include(request)
  }

  /// - Throws: `HTTPError` with the code `insecureCredentials` or `missingHost`.
  package func checkIsSecure(_ request: HTTPRequest) throws(HTTPError) {
    try checkIsSecure(try request.requireURL())
  }

  /// What stays in this machine needs no encryption.
  package func checkIsSecure(_ url: HTTPURL) throws(HTTPError) {
    guard url.scheme == .http, !allowsInsecureConnections, !url.isLoopback else { return }
    throw HTTPError(
      .insecureCredentials,
      "The credentials for \(url.origin) would be sent over plain http, where others can read them. Use https, or allow "
        + "insecure connections.")
  }

  /// The request with its credentials.
  ///
  /// - Throws: `HTTPError` with the code `insecureCredentials`, `missingHost` or `invalidHeaderValue`.
  package func authorized(_ request: HTTPRequest, _ authorization: String) throws(HTTPError) -> HTTPRequest {
    try checkIsSecure(request)
    var request = request
    try request.setHeader("Authorization", authorization)
    return request
  }

  /// Loads the request with its credentials, or fails as `authorized` says, with a future of this name.
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
  var isLoopback: Bool {
    if host == "localhost" || host == "[::1]" { return true }
    let bytes = host.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
    return bytes.count == 4 && bytes.first == 127 && !bytes.contains(nil)
  }
}
