import FutureTreeHTTP

/// The rules of a private cache (RFC 9111, sections 3 and 4). Pure.
enum CacheRules {
  /// What to do with a stored response.
  enum Decision: Equatable {
    case use
    /// Use it, and validate it for later requests (RFC 5861, section 3).
    case useAndRefresh
    case validate
  }

  /// Decides about a stored response (RFC 9111, section 4).
  static func decide(_ entry: CacheEntry, _ demand: CacheDemand, at now: Double) -> Decision {
    guard !demand.needsValidation, !demand.isRetry, !entry.control.contains("no-cache"),
      entry.age(at: now) <= demand.maximumAge
    else { return .validate }
    let freshness = entry.freshness(at: now)
    if freshness > 0 { return freshness >= demand.minimumFreshness ? .use : .validate }
    guard demand.minimumFreshness == 0, !entry.control.contains("must-revalidate") else { return .validate }
    if demand.maximumStaleness > 0, -freshness <= demand.maximumStaleness { return .use }
    let staleness = entry.control.seconds("stale-while-revalidate") ?? 0
    return -freshness < staleness ? .useAndRefresh : .validate
  }

  /// Returns whether a stored response can be used because the server could not answer (section 4.2.4, and RFC 5861, section 4).
  static func canReplaceError(_ entry: CacheEntry, _ demand: CacheDemand, at now: Double) -> Bool {
    guard !demand.needsValidation, !entry.control.contains("no-cache"), !entry.control.contains("must-revalidate")
    else {
      return false
    }
    let staleness = max(demand.staleIfError, entry.control.seconds("stale-if-error") ?? 0)
    return -entry.freshness(at: now) < staleness
  }

  /// Returns whether an answer means that the server cannot answer at present.
  static func isServerFault(_ status: HTTPStatus) -> Bool { [500, 502, 503, 504].contains(status.code) }

  /// Returns whether the response to a `GET` request can be stored (section 3).
  static func canStore(
    _ status: HTTPStatus, _ headers: HTTPHeaders, _ control: CacheControl, _ demand: CacheDemand
  ) -> Bool {
    guard !demand.forbidsStoring, status.code >= 200, ![206, 304].contains(status.code),
      !headers.contains("Content-Range"), !CacheFields.varying(headers).contains("*")
    else { return false }
    // Section 5.2.2.3: `must-understand` replaces `no-store` for a status whose rules the cache knows.
    if control.contains("must-understand") {
      guard isUnderstood(status) else { return false }
    } else if control.contains("no-store") {
      return false
    }
    return isHeuristic(status) || headers.contains("Expires")
      || ["max-age", "public", "private"].contains(where: control.contains)
  }

  /// Returns whether a response with this status is stored without an explicit lifetime (RFC 9110, section 15.1).
  static func isHeuristic(_ status: HTTPStatus) -> Bool {
    [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501].contains(status.code)
  }

  private static func isUnderstood(_ status: HTTPStatus) -> Bool {
    isHeuristic(status) || [302, 303, 307].contains(status.code)
  }
}

/// The directives of `Cache-Control` in a request or a response (RFC 9111, section 5.2).
struct CacheControl: Sendable, Equatable {
  /// The arguments of each directive, by its name in lower case.
  private var arguments: [String: [String?]] = [:]

  init(_ headers: HTTPHeaders) {
    for element in headers.elements(of: "Cache-Control") {
      let parts = element.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = FieldSyntax.trimmed(String(parts[0])).lowercased()
      arguments[name, default: []].append(parts.count > 1 ? CacheControl.unquoted(String(parts[1])) : nil)
    }
  }

  func contains(_ name: String) -> Bool { arguments[name] != nil }

  /// Returns the seconds of a directive, or `nil` if there is none. If it occurs several times, the smallest value applies
  /// (section 4.2.1).
  ///
  /// - Parameters:
  ///   - missing: The value of a directive without an argument.
  ///   - invalid: The value of a directive whose argument is not a number.
  func seconds(_ name: String, missing: Double = 0, invalid: Double = 0) -> Double? {
    arguments[name]?.map { argument in
      argument.map { CacheControl.deltaSeconds($0) ?? invalid } ?? missing
    }.min()
  }

  /// Parses `delta-seconds`. Large numbers do not overflow (section 1.2.2).
  static func deltaSeconds(_ text: String) -> Double? { FieldSyntax.seconds(text).map { min($0, 2_147_483_648) } }

  /// Both forms of an argument are accepted, with quotes and without.
  private static func unquoted(_ text: String) -> String {
    let text = FieldSyntax.trimmed(text)
    guard text.utf8.count >= 2, text.first == "\"", text.last == "\"" else { return text }
    return String(text.dropFirst().dropLast())
  }
}

/// The header fields that have a meaning for caches.
enum CacheFields {
  /// Removes the fields that belong to one connection or to a proxy (RFC 9111, section 3.1).
  static func removeUnstored(from headers: inout HTTPHeaders) {
    let listed = headers.elements(of: "Connection").map { $0.lowercased() }
    headers.removeAll { field in
      let name = field.name.lowercased()
      return unstored.contains(name) || listed.contains(name)
    }
  }

  /// Returns whether a field describes the bytes of a body. A 304 has no body, so its field does not apply to the stored one.
  static func isOfBody(_ name: String) -> Bool { ofBody.contains(name) }

  /// The names that `Vary` lists, in lower case.
  static func varying(_ headers: HTTPHeaders) -> [String] {
    Set(headers.elements(of: "Vary").map { $0.lowercased() }).sorted()
  }

  private static let unstored: Set = [
    "connection", "keep-alive", "proxy-authenticate", "proxy-authentication-info", "proxy-authorization",
    "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
  ]

  private static let ofBody: Set = ["content-encoding", "content-length", "content-range", "transfer-encoding"]
}
