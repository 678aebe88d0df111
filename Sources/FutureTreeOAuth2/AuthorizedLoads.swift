import FutureTree
import FutureTreeHTTP

/// A token, and its position in the history of the session.
struct OAuth2Token: Sendable, Equatable {
  /// The token. `nil` for requests that are sent without a token, because there is none yet.
  let value: BearerToken?
  /// The number of credentials that the layer had up to this one.
  let version: Int
  /// The number of resets of the layer.
  let generation: Int
  /// The number of renewals that had failed.
  let failures: Int
}

/// The loads of `OAuth2` and `RefreshOnUnauthorized`. Each is sent with a token, and repeated once with another token if
/// a server rejects the first.
struct AuthorizedLoads: Sendable {
  let session: OAuth2Session
  let rules: CredentialRules
  /// Whether every request needs a token. If so, a request that must not have one fails before a token is fetched.
  let requiresToken: Bool
  /// The responses that reject a token.
  let rejection: TokenRejection
  /// The name of the layer.
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

  /// Returns the completion of a load whose token was rejected.
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

  /// Returns whether a response rejects the token of a request. A response of another origin cannot reject it.
  private func isRejection(_ response: HTTPResponse, of request: HTTPRequest) -> Bool {
    guard rejection.includes(response) else { return false }
    if let asked = request.url, let answered = response.request.url, !asked.hasSameOrigin(as: answered) { return false }
    // If a redirect led to another origin and back, the token was removed.
    return response.request.headers["Authorization"] == request.headers["Authorization"]
  }
}

extension FutureName {
  fileprivate static let attempt = FutureName("attempt")
  fileprivate static let repetition = FutureName("repetition")
}
