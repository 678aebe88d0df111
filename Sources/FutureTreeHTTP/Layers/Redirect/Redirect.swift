import FutureTree

/// A layer that follows redirects: responses with the status 301, 302, 303, 307 or 308 and a `Location` (RFC 9110,
/// section 15.4).
///
/// ```swift
/// let api = Redirect() --> SystemLoader()
/// let response = try await api.load(HTTPRequest("https://example.com/latest")).value
/// response.request.url   // The URL of the final request.
/// response.redirections  // The redirects that were followed.
/// ```
///
/// **Method and body.**
///
/// - After 303, the next request is a `GET` without a body. A `HEAD` stays a `HEAD`.
/// - After 301 or 302, a `POST` becomes a `GET` without a body. Other methods keep their body.
/// - After 307 or 308, the method and the body are kept.
/// - A body that is kept is sent again. If it can be sent only once, the load fails with the code `bodyNotReplayable`.
/// - If the body is dropped, the header fields that describe it are dropped as well.
/// - The fragment of the `Location` is not sent.
///
/// **Credentials.** A redirect to another origin (scheme, host or port) removes the following parts of the request. They
/// stay removed if a later redirect leads back.
///
/// - `Authorization`, `Cookie`, and every other field that is known to be a secret or is listed in `SensitiveHeaders`
/// - `Origin` and `Referer`
/// - the credentials of the options `basicCredentials` and `bearerToken`
///
/// The body is not removed: after 307 or 308 the other origin receives it. A policy can prevent that. A layer after this
/// one adds its fields to each request. If a layer adds a credential regardless of the host, put it before this layer.
/// Put `StoreCookies`, which checks the host, after it.
///
/// **Refused redirects.** The load fails with the following codes. `HTTPError.response` has the response.
///
/// - `insecureRedirect`: The redirect leads from `https` to `http`.
/// - `invalidRedirect`: The `Location` is empty, has a control character or bytes that are not UTF-8, or occurs twice with
///   different values. Or it does not lead to a URL for a request: for example, it has another scheme or contains user information.
///   It is read as by `HTTPURL.resolving(received:)`.
/// - `tooManyRedirects`: The limit is reached. The limit is the only protection against cycles, because a server may
///   redirect to the same URL after it has set a cookie.
///
/// Responses without a `Location`, which RFC 9110 allows, are returned, and so are responses with other statuses (300,
/// 304, 305). On Linux, ``URLSessionLoader`` fails with `invalidRedirect` if such a response has a body: see
/// <doc:URLSessionTraps>.
///
/// **Options.**
///
/// - `RequestRedirects` sets the limit of one request, or disables redirects.
/// - `RequestTimeout` applies to each request that is sent, `RequestDeadline` to all of them together.
/// - `ProgressHandler` receives the progress of one transfer whose counts never decrease. They include the ignored bodies
///   of the redirects.
/// - `ResponseDelivery.file` applies to the last response, because no transport writes the body of a redirect into a
///   file.
///
/// **Cancellation.** A cancellation request is forwarded to the loader that holds the request. No request is sent after
/// that. If the response is a redirect that would be followed, the future completes as `.cancelled`. Otherwise, the
/// future completes with the response.
///
/// **Reset.** The layer keeps no state.
public struct Redirect: HTTPLayer {
  private let limit: Int
  private let policy: Policy

  /// Creates the layer.
  ///
  /// - Parameters:
  ///   - limit: The maximum number of redirects for one request. Defaults to 10. Negative values are treated as 0.
  ///   - policy: A policy that decides about each redirect that the rules allow. By default all are followed.
  public init(limit: Int = 10, policy: Policy = .follow) {
    self.limit = limit
    self.policy = policy
  }

  /// Loads the request, and follows redirects.
  ///
  /// - Returns: A future of the last response. Its `request` is the last request that was sent.
  public func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    var request = request
    if !request[option: RedirectTrail.self].isEmpty { request[option: RedirectTrail.self] = [] }
    let limit: Int
    switch request.redirects {
    case .standard: limit = self.limit
    case .limit(let own): limit = own
    case .off: return next.load(request)
    }
    return RedirectChase(over: next, limit: max(0, limit), policy).begin(request).named(.redirect)
  }
}

extension FutureName {
  fileprivate static let redirect = FutureName("Redirect")
}
