/// A request option that determines how `CacheResponses` handles the request.
///
/// ```swift
/// request.caching = .reload        // The user pulled to refresh.
/// request.caching = .preferCached  // Something to show at once.
/// ```
///
/// The directives of a header `Cache-Control` of the request apply as well.
public enum RequestCaching: HTTPRequestOption, Sendable, Hashable {
  /// Uses a fresh response, and validates a stale response.
  case standard
  /// Always asks the server, which can confirm the stored response. The response is stored.
  case reload
  /// Uses a stored response of any age, unless the server forbids stale responses. Asks the server if there is none.
  case preferCached
  /// As `preferCached`, but does not ask the server. If there is no usable response, the load fails with the code
  /// `notCached`.
  case onlyCached
  /// Does not use the cache, and stores nothing.
  case off

  /// Defaults to `standard`.
  public static var defaultValue: RequestCaching { .standard }
}

extension HTTPRequest {
  /// The use of `CacheResponses` for this request.
  public var caching: RequestCaching {
    get { self[option: RequestCaching.self] }
    set { self[option: RequestCaching.self] = newValue }
  }
}
