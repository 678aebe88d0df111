/// The rules that derive the next request from a redirect (RFC 9110, section 15.4). Pure: they send nothing and call no
/// closure.
///
/// The errors contain no response. The caller adds it.
///
/// # Invariants
/// 1. A request that the rules return has an `http` or `https` URL, and never leads from `https` to `http`.
/// 2. A body is kept whole and can be sent again, or is dropped together with its method and all fields that describe it.
/// 3. H10 (credentials never cross an origin): a field or an option with a credential is sent only to the scheme, host
///    and port to which it was sent before.
enum RedirectRules {
  /// Returns whether the response is a redirect that is followed.
  static func apply(to response: HTTPResponse) -> Bool {
    [301, 302, 303, 307, 308].contains(response.status.code)
      && (response.headers.contains("Location") || response.marks.contains(.hidesLocation))
  }

  /// Returns the request that the response asks for.
  ///
  /// - Throws: `HTTPError` with the code `invalidRedirect`, `insecureRedirect` or `missingHost`.
  static func request(
    after request: HTTPRequest, answeredWith response: HTTPResponse
  ) throws(HTTPError) -> HTTPRequest {
    let base = try base(of: request, response)
    let url = try target(of: response, from: base)
    var next = request
    next.target = .url(url)
    if losesBody(request.method, response.status) {
      if ![.get, .head].contains(request.method.inUpperCase) { next.method = .get }
      next.body = .empty
      next.removeHeaders { describesBody($0) }
    }
    if !url.hasSameOrigin(as: base) {
      next.removeCredentials()
    }
    return next
  }

  /// Returns the request of a policy, without credentials that it must not take over from the previous request.
  ///
  /// - Throws: `HTTPError` with the code `missingHost`, `insecureRedirect` or `bodyNotReplayable`.
  static func checked(
    _ decided: HTTPRequest, after request: HTTPRequest, answeredWith response: HTTPResponse
  ) throws(HTTPError) -> HTTPRequest {
    let (base, url) = (try base(of: request, response), try decided.requireURL())
    try checkIsSecure(url, from: base, response)
    guard decided.body.isReplayable else {
      throw HTTPError(
        .bodyNotReplayable,
        "\(story(of: response)) to \(url) with the same body. The body can be sent only once. Use data or a file."
      )
    }
    guard !url.hasSameOrigin(as: base) else { return decided }
    var next = decided
    try next.removeCredentials(of: [request, response.request])
    return next
  }
}

// MARK: - The target

extension RedirectRules {
  /// Returns the base of relative references. If a later layer adds the host, only the request of the response has it.
  private static func base(of request: HTTPRequest, _ response: HTTPResponse) throws(HTTPError) -> HTTPURL {
    if let url = request.url ?? response.request.url { return url }
    return try request.requireURL()
  }

  private static func target(of response: HTTPResponse, from base: HTTPURL) throws(HTTPError) -> HTTPURL {
    guard !response.marks.contains(.hidesLocation) else {
      throw invalid(
        response, "the Location field contains a control character or bytes that are not UTF-8. Fix the server.")
    }
    let locations = response.headers.values(for: "Location").flatMap(separated)
    guard let location = locations.first, locations.allSatisfy({ $0 == location }) else {
      throw invalid(
        response, "the response has \(locations.count) different Location fields. Fix the server.")
    }
    guard !location.isEmpty else {
      throw invalid(response, "the Location field is empty. Fix the server.")
    }
    let url: HTTPURL
    do throws(HTTPError) {
      url = try base.resolving(received: String(location))
    } catch {
      throw invalid(response, "the Location field is not a valid URL. \(error.message)", error)
    }
    try checkIsSecure(url, from: base, response)
    return url
  }

  /// Splits targets that a platform or a proxy joined with commas. A comma in a target is followed by neither a slash nor
  /// another URL.
  private static func separated(_ value: String) -> [Substring] {
    let parts = value.split(separator: ", ", omittingEmptySubsequences: false)
    return parts.dropFirst().contains { $0.hasPrefix("/") || $0.contains("://") } ? parts : [value[...]]
  }

  private static func checkIsSecure(
    _ url: HTTPURL, from base: HTTPURL, _ response: HTTPResponse
  ) throws(HTTPError) {
    guard base.scheme == .https, url.scheme == .http else { return }
    throw HTTPError(
      .insecureRedirect,
      "\(story(of: response)) from https to \(url), which is not encrypted. "
        + "Load that URL directly if you accept this.")
  }

  private static func invalid(
    _ response: HTTPResponse, _ fault: String, _ underlying: HTTPError? = nil
  ) -> HTTPError {
    HTTPError(.invalidRedirect, "\(story(of: response)), but \(fault)", underlying: underlying)
  }

  /// Returns the beginning of an error message.
  static func story(of response: HTTPResponse) -> String {
    "\(response.request) was redirected with \(response.status)"
  }
}

// MARK: - The contents of the request

extension RedirectRules {
  private static func losesBody(_ method: HTTPMethod, _ status: HTTPStatus) -> Bool {
    switch status.code {
    case 303: true
    case 301, 302: method.inUpperCase == .post
    default: false
    }
  }

  /// Returns whether a field describes the body (RFC 9110, sections 8 and 15.4, and RFC 9530).
  private static func describesBody(_ name: String) -> Bool {
    let name = name.lowercased()
    return name.hasPrefix("content-") || ["digest", "repr-digest", "last-modified"].contains(name)
  }
}

extension HTTPRequest {
  fileprivate mutating func removeHeaders(_ isRemoved: (String) -> Bool) {
    for name in headers.map(\.name) where isRemoved(name) { removeHeader(name) }
  }
}

extension HTTPRequest {
  /// Returns whether a field must not reach another origin: a credential, or a field that names the origin of the
  /// request.
  func isBoundToOrigin(header name: String) -> Bool {
    isSensitive(header: name) || ["origin", "referer"].contains(name.lowercased())
  }

  /// The credentials of the request: its sorted secret fields, and its own credentials for layers. Requests with different
  /// credentials are those of different users.
  package var credentials: [String] {
    var credentials = headers.filter { isSensitive(header: $0.name) }.map { "\($0.name.lowercased()):\($0.value)" }
    if credentials.count > 1 { credentials.sort() }
    if let basicCredentials { credentials.append(basicCredentials.authorization) }
    if let bearerToken { credentials.append(bearerToken.authorization) }
    return credentials
  }

  /// Removes the credentials, and the fields that name the origin, because the request goes to another origin.
  package mutating func removeCredentials() {
    removeHeaders { [request = self] in request.isBoundToOrigin(header: $0) }
    basicCredentials = nil
    bearerToken = nil
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
