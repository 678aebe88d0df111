import FutureTreeHTTP

extension HTTPError.Code {
  /// There is no credential, and a login is needed to get one. A refresh closure of `RefreshOnUnauthorized` can fail with this
  /// code to end the session.
  public static let authenticationRequired = HTTPError.Code("authenticationRequired")
  /// A login was refused, or its result cannot be trusted.
  public static let authorizationFailed = HTTPError.Code("authorizationFailed")
  /// The token endpoint did not respond, or issues no token at present.
  public static let tokenRequestFailed = HTTPError.Code("tokenRequestFailed")
  /// The token endpoint refused to issue a token. The message contains its reason.
  public static let tokenRefused = HTTPError.Code("tokenRefused")
  /// No token was requested, because the limit of refreshes is used up, or the server asked to wait. The error of the last
  /// refresh is in `underlying`.
  public static let refreshPaused = HTTPError.Code("refreshPaused")
  /// The response of the token endpoint is not a token.
  public static let invalidTokenResponse = HTTPError.Code("invalidTokenResponse")
  /// The credential store cannot be read or written, or is not safe.
  public static let credentialStoreFailed = HTTPError.Code("credentialStoreFailed")
}
