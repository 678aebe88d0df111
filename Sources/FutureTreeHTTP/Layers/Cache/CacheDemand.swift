/// What a request demands of a cache (RFC 9111, section 5.2.1). Times are in seconds.
struct CacheDemand: Sendable, Equatable {
  /// Whether a stored response must be validated before it is used.
  var needsValidation = false
  /// Whether the request is a retry. A stored response does not replace the answer of the server then.
  var isRetry = false
  /// Whether the response must not be stored.
  var forbidsStoring = false
  /// Whether only a stored response is acceptable.
  var isOnlyIfCached = false
  var maximumAge = Double.infinity
  var minimumFreshness = 0.0
  /// How long a response can have been stale.
  var maximumStaleness = 0.0
  /// How long a response can have been stale if the server cannot answer (RFC 5861, section 4).
  var staleIfError = 0.0

  init(_ request: HTTPRequest) {
    let control = CacheControl(request.headers)
    let hasControl = request.headers.contains("Cache-Control")
    // Section 5.4: `Pragma` counts only without `Cache-Control`.
    let hasPragma = !hasControl && request.headers.elements(of: "Pragma").contains { $0.lowercased() == "no-cache" }
    needsValidation = control.contains("no-cache") || hasPragma
    isRetry = request.attempt > 1
    forbidsStoring = control.contains("no-store")
    isOnlyIfCached = control.contains("only-if-cached")
    maximumAge = control.seconds("max-age") ?? .infinity
    minimumFreshness = control.seconds("min-fresh", missing: .infinity, invalid: .infinity) ?? 0
    maximumStaleness = control.seconds("max-stale", missing: .infinity) ?? 0
    staleIfError = control.seconds("stale-if-error") ?? 0
    switch request.caching {
    case .standard, .off: break
    case .reload: needsValidation = true
    case .preferCached: maximumStaleness = .infinity
    case .onlyCached: (isOnlyIfCached, maximumStaleness) = (true, .infinity)
    }
  }
}

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
