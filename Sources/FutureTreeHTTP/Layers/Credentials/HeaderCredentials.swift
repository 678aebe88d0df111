import FutureTree

/// Credentials that form one value of the header `Authorization`.
protocol HeaderCredentials: Sendable {
  var authorization: String { get }
}

/// The shared implementation of `BasicAuth` and `BearerAuth`: the source of the credentials, and the rules for sending
/// them.
struct HeaderAuth<Credentials: HeaderCredentials>: Sendable {
  enum Source: Sendable {
    case fixed(Credentials)
    case provided(SharedProvider<Credentials>)
  }

  private let source: Source
  private let rules: CredentialRules
  /// The name of the layer.
  private let name: FutureName

  init(_ source: Source, for targets: CredentialTargets, _ allowsInsecureConnections: Bool, _ name: FutureName) {
    self.source = source
    self.name = name
    rules = CredentialRules(targets: targets, allowsInsecureConnections: allowsInsecureConnections)
  }

  /// - Parameter own: The credentials of the request itself.
  func load(_ request: HTTPRequest, own: Credentials?, next: any HTTPLoader) -> Future<HTTPResponse> {
    if let own, !request.headers.contains("Authorization") { return send(request, own, next) }
    guard rules.covers(request) else { return next.load(request) }
    do {
      try rules.checkIsSecure(request)
    } catch {
      return .failed(error).named(name)
    }
    switch source {
    case .fixed(let credentials): return send(request, credentials, next)
    case .provided(let provider): return provider.value().flatMap { send(request, $0, next) }.named(name)
    }
  }

  func drain(_ notes: ResetNotes) -> Future<Void> {
    if case .provided(let provider) = source { notes.drained(provider.cancelAll()) }
    return .succeeded
  }

  private func send(
    _ request: HTTPRequest, _ credentials: Credentials?, _ next: any HTTPLoader
  ) -> Future<HTTPResponse> {
    guard let credentials else { return next.load(request) }
    return rules.send(request, credentials.authorization, next, named: name)
  }
}
