import Foundation
import FutureTreeHTTP

/// One login with an authorization code: the URL of the page, and the check of its result (RFC 6749, section 4.1; RFC
/// 7636).
struct AuthorizationCodeLogIn: Sendable {
  let grant: OAuth2Grant.AuthorizationCode
  /// The PKCE verifier. It proves that the code is exchanged by the client that showed the page.
  let verifier: String
  /// The state parameter. It proves that the result belongs to this login.
  let state: String

  init(_ grant: OAuth2Grant.AuthorizationCode, random: RandomSource) {
    self.grant = grant
    verifier = Base64URL.encoded(random.bytes(32))
    state = Base64URL.encoded(random.bytes(32))
  }

  /// Returns the code challenge of the method S256 (RFC 7636, section 4.2).
  static func challenge(for verifier: String) -> String {
    Base64URL.encoded(sha256(of: verifier.utf8))
  }

  /// Returns the URL of the page to show.
  ///
  /// - Throws: `HTTPError` with the code `invalidURL` or `insecureCredentials`.
  func page(for configuration: OAuth2Configuration, _ rules: CredentialRules) throws(HTTPError) -> URL {
    try rules.checkIsSecure(grant.endpoint)
    let query =
      [
        ("response_type", "code"), ("client_id", configuration.client.id), ("redirect_uri", grant.redirectURI),
        ("state", state), ("code_challenge", AuthorizationCodeLogIn.challenge(for: verifier)),
        ("code_challenge_method", "S256"),
      ] + configuration.scopeParameter + grant.parameters
    let page = grant.endpoint.appending(query: NameValuePairs(query.map { ($0.0, $0.1) }))
    guard let url = URL(string: page.absoluteString) else {
      throw HTTPError(
        .invalidURL,
        "The platform cannot parse the authorization endpoint \(grant.endpoint). Percent-encode its special characters."
      )
    }
    return url
  }

  /// Returns the code in the redirect URL.
  ///
  /// - Throws: `HTTPError` with the code `authorizationFailed`.
  func code(from url: URL) throws(HTTPError) -> String {
    let fields = try AuthorizationCodeLogIn.fields(of: url)
    guard fields["state"] == state else {
      throw AuthorizationCodeLogIn.failed(
        "failed. The redirect has the state of another login, or none. It may be forged. Log in again")
    }
    if let error = fields["error"] {
      throw AuthorizationCodeLogIn.failed("was refused with \(FieldSyntax.visible(error)). Log in again")
    }
    guard let code = fields["code"], !code.isEmpty else {
      throw AuthorizationCodeLogIn.failed(
        "failed. The redirect has no code. Compare the redirect URI with the registered URI")
    }
    return code
  }

  /// Parses the parameters of the result. A parameter that occurs twice is refused (RFC 6749, section 3.1).
  private static func fields(of url: URL) throws(HTTPError) -> [String: String] {
    let text = url.absoluteString.prefix { $0 != "#" }
    guard let mark = text.firstIndex(of: "?") else { return [:] }
    guard let fields = FormFields.parsed(text[text.index(after: mark)...]) else {
      throw failed("failed. The redirect has a duplicate parameter. Log in again")
    }
    return fields
  }

  static func failed(_ fault: String, underlying: (any Error)? = nil) -> HTTPError {
    HTTPError(.authorizationFailed, "The login \(fault).", underlying: underlying)
  }
}

extension AuthorizationCodeLogIn: CustomStringConvertible, CustomReflectable {
  /// The endpoint, without the verifier and the state.
  var description: String { "a login at \(grant.endpoint)" }

  var customMirror: Mirror { Mirror(self, children: [], displayStyle: .struct) }
}

/// Base64 for URLs: with `-` and `_`, and without padding (RFC 4648, section 5; RFC 7636, appendix A).
enum Base64URL {
  static func encoded(_ bytes: [UInt8]) -> String {
    Data(bytes).base64EncodedString().filter { $0 != "=" }.replacing("+", with: "-").replacing("/", with: "_")
  }
}
