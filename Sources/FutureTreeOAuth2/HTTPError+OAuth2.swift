import FutureTreeHTTP

extension HTTPError.Code {
  /// There is no credential, and a login is needed to get one.
  public static let authenticationRequired = HTTPError.Code("authenticationRequired")
  /// A login was refused, or its result cannot be trusted.
  public static let authorizationFailed = HTTPError.Code("authorizationFailed")
  /// The token endpoint did not respond.
  public static let tokenRequestFailed = HTTPError.Code("tokenRequestFailed")
  /// The token endpoint refused to issue a token. The message contains its reason.
  public static let tokenRefused = HTTPError.Code("tokenRefused")
  /// The response of the token endpoint is not a token.
  public static let invalidTokenResponse = HTTPError.Code("invalidTokenResponse")
  /// The credential store cannot be read or written, or is not safe.
  public static let credentialStoreFailed = HTTPError.Code("credentialStoreFailed")
}
