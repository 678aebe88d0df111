import Foundation
import FutureTree
import FutureTreeHTTP

/// Gives requests a token of an authorization server, and sees to it that there is one (RFC 6749, RFC 6750, RFC 7636).
///
/// ```swift
/// let configuration = OAuth2Configuration(
///   client: .public(id: "com.example.app"), tokenEndpoint: try HTTPURL("https://id.example.com/token"), scope: ["read"],
///   grant: .authorizationCode(at: try HTTPURL("https://id.example.com/authorize"), redirectURI: "com.example.app:/in") { page in
///     browser.open(page)
///   })
/// let oauth = OAuth2(configuration, store: Keychain(), tokens: URLSessionLoader())
/// let api = ResetGuard() --> Autocancel() --> Retry() --> oauth --> Redirect() --> URLSessionLoader()
/// ```
///
/// The first load asks the store; where that has nothing, the grant is used: one log-in for all who wait. A token that ends
/// within `leeway` is refreshed before it is used. **There is one refresh for any number of loads**, over a loader of its
/// own. What has a header `Authorization`, or is not among the targets, passes as it is. Nothing is sent over plain `http` but
/// to this machine, unless that is allowed: neither the token nor what is had it with.
///
/// **An answer 401** means the token was not taken, if it has no challenges that can be read or one of `Bearer` that
/// does not speak of another fault (`insufficient_scope`, `invalid_request`), comes from the origin that was asked, and is to
/// a request with that token. If another token is there by now, the request is sent again with that; if not, it waits for a
/// refresh first. It is sent again once, with its body; a second 401 is the answer. A body that cannot be sent again makes
/// the 401 the answer at once; nothing is refreshed then before the next load. A credential without a refresh token leads to
/// the grant.
///
/// **A refresh that fails** fails all who wait, once, and whoever comes then tries again. One that is answered with
/// `invalid_grant` ends the session: loads fail with the code `authenticationRequired` until there is a new credential, by
/// `logIn()`, `replaceCredential(with:)` or a reset.
///
/// **Cancellation.** A load that waits for a token is held here, ends `.cancelled` at once, and is never sent; but one that
/// was let go of (`doNotForwardRequest`) after its 401 is still sent again. A refresh is
/// not cancelled by those who wait, even if all leave: the server may have changed the refresh token already, and what it
/// answers is saved. A log-in is asked to cancel when the last who waits leaves. What has been sent is cancelled behind this
/// layer, and a 401 that comes back then is the answer.
///
/// **Reset.** Loads that wait end `.cancelled`; what is under way for the credential is asked to cancel, awaited, and thrown
/// away, whatever comes of it; the store is emptied; the loader of the tokens and the next one are reset; each even if
/// another fails. A load that was sent before and is answered with 401 gets that answer. Loads that come during the reset wait
/// for its end, and then log in again, or fail with `authenticationRequired`. The store is not asked again.
///
/// **In two chains** both have one credential, and a reset of either deletes it and lets go of the waiting loads of both.
public final class OAuth2: HTTPLayer {
  private let loads: AuthorizedLoads
  private let tokens: any HTTPLoader

  private var session: OAuth2Session { loads.session }

  /// - Parameters:
  ///   - configuration: where tokens come from.
  ///   - store: keeps the credential while the program does not run.
  ///   - tokens: what token requests are sent with. It must not lead through this layer. A redirect of them is not followed,
  ///     by a `Redirect` either: their bodies have secrets.
  ///   - targets: the requests that get a token; every one that comes through this layer, if nothing else is said.
  ///   - leeway: how long before its end a token is refreshed; zero or less is at its end. It must be shorter than tokens live,
  ///     or each load refreshes.
  ///   - tokenTimeout: how long the token endpoint may take. What it answers later is lost.
  ///   - allowsInsecureConnections: whether tokens may be sent, and had, over plain `http`.
  ///   - clock: what measures the timeout.
  ///   - date: what tells whether a token has ended.
  ///   - random: where verifiers and states come from. It must be fit for secrets.
  ///   - onSaveFailure: is told why a credential could not be saved, outside every lock. It is used all the same, and lost
  ///     with the program.
  public init(
    _ configuration: OAuth2Configuration, store: any CredentialStore = MemoryCredentialStore(), tokens: any HTTPLoader,
    for targets: CredentialTargets = .everyRequest, leeway: Duration = .seconds(60),
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
      OAuth2State(source: source, leeway: max(leeway, .zero) / .seconds(1)),
      OAuth2Work(
        configuration: configuration, endpoint: endpoint, store: store, random: random, onSaveFailure: onSaveFailure),
      date: date)
    loads = AuthorizedLoads(session: session, rules: rules, requiresToken: true, name: .oauth2)
  }

  /// Loads with a token, when there is one.
  public func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    loads.load(request, next: next)
  }

  /// Deletes the credential, and resets the loader of the tokens and `next`.
  public func reset(next: any HTTPLoader) -> Future<Void> {
    .resets([session.wipe(), tokens.reset(), next.reset()])
  }

  /// Whether nobody waits and nothing is under way.
  package var isIdle: Bool { session.isIdle }
}

// MARK: - The credential

extension OAuth2 {
  /// Uses the grant, whatever credential there is: for a button, and when the session has ended.
  ///
  /// ```swift
  /// oauth.logIn().map(on: .main) { window.show(.home) }
  /// ```
  ///
  /// It joins a log-in that is under way, and waits for a refresh to end. Loads that come meanwhile wait for it. A request to
  /// cancel ends the future at once, and the log-in if nobody else waits for it.
  ///
  /// - Returns: a future that fails as the log-in does, or with the code `authenticationRequired` where the grant is
  ///   `storedCredential`.
  @discardableResult
  public func logIn() -> Future<Void> { session.ask(.logIn).completion }

  /// Puts a credential that was had elsewhere in the place of the one that there is, and saves it.
  ///
  /// What is under way for the old one is asked to cancel, awaited, and thrown away; loads that wait get the new one.
  ///
  /// - Returns: a future that succeeds when it has been saved, or could not be, as `onSaveFailure` is told; it fails with the
  ///   code `resetInProgress` during a reset.
  @discardableResult
  public func replaceCredential(with credential: OAuth2Credential) -> Future<Void> {
    session.ask(.replacement(credential)).completion
  }
}

extension FutureName {
  fileprivate static let oauth2 = FutureName("OAuth2")
}
