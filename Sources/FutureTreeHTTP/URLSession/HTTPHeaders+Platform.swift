import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension HTTPHeaders {
  /// Returns the fields of a response as the platform reports them, without whitespace around the values.
  static func fields(of response: HTTPURLResponse) -> [(name: String, value: String)] {
    response.allHeaderFields.compactMap { name, value in
      (name as? String).flatMap { name in (value as? String).map { (name, FieldSyntax.trimmed($0)) } }
    }
  }

  /// Creates headers from the fields of a platform: unordered, with separate entries for names that differ in case, and
  /// with the values of one name joined by commas. Invalid fields are omitted. `BodyFraming` refuses a response if its
  /// framing fields are invalid.
  init(joined fields: [(name: String, value: String)]) {
    self.init()
    let sorted = fields.map { (key: $0.name.lowercased(), name: $0.name, value: $0.value) }
      .sorted { ($0.key, $0.name) < ($1.key, $1.name) }
    for (key, name, value) in sorted {
      let values = key == "set-cookie" ? HTTPHeaders.splitCookies(value) : [value]
      for value in values { try? add(name, value) }
    }
  }

  /// Splits cookies that a platform joined with commas. `Set-Cookie` is the only field whose values contain commas, in
  /// `Expires` (RFC 6265, section 3).
  ///
  /// A comma separates two cookies if a space, a name and `=` follow it. In a date, no `=` follows the comma before the
  /// next semicolon or comma.
  static func splitCookies(_ joined: String) -> [String] {
    var cookies: [Substring] = []
    var rest = joined[...]
    var search = rest.startIndex
    while let comma = rest[search...].firstIndex(of: ",") {
      let next = rest.index(after: comma)
      search = next
      guard next < rest.endIndex, rest[next] == " " else { continue }
      let following = rest[next...].drop { $0 == " " }
      let name = following.prefix { $0 != "=" && $0 != ";" && $0 != "," }
      guard name.endIndex < following.endIndex, following[name.endIndex] == "=",
        FieldSyntax.fault(inToken: String(name)) == nil
      else { continue }
      cookies.append(rest[..<comma])
      rest = following
      search = rest.startIndex
    }
    return (cookies + [rest]).map(String.init)
  }
}
