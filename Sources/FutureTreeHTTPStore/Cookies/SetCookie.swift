import Foundation
import FutureTreeHTTP

/// One value of the field `Set-Cookie`, parsed by the algorithm for user agents (RFC 6265bis, section 5.6). It accepts more than
/// the grammar for servers.
package struct SetCookie: Hashable {
  package let name: String
  package let value: String
  /// The date of `Expires`, before the limit of the lifetime.
  package private(set) var expires: Date?
  /// The seconds of `Max-Age`, which takes precedence over `Expires`.
  package private(set) var maxAge: Int?
  /// The domain of `Domain`, in lower case and without a leading period. Empty if there is none.
  package private(set) var domain = ""
  /// The path of `Path`. `nil` if there is none, or if it does not begin with `/`.
  package private(set) var path: String?
  package private(set) var isSecure = false
  package private(set) var isHTTPOnly = false
  package private(set) var sameSite = CookieJar.SameSite.unspecified

  /// The maximum size of the name and the value together, in bytes.
  static let maximumSize = 4096
  /// The maximum size of the value of an attribute, in bytes. A longer attribute is ignored.
  static let maximumAttributeSize = 1024

  /// Parses a value. Returns `nil` if a user agent must ignore the cookie: it is empty or too long, or has a control character.
  package init?(_ text: String) {
    guard !text.utf8.contains(where: FieldSyntax.isControlByte) else { return nil }
    let parts = text.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
    let pair = SetCookie.pair(parts[0])
    // Without `=`, the whole text is the value of a cookie without a name.
    (name, value) = pair.value.map { (pair.name, $0) } ?? ("", pair.name)
    let size = name.utf8.count + value.utf8.count
    guard size > 0, size <= SetCookie.maximumSize else { return nil }
    for part in parts.dropFirst() { apply(SetCookie.pair(part)) }
  }

  /// Applies an attribute. The last of several attributes with the same name applies. Unknown attributes are ignored.
  private mutating func apply(_ attribute: (name: String, value: String?)) {
    let value = attribute.value ?? ""
    guard value.utf8.count <= SetCookie.maximumAttributeSize else { return }
    switch attribute.name.lowercased() {
    case "expires": if let date = CookieDate.parse(value) { expires = date }
    case "max-age": if let seconds = SetCookie.seconds(value) { maxAge = seconds }
    case "domain": domain = (value.hasPrefix(".") ? String(value.dropFirst()) : value).lowercased()
    case "path": path = value.hasPrefix("/") ? value : nil
    case "secure": isSecure = true
    case "httponly": isHTTPOnly = true
    case "samesite": sameSite = CookieJar.SameSite(rawValue: value.lowercased()) ?? .unspecified
    default: break
    }
  }

  /// Splits at the first `=`, and removes the spaces and tabs around both parts.
  private static func pair(_ text: Substring.UTF8View) -> (name: String, value: String?) {
    let parts = text.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
    return (trimmed(parts[0]), parts.count == 2 ? trimmed(parts[1]) : nil)
  }

  private static func trimmed(_ text: Substring.UTF8View) -> String {
    let start = text.drop(while: FieldSyntax.isBlank)
    let blanks = start.reversed().prefix(while: FieldSyntax.isBlank).count
    return String(decoding: start.dropLast(blanks), as: UTF8.self)
  }

  /// Parses digits with an optional minus. Large numbers are clamped.
  private static func seconds(_ text: String) -> Int? {
    let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
    guard !digits.isEmpty, digits.utf8.allSatisfy(ASCII.isDigit) else { return nil }
    guard !text.hasPrefix("-") else { return 0 }
    return Int(digits) ?? Int.max
  }
}

/// The date of a cookie's `Expires` (RFC 6265bis, section 5.1.1).
enum CookieDate {
  /// Parses a date. Returns `nil` if it has no time, day, month or year, or if that date does not exist.
  ///
  /// Other parts, including the time zone, are ignored. The year is 1601 or later. There are no leap seconds.
  static func parse(_ text: String) -> Date? {
    let fields = HTTPDateFields(text)
    guard let number = fields.year?.number, fields.time?.second != 60 else { return nil }
    let year = fullYear(number)
    guard year >= 1601 else { return nil }
    return fields.secondsSince1970(inYear: year).map { Date(timeIntervalSince1970: Double($0)) }
  }

  private static func fullYear(_ year: Int) -> Int {
    switch year {
    case 70...99: year + 1900
    case 0...69: year + 2000
    default: year
    }
  }
}

/// The paths of cookies (RFC 6265bis, section 5.1.4).
enum CookiePath {
  /// Returns the path of a cookie that sets none: the directory of the request.
  static func standard(of url: HTTPURL) -> String {
    guard let slash = url.path.lastIndex(of: "/"), slash != url.path.startIndex else { return "/" }
    return String(url.path[..<slash])
  }

  /// Whether a path is a cookie's path, or below it.
  static func isPath(_ path: String, in cookiePath: String) -> Bool {
    guard path.utf8.starts(with: cookiePath.utf8) else { return false }
    let count = cookiePath.utf8.count
    return path.utf8.count == count || cookiePath.utf8.last == UInt8(ascii: "/")
      || path.utf8.dropFirst(count).first == UInt8(ascii: "/")
  }
}

/// The prefixes of names that promise how a cookie was set (RFC 6265bis, section 5.4).
enum CookiePrefix {
  private static let secure = "__secure-"
  private static let host = "__host-"

  static func allows(_ cookie: SetCookie, isHostOnly: Bool) -> Bool {
    // Sent without a name, a value would look like a cookie with the prefix.
    if cookie.name.isEmpty { return !isPrefix(secure, of: cookie.value) && !isPrefix(host, of: cookie.value) }
    if isPrefix(secure, of: cookie.name) { return cookie.isSecure }
    if isPrefix(host, of: cookie.name) {
      return cookie.isSecure && isHostOnly && cookie.domain.isEmpty && cookie.path == "/"
    }
    return true
  }

  /// Compares bytes: a combining mark after the prefix would change its last character.
  private static func isPrefix(_ prefix: String, of text: String) -> Bool {
    text.utf8.lazy.map(ASCII.lowercased).starts(with: prefix.utf8)
  }
}

extension HTTPURL {
  /// Whether secure cookies can be sent: the connection is encrypted, or does not leave this machine.
  var isSecureForCookies: Bool { scheme == .https || isLoopback }

  /// Whether the host is an IPv4 or IPv6 address.
  var hostIsAddress: Bool { HTTPURL.isAddress(host) }

  static func isAddress(_ host: String) -> Bool {
    host.hasPrefix("[") || host.utf8.allSatisfy { ASCII.isDigit($0) || $0 == UInt8(ascii: ".") }
  }
}
