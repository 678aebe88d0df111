import FutureTreeHTTP

/// A value of `Cache-Status` (RFC 9211).
struct CacheStatus: Sendable, Equatable {
  /// Why a request was sent (section 2.2).
  enum Reason: String, Sendable {
    case bypass
    case method
    case uriMiss = "uri-miss"
    case varyMiss = "vary-miss"
    case request
    case stale
  }

  private var parameters: [String]

  /// The response came from the cache, and remains fresh for a time that can be negative.
  static func hit(_ freshness: Double) -> CacheStatus {
    let seconds = Int(max(-1e9, min(1e9, freshness)).rounded(.down))
    return CacheStatus(parameters: ["hit", "ttl=\(seconds)"])
  }

  /// The request was sent.
  static func forwarded(_ reason: Reason, _ status: HTTPStatus? = nil, detail: String? = nil) -> CacheStatus {
    CacheStatus(
      parameters: ["fwd=\(reason.rawValue)"]
        + [status.map { "fwd-status=\($0)" }, detail.map { "detail=\($0)" }]
        .compactMap { $0 })
  }

  /// The same, with the status that the server sent.
  func answered(_ status: HTTPStatus) -> CacheStatus { CacheStatus(parameters: parameters + ["fwd-status=\(status)"]) }

  /// The same, for a response that is stored.
  var stored: CacheStatus { CacheStatus(parameters: parameters + ["stored"]) }

  fileprivate var text: String { (["FutureTree"] + parameters).joined(separator: "; ") }
}

extension HTTPResponse {
  /// Appends a value to `Cache-Status`. Those of caches nearer to the server come first.
  func adding(_ status: CacheStatus) -> HTTPResponse {
    var headers = headers
    try? headers.add("Cache-Status", status.text)  // The text is valid.
    return replacingHeaders(headers)
  }

  /// Adds the parameter of a request that joined another one.
  func markingShared() -> HTTPResponse {
    var headers = headers
    let values = headers.remove("Cache-Status")
    for (index, value) in values.enumerated() {
      try? headers.add("Cache-Status", index == values.count - 1 ? value + "; collapsed" : value)
    }
    return replacingHeaders(headers)
  }
}
