import FutureTree
import FutureTreeHTTP

/// A token, and which one it is.
struct OAuth2Token: Sendable, Equatable {
  /// Nil where requests are sent without a token, because there is none yet.
  let value: BearerToken?
  /// Counts the credentials that a layer has had.
  let version: Int
  /// Counts its resets.
  let generation: Int
  /// Counts the renewals that had failed.
  let failures: Int
}

/// Loads with a token, and repeats a load once with another token when a server rejects the first: what `OAuth2` and
/// `RefreshOnUnauthorized` have in common.
struct AuthorizedLoads: Sendable {
  let session: OAuth2Session
  let rules: CredentialRules
  /// Whether every request has a token. If so, a request that may not have one fails before a token is fetched, and a 401 that
  /// rejects a token has a `Bearer` challenge.
  let requiresToken: Bool
  /// That of the layer.
  let name: FutureName

  func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    guard rules.covers(request) else { return next.load(request) }
    do {
      if requiresToken { try rules.checkIsSecure(request) }
    } catch {
      return .failed(error).named(name)
    }
    switch session.ask(.token, over: next) {
    case .use(let token): return send(request, token, next).named(name)
    case .wait(let token): return token.flatMap { send(request, $0, next).named(.attempt) }.named(name)
    case .fail(let error): return .failed(error).named(name)
    case .none: return next.load(request)
    }
  }

  private func send(_ request: HTTPRequest, _ token: OAuth2Token, _ next: any HTTPLoader) -> Future<HTTPResponse> {
    .attempt {
      let authorized = try token.value.map { try rules.authorized(request, $0.authorization) } ?? request
      let attempt = next.load(authorized)
      return attempt.onComplete { outcome -> Completion<HTTPResponse> in
        guard case .success(let response) = outcome, isRejection(response, of: authorized),
          attempt.cancelRequest == nil
        else { return Completion(outcome) }
        return completion(of: request, rejecting: token, response, next)
      }
    }
  }

  /// The completion of a load whose token was rejected.
  private func completion(
    of request: HTTPRequest, rejecting token: OAuth2Token, _ response: HTTPResponse, _ next: any HTTPLoader
  ) -> Completion<HTTPResponse> {
    guard request.body.isReplayable else {
      session.reject(token)
      return .success(response)
    }
    switch session.ask(.tokenInsteadOf(token), over: next) {
    case .use(let token): return .completeUsing(repeated(request, token, next))
    case .wait(let token): return .completeUsing(token.flatMap { repeated(request, $0, next) }.named(.repetition))
    case .fail(let error): return .failure(error)
    case .none: return .success(response)
    }
  }

  private func repeated(_ request: HTTPRequest, _ token: OAuth2Token, _ next: any HTTPLoader) -> Future<HTTPResponse> {
    guard let token = token.value else { return next.load(request) }
    return rules.send(request, token.authorization, next, named: .repetition)
  }

  /// Whether a response says that the token was rejected (RFC 6750, section 3). One of another origin cannot know it.
  private func isRejection(_ response: HTTPResponse, of request: HTTPRequest) -> Bool {
    guard response.status == .unauthorized else { return false }
    if let asked = request.url, let answered = response.request.url, !asked.hasSameOrigin(as: answered) { return false }
    // A redirect that came back from another origin has left the token out.
    guard response.request.headers["Authorization"] == request.headers["Authorization"] else { return false }
    let challenges = response.challenges
    return challenges.isEmpty
      || challenges.contains { challenge in
        guard challenge.isOf(scheme: "Bearer") else { return !requiresToken }
        return challenge["error"] != "insufficient_scope" && challenge["error"] != "invalid_request"
      }
  }
}

extension FutureName {
  fileprivate static let attempt = FutureName("attempt")
  fileprivate static let repetition = FutureName("repetition")
}
