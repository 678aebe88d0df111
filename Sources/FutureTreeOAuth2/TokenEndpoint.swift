import Foundation
import FutureTree
import FutureTreeHTTP

/// A client of a token endpoint, with its own loader.
struct TokenEndpoint: Sendable {
  let configuration: OAuth2Configuration
  let loader: any HTTPLoader
  let rules: CredentialRules
  let timeout: Duration
  let clock: any FutureClock
  let date: WallClock

  /// Refreshes a credential (RFC 6749, section 6). If the server rejects the refresh token, the session ends.
  func refreshed(_ credential: OAuth2Credential, with refreshToken: String) -> Future<OAuth2Credential> {
    ask([("grant_type", "refresh_token"), ("refresh_token", refreshToken)], replacing: credential)
  }

  /// Requests a token with client credentials (RFC 6749, section 4.4).
  func granted() -> Future<OAuth2Credential> {
    ask([("grant_type", "client_credentials")] + configuration.scopeParameter, replacing: nil)
  }

  /// Exchanges an authorization code (RFC 6749, section 4.1.3, and RFC 7636, section 4.5).
  func exchanged(_ code: String, _ logIn: AuthorizationCodeLogIn) -> Future<OAuth2Credential> {
    ask(
      [
        ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", logIn.grant.redirectURI),
        ("code_verifier", logIn.verifier),
      ], replacing: nil)
  }

  private func ask(
    _ parameters: [(String, String)], replacing old: OAuth2Credential?
  ) -> Future<OAuth2Credential> {
    let request: HTTPRequest
    do {
      request = try self.request(parameters)
    } catch {
      return .failed(error)
    }
    let sent = date.now
    return loader.load(request).timeout(after: timeout, clock: clock)
      .mapError { error in
        HTTPError(
          .tokenRequestFailed,
          "The token endpoint \(configuration.tokenEndpoint) did not respond: \(TokenEndpoint.name(of: error)). Load again.",
          underlying: error)
      }
      .map { response in
        switch try TokenReply(response, sent: sent, replacing: old) {
        case .credential(let credential): return credential
        case .refused(let error): throw refusal(error, ofRefresh: old != nil)
        }
      }
  }

  private func request(_ parameters: [(String, String)]) throws(HTTPError) -> HTTPRequest {
    try rules.checkIsSecure(configuration.tokenEndpoint)
    var request = HTTPRequest(.post, configuration.tokenEndpoint)
    // H10 (credentials never cross an origin): the body contains secrets, and a 307 or 308 would send it to another
    // origin.
    request[option: RequestRedirects.self] = .off
    try request.setHeader("Accept", "application/json")
    var fields = parameters + configuration.parameters
    let client = configuration.client
    if let secret = client.secret, client.method == .header {
      // Section 2.3.1: both values are form-encoded before they are joined.
      let pair = HTTPBody.formEncoded(client.id) + ":" + HTTPBody.formEncoded(secret)
      try request.setHeader("Authorization", "Basic " + Data(pair.utf8).base64EncodedString())
    } else {
      fields.append(("client_id", client.id))
      if let secret = client.secret { fields.append(("client_secret", secret)) }
    }
    request.body = .form(fields)
    return request
  }

  private func refusal(_ error: String, ofRefresh isRefresh: Bool) -> HTTPError {
    if isRefresh, error == "invalid_grant" {
      return HTTPError(
        .authenticationRequired,
        "The token endpoint \(configuration.tokenEndpoint) rejected the refresh token (\"invalid_grant\"). Log in again."
      )
    }
    return HTTPError(
      .tokenRefused,
      "The token endpoint \(configuration.tokenEndpoint) refused to issue a token: \(FieldSyntax.visible(error)). "
        + "Compare the client, the grant and the scope with the registration.")
  }

  /// Returns the code or the type of an error, without its message.
  private static func name(of error: any Error) -> String {
    (error as? HTTPError)?.code.description ?? "\(type(of: error))"
  }
}
