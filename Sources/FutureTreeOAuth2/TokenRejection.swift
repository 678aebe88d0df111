import FutureTreeHTTP

/// The responses that reject a token. After such a response, `OAuth2` and `RefreshOnUnauthorized` get another token and send
/// the request again.
///
/// Some services use another status or another scheme than RFC 6750:
///
/// ```swift
/// // The service responds with 403 to an expired token.
/// let forbidden = TokenRejection.responses { response in
///   response.status == .forbidden || TokenRejection.bearer.includes(response)
/// }
/// // The service responds with 401 and `WWW-Authenticate: Token error="expired"`.
/// let scheme = TokenRejection.responses { response in
///   response.status == .unauthorized && response.challenges.contains { $0.isOf(scheme: "Token") && $0["error"] == "expired" }
/// }
/// ```
///
/// A service that also responds with 403 to a user without permission makes the layer refresh the token in vain. Let the
/// closure then compare a header field as well. The limit of refreshes applies in any case.
///
/// Regardless of this value, a response rejects a token only if it comes from the origin of the request and responds to a
/// request with that token.
public struct TokenRejection: Sendable {
  private let matches: @Sendable (HTTPResponse) -> Bool

  private init(_ matches: @escaping @Sendable (HTTPResponse) -> Bool) {
    self.matches = matches
  }

  /// A 401 without readable challenges, or with a `Bearer` challenge that reports neither `insufficient_scope` nor
  /// `invalid_request` (RFC 6750, section 3.1). The default of `OAuth2`.
  public static let bearer = TokenRejection { isUnauthorized($0, exceptOtherSchemes: true) }

  /// A 401 with any scheme, except a 401 whose only challenges are `Bearer` challenges with `insufficient_scope` or
  /// `invalid_request`. The default of `RefreshOnUnauthorized`.
  public static let unauthorized = TokenRejection { isUnauthorized($0, exceptOtherSchemes: false) }

  /// Responses that match a predicate.
  ///
  /// - Parameter matches: Returns whether a response rejects the token. It is called outside every lock, from any thread, for
  ///   each response to a request with a token. It must not wait. If the response is a stream, its body is not available.
  public static func responses(where matches: @escaping @Sendable (_ response: HTTPResponse) -> Bool) -> TokenRejection
  {
    TokenRejection(matches)
  }

  /// Returns whether a response rejects the token with which its request was sent.
  public func includes(_ response: HTTPResponse) -> Bool { matches(response) }

  private static func isUnauthorized(_ response: HTTPResponse, exceptOtherSchemes: Bool) -> Bool {
    guard response.status == .unauthorized else { return false }
    let challenges = response.challenges
    return challenges.isEmpty
      || challenges.contains { challenge in
        guard challenge.isOf(scheme: "Bearer") else { return !exceptOtherSchemes }
        return challenge["error"] != "insufficient_scope" && challenge["error"] != "invalid_request"
      }
  }
}
