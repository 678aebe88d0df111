import Foundation
import FutureTree
import FutureTreeHTTP

/// A layer that gets tokens from an authorization server, and adds them to requests (RFC 6749, RFC 6750, RFC 7636).
///
/// ```swift
/// let configuration = OAuth2Configuration(
///   client: .public(id: "com.example.app"), tokenEndpoint: try HTTPURL("https://id.example.com/token"), scope: ["read"],
///   grant: .authorizationCode(at: try HTTPURL("https://id.example.com/authorize"), redirectURI: "com.example.app:/in") { page in
///     browser.open(page)
///   })
/// let oauth = OAuth2(configuration, store: Keychain(), tokens: SystemLoader())
/// let api = ResetGuard() --> Autocancel() --> Retry() --> oauth --> Redirect() --> SystemLoader()
/// ```
///
/// The first load reads the credential from the store. If the store is empty, the grant is used: one login for all loads
/// that wait. A token that expires within `leeway` is refreshed before it is used. The leeway is at most a quarter of the
/// lifetime of the token. **Any number of loads share one refresh**, which uses its own loader. A request that has the header
/// `Authorization`, or is not among the targets, is forwarded unchanged. Tokens, and requests for tokens, are sent over plain
/// `http` only to this machine, unless insecure connections are allowed.
///
/// **Rejected tokens.** A response rejects the token if all of these conditions hold:
///
/// - `rejection` includes it. By default, this is a 401 without readable challenges, or with a `Bearer` challenge that reports
///   neither `insufficient_scope` nor `invalid_request`.
/// - It comes from the origin of the request.
/// - It responds to a request with that token.
///
/// If the layer has received another token in the meantime, the request is sent again with that token. Otherwise it waits for a
/// refresh first. A request is sent again at most once, with its body. A second rejection is returned as the response. If the
/// body cannot be sent again, the rejection is returned, and the next load refreshes the token. If the credential has no refresh
/// token, the grant is used.
///
/// **Failed refreshes.** A failed refresh fails all loads that wait for it. It also fails loads that were sent before it and
/// are rejected later. The effect on later loads depends on the failure:
///
/// - *A refusal that a repeated request cannot change ends the session.* Loads fail with its error until there is a new
///   credential, by `logIn()`, `replaceCredential(with:)` or a reset. If the server rejects the refresh token, the error has the
///   code `authenticationRequired`. If it rejects the client or its request, the error has the code `tokenRefused`.
/// - *After any other failure*, the next load tries again, within `refreshLimit`. These failures are no response, the statuses
///   408, 425, 429 and 5xx, transient errors such as `temporarily_unavailable`, unknown errors, and replies that are not a token.
///   A delay in `Retry-After` is respected up to one hour.
///
/// The landing page of this module lists the errors of both kinds.
///
/// **The limit of refreshes.** A refresh counts if it fails, or if a server rejected the token before. A refresh whose
/// connection could not be opened does not count. While the limit is used up, or the server has asked to wait, no refresh
/// begins. A token that has not expired stays in use, and a response that rejects it is the response of its load. If there is no
/// such token, loads fail at once with the code `refreshPaused`, whose message states when to load again. `logIn()` is not
/// limited. A new credential from a login or a replacement lifts the limit, and so does a reset.
///
/// **Cancellation.** The layer holds loads that wait for a token. A cancelled load completes at once as `.cancelled` and
/// is never sent. Only a load that was detached with `.doNotForwardRequest` after its rejection is still sent again. A refresh
/// is not cancelled by the loads that wait for it, even if all are cancelled: the server may already have changed the
/// refresh token, so its response is saved. A login is asked to cancel when the last load that waits for it is
/// cancelled. A request that was forwarded is cancelled by the loaders after this layer; if its response rejects the token,
/// that is the response of the load.
///
/// **Reset.** A reset has these effects:
///
/// - Loads that wait complete as `.cancelled`.
/// - The token loader is reset, because it is one of the `parts` of this layer.
/// - Work in flight for the credential is asked to cancel and awaited, and its result is discarded.
/// - The store is emptied. It is not read again.
///
/// If the token of a load that was sent before the reset is rejected, the rejection is its response. Loads that begin while the
/// store is being emptied wait for that. Then they log in again, or fail with `authenticationRequired`.
///
/// **In two chains.** Both chains share one credential. A reset of either deletes it, and cancels the waiting loads of
/// both.
public final class OAuth2: HTTPLayer {
  private let loads: AuthorizedLoads
  private let tokens: any HTTPLoader

  private var session: OAuth2Session { loads.session }

  /// Creates the layer.
  ///
  /// - Parameters:
  ///   - configuration: The client, the token endpoint and the grant.
  ///   - store: The store that keeps the credential between runs of the program. Defaults to a store in memory.
  ///   - tokens: The loader for token requests. Its requests must not pass through this layer. Redirects of token requests are
  ///     never followed, not even by a `Redirect` in that loader, because the bodies contain secrets.
  ///   - targets: The requests that get a token. Defaults to every request that goes through the layer.
  ///   - rejection: The responses that reject a token. Defaults to `bearer`.
  ///   - leeway: The time before its expiry at which a token is refreshed. Defaults to 60 seconds. Values below 0 are
  ///     treated as 0. For a token that lives less than four times as long, a quarter of its lifetime applies. For a token from
  ///     the store, the whole leeway applies, because its lifetime is unknown.
  ///   - refreshLimit: The limit of refreshes that fail or follow a rejected token. Defaults to 5 at once, and 10 in a minute.
  ///     `nil` disables the limit.
  ///   - tokenTimeout: The time limit of a token request. Defaults to 60 seconds. A later response is discarded.
  ///   - allowsInsecureConnections: Whether tokens may be sent and requested over plain `http`. Defaults to `false`.
  ///   - clock: The clock of the time limit and of the limit of refreshes.
  ///   - date: The clock for the expiry of tokens.
  ///   - random: The source of verifiers and states. It must be suitable for secrets.
  ///   - onSaveFailure: A closure that receives the error if a credential cannot be saved. It is called outside every
  ///     lock. The credential is still used, and is lost when the program ends.
  public init(
    _ configuration: OAuth2Configuration, store: any CredentialStore = MemoryCredentialStore(), tokens: any HTTPLoader,
    for targets: CredentialTargets = .everyRequest, rejection: TokenRejection = .bearer,
    leeway: Duration = .seconds(60), refreshLimit: Throttle.Rate? = Throttle.Rate(10, per: .seconds(60), burst: 5),
    tokenTimeout: Duration = .seconds(60), allowsInsecureConnections: Bool = false, clock: any FutureClock = .system,
    date: WallClock = .system, random: RandomSource = .system, onSaveFailure: (@Sendable (any Error) -> Void)? = nil
  ) {
    let rules = CredentialRules(targets: targets, allowsInsecureConnections: allowsInsecureConnections)
    self.tokens = tokens
    let endpoint = TokenEndpoint(
      configuration: configuration, loader: tokens, rules: rules, timeout: max(tokenTimeout, .zero), clock: clock,
      date: date)
    let source: OAuth2State.Source =
      switch configuration.grant.kind {
      case .authorizationCode: .logIn
      case .clientCredentials: .client
      case .storedCredential: .store
      }
    let session = OAuth2Session(
      OAuth2State(source: source, leeway: max(leeway, .zero) / .seconds(1), limit: refreshLimit),
      OAuth2Work(
        configuration: configuration, endpoint: endpoint, store: store, random: random, onSaveFailure: onSaveFailure),
      clock: clock, date: date)
    loads = AuthorizedLoads(session: session, rules: rules, requiresToken: true, rejection: rejection, name: .oauth2)
  }

  /// Loads the request with a token. Waits if there is no valid token.
  public func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    loads.load(request, next: next)
  }

  /// The loader for token requests.
  public var parts: [any HTTPPart] { [tokens] }

  /// Cancels the loads that wait, and the work that they wait for.
  public func drain(_ notes: ResetNotes) -> Future<Void> {
    notes.drained(session.drain())
    return .succeeded
  }

  /// Deletes the credential. Work for it is asked to cancel, and awaited.
  public func wipe(_ notes: ResetNotes) -> Future<Void> {
    session.wipe().map { notes.wiped("the credential") }
  }

  /// Whether no load waits and no work is in flight.
  package var isIdle: Bool { session.isIdle }
}

// MARK: - The credential

extension OAuth2 {
  /// Gets a new credential with the grant, even if there is a valid one. Use it for a login button, and when the session has
  /// ended.
  ///
  /// ```swift
  /// oauth.logIn().map(on: .main) { window.show(.home) }
  /// ```
  ///
  /// It joins a login in flight, and waits for a refresh to end. Loads that begin in the meantime wait for the login. A
  /// cancellation request completes the future at once, and cancels the login if no other caller waits for it.
  ///
  /// - Returns: A future that fails if the login fails. It fails with the code `authenticationRequired` if the grant is
  ///   `storedCredential`.
  @discardableResult
  public func logIn() -> Future<Void> { session.ask(.logIn).completion }

  /// Replaces the credential with one from another source, and saves it.
  ///
  /// Work in flight for the old credential is asked to cancel and awaited, and its result is discarded. Loads that wait
  /// get the new credential.
  ///
  /// - Returns: A future that succeeds after the attempt to save the credential. If saving fails, `onSaveFailure` is
  ///   called and the future still succeeds. It fails with the code `resetInProgress` during a reset.
  @discardableResult
  public func replaceCredential(with credential: OAuth2Credential) -> Future<Void> {
    session.ask(.replacement(credential)).completion
  }
}

extension FutureName {
  fileprivate static let oauth2 = FutureName("OAuth2")
}
