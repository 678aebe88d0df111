import FutureTree

/// Gives requests a token that was had elsewhere (RFC 6750, section 2.1).
///
/// ```swift
/// let api = BearerAuth(try BearerToken(text)) --> URLSessionLoader()
/// let other = BearerAuth { session.token() } --> URLSessionLoader()
/// ```
///
/// The token of the request itself (`HTTPRequest.bearerToken`) comes before that of the layer, also for requests
/// that are not among its targets. A request that has the header `Authorization` is left alone.
///
/// Nothing is sent over plain `http` but to this machine (`localhost`, `127.x.x.x`, `[::1]`), unless that is allowed: the
/// load fails with the code `insecureCredentials` before a provider is asked.
///
/// **A provider** is called once for all loads that wait at the same time; what it says is not kept. Where it says nil, the
/// request goes on without a token; where it fails, the load fails with the code `credentialsUnavailable`.
///
/// **Cancellation.** A load that waits for the provider is held here, ends `.cancelled` at once, and is never sent. Others go
/// on waiting; the last who leaves asks the provider's future. What has been sent is cancelled behind this layer.
///
/// **Reset.** Loads that wait for the provider end `.cancelled`, what it says then goes to nobody, and the next loader is
/// reset. A fixed token stays: it is how the chain was made.
///
/// **In two chains** both share one call of the provider, and a reset of either lets go of the waiting loads of both.
public final class BearerAuth: HTTPLayer {
  private let auth: HeaderAuth<BearerToken>

  /// The same token for each request.
  ///
  /// - Parameters:
  ///   - token: what gives access.
  ///   - targets: the requests that get it; every one that comes through this layer, if nothing else is said.
  ///   - allowsInsecureConnections: whether it may be sent over plain `http`.
  public init(
    _ token: BearerToken, for targets: CredentialTargets = .everyRequest,
    allowsInsecureConnections: Bool = false
  ) {
    auth = HeaderAuth(.fixed(token), for: targets, allowsInsecureConnections, .bearerAuth)
  }

  /// Tokens from a provider.
  ///
  /// - Parameters:
  ///   - targets: the requests that get it; every one that comes through this layer, if nothing else is said.
  ///   - allowsInsecureConnections: whether it may be sent over plain `http`.
  ///   - provider: is called outside every lock, from any thread. What it throws, or its future fails with, fails the loads.
  public init(
    for targets: CredentialTargets = .everyRequest, allowsInsecureConnections: Bool = false,
    provider: @escaping @Sendable () throws -> Future<BearerToken?>
  ) {
    auth = HeaderAuth(.provided(SharedProvider(provider)), for: targets, allowsInsecureConnections, .bearerAuth)
  }

  public func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    auth.load(request, own: request.bearerToken, next: next)
  }

  /// Lets go of the loads that wait for the provider, and resets `next`.
  public func reset(next: any HTTPLoader) -> Future<Void> {
    auth.reset(next: next)
  }
}

extension FutureName {
  fileprivate static let bearerAuth = FutureName("BearerAuth")
}
