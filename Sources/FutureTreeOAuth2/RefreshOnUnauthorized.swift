import FutureTree
import FutureTreeHTTP

/// A layer that refreshes a token when a server rejects it with 401, and repeats the request once.
///
/// ```swift
/// let api = ApplyEnvironment(server) --> RefreshOnUnauthorized(savedToken) { loader in
///   (ApplyEnvironment(server) --> loader).post("session", json: RefreshRequest(keychain), as: Session.self)
///     .map { session in try BearerToken(session.token) }
/// } --> Redirect() --> SystemLoader()
/// ```
///
/// Put the layer after the layer that fills in the host, because it must know the origin to which a token is sent. The
/// requests of the refresh must therefore name their host.
///
/// Requests are sent with the current token in the header `Authorization`. If there is no token, they are forwarded unchanged,
/// and a 401 is their response (see `refreshesWithoutToken`). If a token is rejected with 401, the layer calls `refresh` **once
/// for all loads that wait**, and repeats each request with the new token. If the token has changed since the request was sent,
/// the layer skips the refresh. A second 401 is the response. `OAuth2` does the same for authorization servers, and gets tokens
/// by itself.
///
/// A 401 rejects the token if it responds to a request with the current token and comes from the origin of the request.
/// If its `Bearer` challenge reports `insufficient_scope` or `invalid_request`, the 401 is the response, because another
/// token would not help. `rejection` selects other responses than a 401. A request whose body cannot be sent again
/// (`HTTPBody.isReplayable`) is not repeated either; the next load refreshes the token first.
///
/// A request that has the header `Authorization`, or is not among the targets, is forwarded unchanged. Tokens are sent
/// over plain `http` only to this machine, unless insecure connections are allowed. Otherwise the load fails with the
/// code `insecureCredentials`.
///
/// **Failed refreshes.** A failed refresh fails all loads that wait for it, with the code `credentialsUnavailable`. It
/// also fails loads that were sent before and complete with 401 later. A load that begins afterward refreshes again:
/// before it is sent if there is a token, otherwise after its own 401.
///
/// **The end of the session.** If the error of `refresh` has a response with 401, or the code `authenticationRequired`, a
/// repeated refresh would fail as well. Loads then fail with the same error until `replaceToken(with:)` or a reset. If there was
/// no token, requests are still sent without one, and fail after their own 401. For another response that means this, let the
/// closure fail with that code:
///
/// ```swift
/// let tokens = RefreshOnUnauthorized(savedToken) { loader in
///   loader.load(renewal).map { response in
///     guard response.status != .forbidden else {
///       throw HTTPError(.authenticationRequired, "The session has ended. Log in again.")
///     }
///     return response
///   }
///   .validated().map { try BearerToken(String(decoding: try $0.body, as: UTF8.self)) }
/// }
/// ```
///
/// **The limit of refreshes.** `refreshLimit` limits the calls of `refresh`, even if they succeed. A refresh that fails with the
/// code `unknownHost` or `cannotConnect` does not count. If the error has a response with `Retry-After`, no refresh begins before
/// that delay, which is at most one hour. Meanwhile, a token that no server has rejected stays in use, and a 401 is the response
/// of its load. If the token was rejected, loads fail at once with the code `refreshPaused`, whose message states when to load
/// again. `replaceToken(with:)` and a reset lift the limit.
///
/// **Loads of the refresh itself** bypass this layer. These are the loads over the loader that `refresh` receives, and
/// loads over the chain that `refresh` begins while it runs or in a task that it starts. A load over the chain that a
/// continuation of another future begins is not recognized. Such a load and the refresh would wait for each other, so use
/// the loader instead.
///
/// **Cancellation.** The layer holds loads that wait for the refresh. A cancelled load completes at once with
/// `.cancelled`, and is not sent again, unless it was cancelled with `.doNotForwardRequest`. The refresh continues for
/// other loads, and even if no load is left: the server may already have used up a refresh token. A load in flight is
/// cancelled by the loaders after this layer.
///
/// **Reset.** Loads that wait complete as `.cancelled`. The refresh is asked to cancel and awaited, and its token is
/// discarded. The token is deleted, and `onChange` receives `nil`. If a load that was sent before the reset completes
/// with 401, the 401 is its response.
///
/// **In two chains.** Both chains share one token, and a reset of either deletes it.
public final class RefreshOnUnauthorized: HTTPLayer {
  /// A closure that stores the token. It is called with each new token, and with `nil` after a reset.
  public typealias ChangeHandler = @Sendable (_ token: BearerToken?) -> Void

  private let loads: AuthorizedLoads
  /// The refreshes that the current code belongs to. Some of them may have ended.
  @TaskLocal private static var refreshes: [Refresh] = []

  /// Creates a layer that gets its tokens from a closure.
  ///
  /// - Parameters:
  ///   - token: The first token. Defaults to `nil`: requests are sent without a token until `replaceToken(with:)`.
  ///   - targets: The requests that get the token. Defaults to every request that goes through the layer.
  ///   - rejection: The responses that reject a token. Defaults to `unauthorized`.
  ///   - refreshLimit: The limit of refreshes. Defaults to 5 at once, and 10 in a minute. `nil` disables the limit.
  ///   - allowsInsecureConnections: Whether the token may be sent over plain `http`. Defaults to `false`.
  ///   - refreshesWithoutToken: Whether a 401 also calls `refresh` if there is no token. Defaults to `false`, so that no
  ///     load logs a user in again after a reset. Pass `true` if `refresh` can get a first token, for example with a key
  ///     of the app.
  ///   - clock: The clock of the limit of refreshes.
  ///   - date: The clock for the date in `Retry-After`. It is used if the response has no `Date`.
  ///   - refresh: A closure that receives the loader after this layer, and returns a future of a new token. It is called
  ///     outside every lock, on the thread on which the 401 arrived. If it throws an error, the refresh fails with it.
  ///   - onChange: A closure that stores the token. It is called outside every lock, before the new token is used. It is
  ///     not called with a token after a reset.
  public init(
    _ token: BearerToken? = nil, for targets: CredentialTargets = .everyRequest,
    rejection: TokenRejection = .unauthorized,
    refreshLimit: Throttle.Rate? = Throttle.Rate(10, per: .seconds(60), burst: 5),
    allowsInsecureConnections: Bool = false, refreshesWithoutToken: Bool = false, clock: any FutureClock = .system,
    date: WallClock = .system,
    refresh: @escaping @Sendable (_ loader: any HTTPLoader) throws -> Future<BearerToken>,
    onChange: ChangeHandler? = nil
  ) {
    let work = TokenRefresh(refresh: refresh, onChange: onChange, date: date)
    var state = OAuth2State(
      source: .renewal, credential: token.map { OAuth2Credential(accessToken: $0) }, limit: refreshLimit)
    state.renewsMissingToken = refreshesWithoutToken
    loads = AuthorizedLoads(
      session: OAuth2Session(state, work, clock: clock, date: date),
      rules: CredentialRules(targets: targets, allowsInsecureConnections: allowsInsecureConnections),
      requiresToken: false, rejection: rejection, name: .refreshOnUnauthorized)
    work.session.value = ObjectIdentifier(loads.session)
  }

  /// The current token, or `nil` if there is none.
  public var token: BearerToken? { loads.session.token }

  /// Replaces the token, for example after a login, and passes it to `onChange`.
  ///
  /// A refresh in flight is asked to cancel and awaited, and its token is discarded. The loads that wait for it get the
  /// new token.
  ///
  /// - Returns: A future that succeeds when the token is in use. It fails with the code `resetInProgress` during a reset.
  @discardableResult
  public func replaceToken(with token: BearerToken) -> Future<Void> {
    loads.session.ask(.replacement(OAuth2Credential(accessToken: token))).completion
  }

  /// Loads the request with the current token, and repeats it once with a new token after a 401.
  public func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    let session = ObjectIdentifier(loads.session)
    if Self.refreshes.contains(where: { $0.session == session && $0.isRunning.value }) { return next.load(request) }
    return loads.load(request, next: next)
  }

  /// Cancels the loads that wait, and the work that they wait for.
  public func drain(_ notes: ResetNotes) -> Future<Void> {
    notes.drained(loads.session.drain())
    return .succeeded
  }

  /// Deletes the token. A refresh is asked to cancel, and awaited.
  public func wipe(_ notes: ResetNotes) -> Future<Void> {
    loads.session.wipe().map { notes.wiped("the token") }
  }

  /// Whether no load waits and no refresh is in flight.
  var isIdle: Bool { loads.session.isIdle }

  /// One call of the closure. It ends before the waiting loads continue, which may happen in its task.
  private final class Refresh: Sendable {
    let session: ObjectIdentifier?
    let isRunning = Locked(true)

    init(_ session: ObjectIdentifier?) {
      self.session = session
    }
  }

  /// The credential work of the layer, which calls its closures.
  private struct TokenRefresh: CredentialWork {
    let refresh: @Sendable (any HTTPLoader) throws -> Future<BearerToken>
    let onChange: ChangeHandler?
    let date: WallClock
    /// The identity of the session, which distinguishes this layer from others.
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
      .mapError { failure($0) }
      .map { token in changed(OAuth2Credential(accessToken: token)) }
    }

    private func failure(_ error: any Error) -> RenewalFailure {
      let cause = error as? HTTPError
      let isFinal = cause?.code == .authenticationRequired || cause?.response?.status == .unauthorized
      let reported =
        isFinal
        ? HTTPError(
          .credentialsUnavailable,
          "The refresh of the token was refused (\(cause?.code.description ?? "")). See `underlying`. Log in again, and pass "
            + "the new token to `replaceToken(with:)`.", response: cause?.response, underlying: error)
        : HTTPError(credentialsUnavailable: error, "refresh of the token")
      return RenewalFailure(reported, isFinal: isFinal, cause: error, date)
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
