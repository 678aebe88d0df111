import FutureTree
import FutureTreeHTTP

/// A layer that refreshes a token when a server rejects it with 401, and repeats the request once.
///
/// ```swift
/// let api = ApplyEnvironment(server) --> RefreshOnUnauthorized(savedToken) { loader in
///   loader.post("\(base)/session", json: RefreshRequest(keychain), as: Session.self).map { try BearerToken($0.token) }
/// } --> Redirect() --> URLSessionLoader()
/// ```
///
/// The layer stands behind the layer that fills in the host, because it must know where a token goes. So the requests of the
/// refresh name their host.
///
/// Requests are sent with the current token, in the header `Authorization`; without one they are sent as they are. When the
/// response is 401, the layer calls `refresh`, **once for all loads that wait**, and repeats each request with the new token.
/// It skips the refresh if the token has changed since the request was sent. A second 401 is the response. `OAuth2` does the
/// same for authorization servers, and finds out how to get a token by itself.
///
/// A 401 counts if it answers a request with the current token and comes from the origin of the request. A 401 whose `Bearer`
/// challenge reports `insufficient_scope` or `invalid_request` is the response: another token would not help. A request whose
/// body cannot be sent again (`HTTPBody.isReplayable`) is not repeated either; the next load refreshes the token first.
///
/// A request that has the header `Authorization`, or is not among the targets, passes as it is. No token is sent over plain
/// `http` except to this machine, unless that is allowed: the load fails with the code `insecureCredentials`.
///
/// **A refresh that fails** fails all loads that wait, with the code `credentialsUnavailable`, and those that were sent before
/// and are answered with 401 later. A load that begins afterwards refreshes again: before it is sent if there is a token, and
/// after its own 401 otherwise.
///
/// **Loads of the refresh itself** bypass this layer: those over the loader that `refresh` gets, and those that it begins over
/// the chain while it runs or in a task that it starts. A load that a continuation of another future begins over the chain is
/// not recognized, and waits for the refresh that waits for it: use the loader.
///
/// **Cancellation.** A load that waits for the refresh is held here: it completes `.cancelled` at once, and is not sent again,
/// unless it was cancelled with `doNotForwardRequest`. The refresh goes on for the others, and also for none: the server may
/// have used up a refresh token already. A load that is in flight is cancelled behind this layer.
///
/// **Reset.** Loads that wait complete `.cancelled`, the refresh is asked to cancel and awaited, and its token is discarded. The
/// token is deleted, and `onChange` gets `nil`. A load that was sent before and is answered with 401 gets that response.
///
/// **In two chains** both have one token, and a reset of either deletes it.
public final class RefreshOnUnauthorized: HTTPLayer {
  /// Called with each new token, and with `nil` after a reset, to store it.
  public typealias ChangeHandler = @Sendable (_ token: BearerToken?) -> Void

  private let loads: AuthorizedLoads
  /// The refreshes to which the code that runs now belongs, some of which may have ended.
  @TaskLocal private static var refreshes: [Refresh] = []

  /// Creates a layer that gets its tokens from a closure.
  ///
  /// - Parameters:
  ///   - token: The token to begin with. Defaults to none: requests are sent without one until a server answers with 401.
  ///   - targets: The requests that get the token. Defaults to every request that comes through this layer.
  ///   - allowsInsecureConnections: Whether the token may be sent over plain `http`. Defaults to `false`.
  ///   - refresh: Gets the loader behind this layer, and returns a future of a new token. It is called outside every lock, on
  ///     the thread where the 401 arrived. An error that it throws is the failure of the refresh.
  ///   - onChange: Called outside every lock before the new token is used. It is not called with a token after a reset.
  public init(
    _ token: BearerToken? = nil, for targets: CredentialTargets = .everyRequest,
    allowsInsecureConnections: Bool = false,
    refresh: @escaping @Sendable (_ loader: any HTTPLoader) throws -> Future<BearerToken>,
    onChange: ChangeHandler? = nil
  ) {
    let work = TokenRefresh(refresh: refresh, onChange: onChange)
    let state = OAuth2State(source: .renewal, credential: token.map { OAuth2Credential(accessToken: $0) })
    loads = AuthorizedLoads(
      session: OAuth2Session(state, work, date: .system),
      rules: CredentialRules(targets: targets, allowsInsecureConnections: allowsInsecureConnections),
      requiresToken: false, name: .refreshOnUnauthorized)
    work.session.value = ObjectIdentifier(loads.session)
  }

  /// The current token, or `nil` if there is none.
  public var token: BearerToken? { loads.session.token }

  /// Replaces the token, after a log-in for example, and reports it to `onChange`.
  ///
  /// A refresh in flight is asked to cancel, awaited, and discarded; the loads that wait for it get the new token.
  ///
  /// - Returns: A future that succeeds when the token is in use. It fails with the code `resetInProgress` during a reset.
  @discardableResult
  public func replaceToken(with token: BearerToken) -> Future<Void> {
    loads.session.ask(.replacement(OAuth2Credential(accessToken: token))).completion
  }

  /// Loads with the current token, and repeats the load once with a new token after a 401.
  public func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    let session = ObjectIdentifier(loads.session)
    if Self.refreshes.contains(where: { $0.session == session && $0.isRunning.value }) { return next.load(request) }
    return loads.load(request, next: next)
  }

  /// Deletes the token, and resets `next`.
  public func reset(next: any HTTPLoader) -> Future<Void> {
    .resets([loads.session.wipe(), next.reset()])
  }

  /// Whether no load waits and no refresh is in flight.
  var isIdle: Bool { loads.session.isIdle }

  /// One call of the closure. It ends before the loads that wait for it go on, which may be in its task.
  private final class Refresh: Sendable {
    let session: ObjectIdentifier?
    let isRunning = Locked(true)

    init(_ session: ObjectIdentifier?) {
      self.session = session
    }
  }

  /// The credential of the layer is what its closure returns.
  private struct TokenRefresh: CredentialWork {
    let refresh: @Sendable (any HTTPLoader) throws -> Future<BearerToken>
    let onChange: ChangeHandler?
    /// Tells this layer from others.
    let session = Locked<ObjectIdentifier?>(nil)

    func begin(_ task: CredentialTask) -> Future<OAuth2Credential?> {
      switch task.kind {
      case .replacing: .succeeded(task.given.map(changed))
      default: task.next.map { refreshed(over: $0) } ?? .succeeded(task.current)
      }
    }

    func delete() -> Future<Void> {
      onChange?(nil)
      return .succeeded
    }

    private func refreshed(over next: any HTTPLoader) -> Future<OAuth2Credential?> {
      let call = Refresh(session.value)
      return RefreshOnUnauthorized.$refreshes.withValue(RefreshOnUnauthorized.refreshes + [call]) {
        Future.attempt { try refresh(next) }
      }
      .ensure { call.isRunning.value = false }
      .mapError { HTTPError(credentialsUnavailable: $0, "refresh of the token") }
      .map { token in changed(OAuth2Credential(accessToken: token)) }
    }

    private func changed(_ credential: OAuth2Credential) -> OAuth2Credential {
      onChange?(credential.accessToken)
      return credential
    }
  }
}

extension FutureName {
  fileprivate static let refreshOnUnauthorized = FutureName("RefreshOnUnauthorized")
}
