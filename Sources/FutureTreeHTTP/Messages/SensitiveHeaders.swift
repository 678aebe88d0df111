/// Names of header fields of a request that are secrets, besides those that everybody knows (`Authorization`, `Cookie`, …).
///
/// ```swift
/// request[option: SensitiveHeaders.self].insert("X-Session")
/// ```
///
/// A redirect to another origin leaves them out, and nothing prints their values. A layer that puts a credential into a
/// field of its own adds the name. They compare without case.
public struct HeaderNames: Sendable, Hashable {
  private var names: Set<String> = []

  /// Some names.
  public init(_ names: [String] = []) {
    for name in names { insert(name) }
  }

  /// Adds one.
  public mutating func insert(_ name: String) {
    names.insert(name.lowercased())
  }

  /// Whether a name is among them, whatever its case.
  public func contains(_ name: String) -> Bool { names.contains(name.lowercased()) }

  /// The names in lower case, sorted.
  public var sorted: [String] { names.sorted() }
}

/// The names of the secret header fields of one request.
public enum SensitiveHeaders: HTTPRequestOption {
  /// None but those that everybody knows.
  public static var defaultValue: HeaderNames { HeaderNames() }

  /// What everybody knows: fields that carry credentials by RFC 9110 and RFC 6265, or by wide custom.
  static let known = HeaderNames([
    "Authorization", "Proxy-Authorization", "Authentication-Info", "Proxy-Authentication-Info", "Cookie", "Cookie2",
    "Set-Cookie", "X-Api-Key", "Api-Key", "X-Auth-Token", "X-Access-Token", "X-Csrf-Token", "X-Xsrf-Token",
    "X-Amz-Security-Token",
  ])
}

extension HTTPRequest {
  /// Whether the value of this header field is a secret.
  func isSensitive(header name: String) -> Bool {
    SensitiveHeaders.known.contains(name) || self[option: SensitiveHeaders.self].contains(name)
  }
}
