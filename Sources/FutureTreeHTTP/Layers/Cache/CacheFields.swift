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
