import FutureTreeHTTP
import HTTPTypes

extension FutureTreeHTTP.HTTPRequest {
  /// Creates a request from a request of swift-http-types and a body.
  ///
  /// ```swift
  /// let request = try FutureTreeHTTP.HTTPRequest(head, body: .data(bytes))
  /// let response = try await api.load(request).value
  /// ```
  ///
  /// - A request without an authority has only a path. A layer such as `ApplyEnvironment` adds the host.
  /// - Fields with the indexing strategy `disallow` are `sensitiveHeaders`.
  /// - `Expect: 100-continue` is `expectsContinue`.
  /// - `Host`, if it is equal to the authority, and the fields that frame the body or belong to one connection are omitted, because
  ///   the transport sets them.
  /// - `Content-Type` stays a field, and takes precedence over the type of the body.
  /// - Fields with the name `Cookie` are joined with `; ` (RFC 9113, section 8.2.3).
  ///
  /// The scheme, the authority and the path are checked apart, so that none of them can change another: a path `.evil.com` does not
  /// continue the host.
  ///
  /// - Throws: `HTTPError` with the code `invalidURL` for an authority without a scheme, for a URL that FutureTree refuses, and for a
  ///   `CONNECT`; `forbiddenHeader` for a `Host` that differs from the authority, and for another expectation; `invalidHeaderValue`
  ///   for a value with characters beyond ASCII.
  public init(_ head: HTTPTypes.HTTPRequest, body: HTTPBody = .empty) throws(HTTPError) {
    let method = try HTTPMethod(head.method)
    guard head.method != .connect else {
      throw HTTPError(.invalidURL, "A CONNECT request has no URL. Use a client that opens tunnels.")
    }
    let path = head.path ?? "/"
    if let authority = head.authority {
      guard let scheme = head.scheme else {
        throw HTTPError(.invalidURL, "The request to \(authority) has no scheme. Set it to http or https.")
      }
      let isSeparate =
        ["http", "https"].contains(scheme.lowercased()) && !authority.utf8.contains(where: "/?#\\".utf8.contains)
        && ("/?".utf8.contains(path.utf8.first ?? 0x2F)) && !path.utf8.contains(0x23)
      guard isSeparate else {
        throw HTTPError(
          .invalidURL,
          "The request has a scheme other than http and https, an authority with a slash, or a path without one. Correct them."
        )
      }
      try self.init(method, "\(scheme)://\(authority)\(path)")
    } else {
      try self.init(method, path: path)
    }
    self.body = body
    try add(head.headerFields, authority: head.authority)
  }

  private mutating func add(_ fields: HTTPFields, authority: String?) throws(HTTPError) {
    let ofConnection = try HTTPHeaders(HTTPFields(fields.filter { $0.name == .connection })).elements(of: "Connection")
    let omitted = omittedNames.union(ofConnection.map { $0.lowercased() })
    var cookies: [String] = []
    for field in fields where !omitted.contains(field.name.canonicalName) {
      switch field.name.canonicalName {
      case "cookie": cookies.append(field.value)
      case "host" where field.value.lowercased() == authority?.lowercased(): break
      case "expect" where field.value.lowercased() == "100-continue": expectsContinue = true
      default: try addHeader(field.name.rawName, field.value)
      }
      if field.indexingStrategy == .disallow { sensitiveHeaders.insert(field.name.rawName) }
    }
    if !cookies.isEmpty { try addHeader("Cookie", cookies.joined(separator: "; ")) }
  }
}

/// The fields that the transport sets, in lower case.
private let omittedNames: Set<String> = [
  "connection", "content-length", "http2-settings", "keep-alive", "proxy-connection", "te", "trailer",
  "transfer-encoding", "upgrade",
]

extension HTTPTypes.HTTPRequest {
  /// Creates the head of a request. Its body and its options, such as `retry`, are lost.
  ///
  /// - A request with only a path has neither scheme nor authority. A relative path stays relative.
  /// - `Content-Type` is the type of the body, if the request has no such field. The length of the body is no field.
  /// - Secrets of the request have the indexing strategy `disallow`.
  /// - `expectsContinue` is `Expect: 100-continue`.
  ///
  /// - Throws: `HTTPError` with the code `invalidHeaderValue` if there are too many fields for `HTTPFields`.
  /// - Complexity: O(n) in the number of fields.
  public init(_ request: FutureTreeHTTP.HTTPRequest) throws(HTTPError) {
    let path = request.path + (request.query.map { "?" + $0 } ?? "")
    var fields = try HTTPFields(request.headers, of: request)
    if fields[.contentType] == nil, let type = request.body.contentType { fields[.contentType] = type }
    if request.expectsContinue { fields[.expect] = "100-continue" }
    self.init(
      method: Method(request.method), scheme: request.url?.scheme.rawValue, authority: request.url?.authority,
      path: path, headerFields: fields)
  }
}

extension HTTPURL {
  fileprivate var authority: String { host + (explicitPort.map { ":\($0)" } ?? "") }
}
