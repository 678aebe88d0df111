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
