extension HTTPRequest {
  /// Returns whether a field must not reach another origin: a credential, or a field that names the origin of the
  /// request.
  func isBoundToOrigin(header name: String) -> Bool {
    isSensitive(header: name) || ["origin", "referer"].contains(name.lowercased())
  }

  /// The credentials of the request: its sorted secret fields, and its own credentials for layers. Requests with different
  /// credentials are those of different users.
  var credentials: [String] {
    var credentials = headers.filter { isSensitive(header: $0.name) }.map { "\($0.name.lowercased()):\($0.value)" }
    if credentials.count > 1 { credentials.sort() }
    if let basicCredentials { credentials.append(basicCredentials.authorization) }
    if let bearerToken { credentials.append(bearerToken.authorization) }
    return credentials
  }

  /// Removes the credentials that this request shares with earlier requests, because it goes to another origin. New
  /// credentials stay.
  ///
  /// - Throws: `HTTPError` if a value that stays is not valid. It is always valid, because the request has it already.
  mutating func removeCredentials(of earlier: [HTTPRequest]) throws(HTTPError) {
    if earlier.contains(where: { $0.basicCredentials == basicCredentials }) { basicCredentials = nil }
    if earlier.contains(where: { $0.bearerToken == bearerToken }) { bearerToken = nil }
    for name in Set(headers.map { $0.name.lowercased() })
    where isBoundToOrigin(header: name) || earlier.contains(where: { $0.isBoundToOrigin(header: name) }) {
      let old = earlier.flatMap { $0.headers.values(for: name) }
      let own = headers.values(for: name).filter { !old.contains($0) }
      removeHeader(name)
      for value in own { try addHeader(name, value) }
    }
  }
}
