import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension URLSessionLoader.Configuration {
  /// Creates a request with what all requests of a loader have in common. It is copied, because a copy is cheaper.
  func template() -> URLRequest {
    // The deadlines are our own. Longer ones crash on some platforms, so this is no more than a week. The URL is replaced.
    var template = URLRequest(url: URL(fileURLWithPath: "/"), timeoutInterval: 7 * 24 * 60 * 60)
    template.httpShouldHandleCookies = false
    let encodings = acceptedEncodings.isEmpty ? ["identity"] : acceptedEncodings
    template.setValue(encodings.joined(separator: ", "), forHTTPHeaderField: "Accept-Encoding")
    for field in additionalHeaders { template.setValue(field.value, forHTTPHeaderField: field.name) }
    return template
  }
}

extension URLRequest {
  /// The request as the platform wants it. The body is not in it: the session asks its delegate for that.
  ///
  /// - Parameters:
  ///   - bodyLength: How many bytes are announced; nil if nobody knows.
  ///   - template: Has fields that are added, unless the request has them.
  /// - Throws: `HTTPError` where the platform would change what is sent.
  init(_ request: HTTPRequest, bodyLength: Int?, _ template: URLRequest) throws(HTTPError) {
    let target = try request.requireURL()
    let text = target.absoluteString
    guard let url = URL(string: text), url.absoluteString == text else {
      throw HTTPError(.invalidURL, "The platform would change the URL \(target). Percent-encode what is unusual in it.")
    }
    guard request.body.isEmpty || ![.get, .head].contains(request.method.inUpperCase) else {
      throw HTTPError(
        .forbiddenBody, "A \(request.method) request has no body. Send it with another method, or in the query.")
    }
    try request.body.checkContentType()
    self = template
    self.url = url
    if request.method != .get { httpMethod = request.method.name }
    var seen: Set<String> = []
    for field in request.headers {
      if seen.insert(field.name.lowercased()).inserted {
        setValue(field.value, forHTTPHeaderField: field.name)
      } else {
        addValue(field.value, forHTTPHeaderField: field.name)
      }
    }
    guard !request.body.isEmpty else { return }
    if request.headers["Content-Type"] == nil {
      setValue(request.body.contentType, forHTTPHeaderField: "Content-Type")
    }
    frameBody(bodyLength)
  }

  /// Says where the body ends. Without a length the platform sends it in chunks.
  private mutating func frameBody(_ length: Int?) {
    if let length { setValue("\(length)", forHTTPHeaderField: "Content-Length") }
    #if canImport(FoundationNetworking)
      // A field with a blank value is one that libcurl leaves out. It would ask for 100 Continue, and wait a second for it
      // of a server that does not know it; and it would send a stream in chunks although its length is announced.
      setValue(" ", forHTTPHeaderField: "Expect")
      if length != nil { setValue(" ", forHTTPHeaderField: "Transfer-Encoding") }
    #endif
  }
}
