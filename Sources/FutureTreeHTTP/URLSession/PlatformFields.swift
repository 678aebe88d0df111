import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The header fields of a response, as `URLSession` reports them: unordered, and with the values of one name joined by commas.
enum PlatformFields {
  /// Returns the fields in the order of their names, with separate cookies.
  static func fields(of response: HTTPURLResponse) -> [(name: String, value: String)] {
    separated(
      response.allHeaderFields.compactMap { name, value in
        guard let name = name as? String, let value = value as? String else { return nil }
        #if canImport(Darwin)
          return (name, decoded(value, of: name))
        #else
          return (name, value)
        #endif
      })
  }

  static func separated(_ fields: [(name: String, value: String)]) -> [(name: String, value: String)] {
    fields.map { (key: $0.name.lowercased(), name: $0.name, value: $0.value) }
      .sorted { ($0.key, $0.name) < ($1.key, $1.name) }
      .flatMap { key, name, value in
        key == "set-cookie" ? splitCookies(value).map { (name, $0) } : [(name, value)]
      }
  }

  /// Returns the text of a value that the platform has decoded as ISO-8859-1: as UTF-8 if its bytes are UTF-8.
  static func decoded(_ value: String, of name: String) -> String {
    let bytes = value.unicodeScalars.compactMap { UInt8(exactly: $0.value) }
    guard bytes.count == value.unicodeScalars.count else { return value }  // The platform has decoded UTF-8.
    return ResponseReceiver.decoded(bytes, of: name)
  }

  /// Splits cookies that a platform joined with commas. `Set-Cookie` is the only field whose values contain commas, in
  /// `Expires` (RFC 6265, section 3).
  ///
  /// A comma separates two cookies if a space, a name and `=` follow it. In a date, no `=` follows the comma before the
  /// next semicolon or comma. An empty field between two cookies leaves a comma with a space at the end of the first.
  static func splitCookies(_ joined: String) -> [String] {
    let comma = UInt8(ascii: ",")
    var cookies: [Substring.UTF8View] = []
    var rest = joined.utf8[...]
    var search = rest.startIndex
    while let end = rest[search...].firstIndex(of: comma) {
      search = rest.index(after: end)
      let following = rest[search...].drop { $0 == UInt8(ascii: " ") }
      let name = following.prefix { isNameByte($0) }
      guard following.startIndex > search, !name.isEmpty, following[name.endIndex...].first == UInt8(ascii: "=") else {
        continue
      }
      cookies.append(rest[..<end])
      rest = following
      search = rest.startIndex
    }
    return (cookies + [rest]).map { cookie in
      var cookie = cookie
      while cookie.suffix(2).elementsEqual(", ".utf8) { cookie = cookie.dropLast(2) }
      return String(Substring(cookie))
    }
  }

  /// Whether a byte can be part of the name of a cookie that follows another one: a byte of a token, or beyond ASCII.
  private static func isNameByte(_ byte: UInt8) -> Bool { byte >= 0x80 || FieldSyntax.isTokenByte(byte) }
}
