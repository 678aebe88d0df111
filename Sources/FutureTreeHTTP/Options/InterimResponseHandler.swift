/// A request option that sets a closure to receive the interim responses of the server, such as 103 (Early Hints, RFC 8297).
///
/// ```swift
/// request.onInterimResponse = { response in
///   for link in response.headers.values(for: "Link") { print(link) }
/// }
/// ```
///
/// The closure is called for each response with a status from 100 to 199 that precedes the final response (RFC 9110, section 15.2).
/// Such a response has no body. The status 101 is an error, because no request asks for another protocol. A request that `Retry`
/// repeats, or that `Redirect` follows, has the interim responses of each sending.
///
/// The closure runs on the thread of the transport, one call at a time for each sending, and outside every lock. Keep it short: it delays the other
/// requests of the loader. It is not called after the future has completed, except that a forced cancellation can complete the future
/// during a call. A request with a closure is not shared by `Coalesce`.
///
/// `CurlLoader` and `AsyncHTTPClientLoader` report interim responses. `URLSession` drops them.
public enum InterimResponseHandler: HTTPRequestOption {
  /// No closure.
  public static var defaultValue: (@Sendable (HTTPResponse) -> Void)? { nil }
}

extension HTTPRequest {
  /// The closure that receives the interim responses to this request.
  public var onInterimResponse: (@Sendable (HTTPResponse) -> Void)? {
    get { self[option: InterimResponseHandler.self] }
    set { self[option: InterimResponseHandler.self] = newValue }
  }
}
