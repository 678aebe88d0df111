import Foundation
import FutureTree
import FutureTreeHTTP

/// A client of a token endpoint, with its own loader. Its futures fail with a `RenewalFailure`.
struct TokenEndpoint: Sendable {
  let configuration: OAuth2Configuration
  let loader: any HTTPLoader
  let rules: CredentialRules
  let timeout: Duration
  let clock: any FutureClock
  let date: WallClock

  /// Refreshes a credential (RFC 6749, section 6).
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
      ], replacing: nil, isLogIn: true)
  }

  private func ask(
    _ parameters: [(String, String)], replacing old: OAuth2Credential?, isLogIn: Bool = false
  ) -> Future<OAuth2Credential> {
    let request: HTTPRequest
    do {
      request = try self.request(parameters)
    } catch {
      return .failed(RenewalFailure(error, wasNotSent: true))
    }
    let sent = date.now
    return loader.load(request).timeout(after: timeout, clock: clock)
      .mapError { error in
        RenewalFailure(
          HTTPError(
            .tokenRequestFailed,
            "The token endpoint \(configuration.tokenEndpoint) did not respond: \(TokenEndpoint.name(of: error)). "
              + "Load again.", underlying: error), cause: error, date)
      }
      .map { response in
        let response = try adapted(response)
        let pause = response.retryAfter(now: date)
        let reply: TokenReply
        do throws(HTTPError) {
          reply = try TokenReply(response, sent: sent, replacing: old)
        } catch {
          throw RenewalFailure(error, pause: pause)
        }
        switch reply {
        case .credential(let credential): return credential
        case .refused(let refusal): throw failure(refusal, ofRefresh: old != nil, isLogIn: isLogIn, pause)
        }
      }
  }

  /// Returns the response to read in place of a response.
  ///
  /// - Throws: A failure without the error of the closure, because that may contain values of the response.
  private func adapted(_ response: HTTPResponse) throws(RenewalFailure) -> HTTPResponse {
    guard let adapt = configuration.adaptReply else { return response }
    do {
      return try adapt(response)
    } catch {
      throw RenewalFailure(
        HTTPError(
          .invalidTokenResponse,
          "The closure `adaptReply` failed for a response of the token endpoint: \(type(of: error)). Correct the closure."
        ))
    }
  }

  private func request(_ parameters: [(String, String)]) throws(HTTPError) -> HTTPRequest {
    try rules.checkIsSecure(configuration.tokenEndpoint)
    var request = HTTPRequest(.post, configuration.tokenEndpoint)
    // H10 (credentials never cross an origin): the body contains secrets, and a 307 or 308 would send it to another
    // origin.
    request.redirects = .off
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

  /// Returns the error for a refusal. A login can get another code, so that a refused code does not end the session.
  private func failure(
    _ refusal: TokenRefusal, ofRefresh isRefresh: Bool, isLogIn: Bool, _ pause: Duration?
  ) -> RenewalFailure {
    let endpoint = "The token endpoint \(configuration.tokenEndpoint)"
    switch refusal.meaning {
    case .transient:
      return RenewalFailure(
        HTTPError(
          .tokenRequestFailed, "\(endpoint) issues no token at present (\(refusal.reason)). Load again later."),
        pause: pause)
    case .invalidGrant where isRefresh, .unauthorized where isRefresh:
      return RenewalFailure(
        HTTPError(
          .authenticationRequired, "\(endpoint) rejected the refresh token (\(refusal.reason)). Log in again."),
        isFinal: true)
    case .invalidGrant, .invalidClient, .unauthorized, .unknown:
      let isFinal = refusal.meaning != .unknown && !(refusal.meaning == .invalidGrant && isLogIn)
      return RenewalFailure(
        HTTPError(
          .tokenRefused,
          "\(endpoint) refused to issue a token (\(refusal.reason)). Compare the client, the grant and the scope with the "
            + "registration." + (isFinal ? " Then log in again, or pass a new credential to the layer." : "")),
        isFinal: isFinal, pause: pause)
    }
  }

  /// Returns the code or the type of an error, without its message.
  private static func name(of error: any Error) -> String {
    (error as? HTTPError)?.code.description ?? "\(type(of: error))"
  }
}

/// The fields of a query, or of a body of the type `application/x-www-form-urlencoded`.
enum FormFields {
  /// Returns the decoded fields, or `nil` if a name occurs twice.
  static func parsed(_ text: some StringProtocol) -> [String: String]? {
    var fields: [String: String] = [:]
    for item in text.split(separator: "&") {
      let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map { part in
        let spaced = String(decoding: part.utf8.map { $0 == 0x2B ? 0x20 : $0 }, as: UTF8.self)
        return String(decoding: ASCII.percentDecoded(spaced), as: UTF8.self)
      }
      guard fields.updateValue(parts.count > 1 ? parts[1] : "", forKey: parts[0]) == nil else { return nil }
    }
    return fields
  }
}
