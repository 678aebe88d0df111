import FutureTreeHTTP

extension HTTPError.Code {
  /// Nobody is logged in, and no credential can be had without that.
  public static let authenticationRequired = HTTPError.Code("authenticationRequired")
  /// A log-in was refused, or its answer cannot be trusted.
  public static let authorizationFailed = HTTPError.Code("authorizationFailed")
  /// The token endpoint did not answer.
  public static let tokenRequestFailed = HTTPError.Code("tokenRequestFailed")
  /// The token endpoint refused to give a token; the message has its reason.
  public static let tokenRefused = HTTPError.Code("tokenRefused")
  /// The answer of the token endpoint is no token.
  public static let invalidTokenResponse = HTTPError.Code("invalidTokenResponse")
  /// The store of the credential cannot be read or written, or is not safe.
  public static let credentialStoreFailed = HTTPError.Code("credentialStoreFailed")
}
