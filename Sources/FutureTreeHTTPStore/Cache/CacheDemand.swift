import FutureTreeHTTP

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
