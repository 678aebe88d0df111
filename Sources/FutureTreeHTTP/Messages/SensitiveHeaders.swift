/// A set of header names that are secrets of a request, in addition to well-known ones such as `Authorization` and
/// `Cookie`.
///
/// ```swift
/// request.sensitiveHeaders.insert("X-Session")
/// ```
///
/// A redirect to another origin drops these fields, their values are never printed, and they tell users apart: `CacheResponses`
/// and ``Coalesce`` never answer a request with the response to another value. If a layer puts a credential into a custom field, it
/// must add the name of that field. Names compare case-insensitively.
public struct HeaderNames: Sendable, Hashable {
  private var names: Set<String> = []
  /// The marks of all names. Most other names are excluded by their mark, without a copy in lower case.
  private var marks: UInt64 = 0

  /// Creates a set of names.
  public init(_ names: [String] = []) {
    for name in names { insert(name) }
  }

  /// Adds a name.
  public mutating func insert(_ name: String) {
    names.insert(name.lowercased())
    marks |= HeaderNames.mark(of: name)
  }

  /// Returns whether the set contains a name. The comparison is case-insensitive.
  public func contains(_ name: String) -> Bool {
    marks & HeaderNames.mark(of: name) != 0 && names.contains(name.lowercased())
  }

  /// A bit for the length and the first letter of a name.
  private static func mark(of name: String) -> UInt64 {
    let letter = UInt64(name.utf8.first ?? 0) | 0x20
    return 1 << ((UInt64(name.utf8.count) &* 5 &+ letter) & 63)
  }

  /// The names in lower case, sorted.
  public var sorted: [String] { names.sorted() }
}

/// The names of the secret header fields of one request.
public enum SensitiveHeaders: HTTPRequestOption {
  /// No names besides the well-known ones.
  public static var defaultValue: HeaderNames { HeaderNames() }

  /// The well-known names: fields that carry credentials by RFC 9110, by RFC 6265, or by common practice.
  static let known = HeaderNames([
    "Authorization", "Proxy-Authorization", "Authentication-Info", "Proxy-Authentication-Info", "Cookie", "Cookie2",
    "Set-Cookie", "X-Api-Key", "Api-Key", "X-Auth-Token", "X-Access-Token", "X-Csrf-Token", "X-Xsrf-Token",
    "X-Amz-Security-Token",
  ])
}

extension HTTPRequest {
  /// The names of header fields that are secrets of this request, in addition to well-known ones.
  public var sensitiveHeaders: HeaderNames {
    get { self[option: SensitiveHeaders.self] }
    set { self[option: SensitiveHeaders.self] = newValue }
  }
}

extension HTTPRequest {
  /// Returns whether the value of a header field with this name is a secret: by its name, or by `sensitiveHeaders`.
  public func isSensitive(header name: String) -> Bool {
    SensitiveHeaders.known.contains(name) || self.sensitiveHeaders.contains(name)
  }
}
