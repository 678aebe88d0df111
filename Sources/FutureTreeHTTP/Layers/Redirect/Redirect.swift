import FutureTree

/// Follows the answers that send a request elsewhere: 301, 302, 303, 307 and 308 with a `Location` (RFC 9110, section 15.4).
///
/// ```swift
/// let api = Redirect() --> URLSessionLoader()
/// let response = try await api.load(HTTPRequest("https://example.com/latest")).value
/// response.request.url   // Where it came from in the end,
/// response.redirections  // and the way there.
/// ```
///
/// **What is sent.** After a 303 a `GET` without a body (a `HEAD` stays one); after a 301 or 302 the same for a `POST`, while
/// other methods are kept with their body; after a 307 or 308 the same method and body. A body that is kept is sent again; if
/// it can be sent only once, the load fails with the code `bodyNotReplayable`. With a body go the fields that describe it.
/// A fragment of the `Location` is not sent.
///
/// **Credentials.** A request that goes to another origin (scheme, host or port) loses `Authorization`, `Cookie`, every other
/// field that is known to be a secret or that `SensitiveHeaders` names, `Origin` and `Referer`, and the credentials of its
/// options `basicCredentials` and `bearerToken`. They stay away when a later redirect leads back. The body is no header
/// field: after a 307 or 308 another origin gets it; a policy can prevent that. What a layer behind this one adds, it adds to
/// each request: a layer that adds a credential, whatever the host is, belongs before it; a jar of cookies, which looks at
/// the host, behind it.
///
/// **What is refused.** The load fails, with the answer in `HTTPError.response`: with `insecureRedirect` where https would
/// become http; with `invalidRedirect` where the `Location` is empty, has a byte that is not visible ASCII, is there twice
/// with different values, or is no URL that a request can have (another scheme, user information); with `tooManyRedirects`
/// where the limit is reached. A circle is left to the limit: an answer may well send a client back to the same URL, with
/// a cookie.
/// An answer without a `Location` (which RFC 9110 allows), and every other status (300, 304, 305), is the answer. On Linux,
/// ``URLSessionLoader`` fails with `invalidRedirect` if such an answer has a body: see <doc:URLSessionTraps>.
///
/// **Options.** `RequestRedirects` sets the limit of one request, or turns this off. `RequestTimeout` holds for each request
/// that is sent, and `RequestDeadline` for all of them. The handler of `ProgressHandler` hears of one transfer, whose counts
/// never become less: the bodies of the answers on the way, which are ignored, are a part of it. `ResponseDelivery.file` is
/// for the last answer, as no transport puts the body of another status into a file.
///
/// **Cancellation.** A request to cancel goes to the loader that has the request. After it nothing is sent: an answer that
/// would be followed makes the future `.cancelled`, and one that would not be is its outcome.
///
/// **Reset.** It keeps nothing.
public struct Redirect: HTTPLayer {
  private let limit: Int
  private let policy: Policy

  /// - Parameters:
  ///   - limit: how many redirects of one request are followed; a negative one counts as zero.
  ///   - policy: is asked about each redirect that the rules allow.
  public init(limit: Int = 10, policy: Policy = .follow) {
    self.limit = limit
    self.policy = policy
  }

  /// Loads, and follows where the answer leads.
  ///
  /// - Returns: a future of the last answer. Its `request` is the last that was sent.
  public func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    var request = request
    if !request[option: RedirectTrail.self].isEmpty { request[option: RedirectTrail.self] = [] }
    let limit: Int
    switch request[option: RequestRedirects.self] {
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
