import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension URLSessionLoader.Configuration {
  /// Creates a request with the settings that all requests of a loader share. Copying it is cheaper than setting them
  /// again.
  func template() -> URLRequest {
    // The loader has its own deadlines. Longer timeouts crash on some platforms, so this is one week. The URL is
    // replaced.
    var template = URLRequest(url: URL(fileURLWithPath: "/"), timeoutInterval: 7 * 24 * 60 * 60)
    template.httpShouldHandleCookies = false
    let encodings = acceptedEncodings.isEmpty ? ["identity"] : acceptedEncodings
    template.setValue(encodings.joined(separator: ", "), forHTTPHeaderField: "Accept-Encoding")
    for field in additionalHeaders { template.setValue(field.value, forHTTPHeaderField: field.name) }
    return template
  }
}

extension URLRequest {
  /// Creates the request for the platform. It contains no body: the session asks its delegate for the body.
  ///
  /// - Parameters:
  ///   - bodyLength: The announced number of bytes, or `nil` if it is not known.
  ///   - template: A request whose fields are added, unless the request has them.
  /// - Throws: `HTTPError` if the platform would change the request.
  init(_ request: HTTPRequest, bodyLength: Int?, _ template: URLRequest) throws(HTTPError) {
    let target = try request.requireURL()
    let text = target.absoluteString
    guard let url = URL(string: text), url.absoluteString == text else {
      throw HTTPError(
        .invalidURL, "The platform would change the URL \(target). Percent-encode its special characters.")
    }
    try request.checkBody(forbiddenWith: [.get, .head])
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

  /// Sets the fields that frame the body. Without a length the platform sends the body in chunks.
  private mutating func frameBody(_ length: Int?) {
    if let length { setValue("\(length)", forHTTPHeaderField: "Content-Length") }
    #if canImport(FoundationNetworking)
      // libcurl omits a field with a blank value. Otherwise it would send `Expect: 100-continue` and wait a second for
      // servers that do not support it. It would also send a stream in chunks although its length is announced.
      setValue(" ", forHTTPHeaderField: "Expect")
      if length != nil { setValue(" ", forHTTPHeaderField: "Transfer-Encoding") }
    #endif
  }
}
