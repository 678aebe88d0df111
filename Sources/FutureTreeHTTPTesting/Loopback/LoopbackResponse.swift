/// A correct response, independent of the request.
struct LoopbackResponse: Sendable {
  let status: Int
  let headers: [(String, String)]
  let body: [UInt8]
  /// The length of the whole body, if `body` is its first part.
  var length: Int?

  /// Whether the headers close the connection after this response.
  var closesConnection: Bool {
    headers.contains { $0.0.lowercased() == "connection" && $0.1.lowercased().hasToken("close") }
  }

  /// Returns the bytes of the response to a request with this method. `nil`: there is no request.
  ///
  /// - Parameter closing: Whether the request asked to close the connection. The response then confirms it.
  func bytes(method: String?, closing: Bool) -> [UInt8] {
    let names = Set(headers.map { $0.0.lowercased() })
    var head = "HTTP/1.1 \(status) \(Self.reason(status))\r\n"
    for (name, value) in headers { head += "\(name): \(value)\r\n" }
    if !isInformational, status != 204, names.isDisjoint(with: ["content-length", "transfer-encoding"]) {
      // A 304 has no body: `Content-Length: 0` would state the length of the resource.
      if status != 304 { head += "Content-Length: \(length ?? body.count)\r\n" }
    }
    if closing, !isInformational, !names.contains("connection") { head += "Connection: close\r\n" }
    head += "\r\n"
    return Array(head.utf8) + (hasBody(method: method) ? body : [])
  }

  /// Whether HTTP allows a body in the response to a request with this method.
  func hasBody(method: String?) -> Bool {
    !isInformational && status != 204 && status != 304 && method != "HEAD"
  }

  private var isInformational: Bool { (100..<200).contains(status) }

  private static func reason(_ status: Int) -> String {
    switch status {
    case 100: "Continue"
    case 103: "Early Hints"
    case 200: "OK"
    case 201: "Created"
    case 202: "Accepted"
    case 204: "No Content"
    case 206: "Partial Content"
    case 301: "Moved Permanently"
    case 302: "Found"
    case 303: "See Other"
    case 304: "Not Modified"
    case 307: "Temporary Redirect"
    case 308: "Permanent Redirect"
    case 400: "Bad Request"
    case 401: "Unauthorized"
    case 403: "Forbidden"
    case 404: "Not Found"
    case 409: "Conflict"
    case 412: "Precondition Failed"
    case 413: "Content Too Large"
    case 429: "Too Many Requests"
    case 431: "Request Header Fields Too Large"
    case 500: "Internal Server Error"
    case 502: "Bad Gateway"
    case 503: "Service Unavailable"
    case 504: "Gateway Timeout"
    default: "Status"
    }
  }
}

extension String {
  /// Returns whether a header value, read as a list, has this token. Both are lower case.
  func hasToken(_ token: String) -> Bool {
    split(separator: ",").contains { $0.drop { $0.isBlank }.trimmingBlanksAtEnd == token }
  }
}

extension Character {
  var isBlank: Bool { self == " " || self == "\t" }
}

extension Substring {
  var trimmingBlanksAtEnd: Substring {
    var text = self
    while text.last?.isBlank == true { text.removeLast() }
    return text
  }
}
