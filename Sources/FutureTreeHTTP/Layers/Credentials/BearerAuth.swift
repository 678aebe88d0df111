import FutureTree

/// A layer that authenticates requests with a bearer token from another source (RFC 6750, section 2.1).
///
/// ```swift
/// let api = BearerAuth(try BearerToken(text)) --> SystemLoader()
/// let other = BearerAuth { session.token() } --> SystemLoader()
/// ```
///
/// If a request has its own token (`HTTPRequest.bearerToken`), it is used instead of the layer's, even if the request is
/// not among the layer's targets. A request that has the header `Authorization` is forwarded unchanged.
///
/// Tokens are sent over plain `http` only to this machine (`localhost`, `127.x.x.x`, `[::1]`), unless insecure
/// connections are allowed. Otherwise the load fails with the code `insecureCredentials` before the provider is called.
///
/// **Provider.** A provider is called once for all loads that wait at the same time, and its result is not stored. If the
/// result is `nil`, the request is forwarded without a token. If the provider fails, the load fails with the code
/// `credentialsUnavailable`.
///
/// **Cancellation.** The layer holds loads that wait for the provider. A cancelled load completes immediately as
/// `.cancelled` and is never sent. Other loads continue to wait. When the last waiting load is cancelled, the future of
/// the provider is asked to cancel. A request that was forwarded is cancelled by the loaders after this layer.
///
/// **Reset.** Loads that wait for the provider complete as `.cancelled`, and the result of the provider is ignored. A fixed
/// token is kept, because it is part of the configuration.
///
/// **In two chains.** The loads of both chains share one call of the provider. A reset of either chain cancels the
/// waiting loads of both.
public final class BearerAuth: HTTPLayer {
  private let auth: HeaderAuth<BearerToken>

  /// Creates a layer with the same token for all requests.
  ///
  /// - Parameters:
  ///   - token: The token.
  ///   - targets: The requests that get the token. Defaults to every request that goes through the layer.
  ///   - allowsInsecureConnections: Whether the token may be sent over plain `http`. Defaults to `false`.
  public init(
    _ token: BearerToken, for targets: CredentialTargets = .everyRequest,
    allowsInsecureConnections: Bool = false
  ) {
    auth = HeaderAuth(.fixed(token), for: targets, allowsInsecureConnections, .bearerAuth)
  }

  /// Creates a layer with a provider of tokens.
  ///
  /// - Parameters:
  ///   - targets: The requests that get the token. Defaults to every request that goes through the layer.
  ///   - allowsInsecureConnections: Whether the token may be sent over plain `http`. Defaults to `false`.
  ///   - provider: The closure that provides the token. It is called outside every lock, from any thread. If it throws an
  ///     error or its future fails, the loads fail.
  public init(
    for targets: CredentialTargets = .everyRequest, allowsInsecureConnections: Bool = false,
    provider: @escaping @Sendable () throws -> Future<BearerToken?>
  ) {
    auth = HeaderAuth(.provided(SharedProvider(provider)), for: targets, allowsInsecureConnections, .bearerAuth)
  }

  public func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    auth.load(request, own: request.bearerToken, next: next)
  }

  /// Cancels the loads that wait for the provider.
  public func drain(_ notes: ResetNotes) -> Future<Void> { auth.drain(notes) }
}

extension FutureName {
  fileprivate static let bearerAuth = FutureName("BearerAuth")
}
