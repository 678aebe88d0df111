import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension HTTPHeaders {
  /// The header fields of an answer, in the order of their names, because the platform has no order. Fields that are not
  /// valid are left out: the platform has them parsed already, and nothing of ours depends on them.
  init(_ response: HTTPURLResponse) {
    self.init()
    let fields = response.allHeaderFields.compactMap { name, value in
      (name as? String).flatMap { name in (value as? String).map { (name, $0) } }
    }
    self.init(joined: fields)
  }

  /// Fields as a platform has them: in no order, names that differ in case apart, values of one name joined with commas.
  init(joined fields: [(name: String, value: String)]) {
    self.init()
    for (name, value) in fields.sorted(by: { ($0.name.lowercased(), $0.name) < ($1.name.lowercased(), $1.name) }) {
      let values = name.lowercased() == "set-cookie" ? HTTPHeaders.splitCookies(value) : [value]
      for value in values { try? add(name, value) }
    }
  }

  /// The cookies that a platform joined with commas: the one field whose values have commas of their own, in `Expires`
  /// (RFC 6265, section 3).
  ///
  /// A comma separates two cookies if a blank and then a name and `=` follow it. What follows the comma of a date has no
  /// `=` before the next semicolon or comma.
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
