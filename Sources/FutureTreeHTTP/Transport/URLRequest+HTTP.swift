import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension URLRequest {
  /// The request as the platform wants it. The body is not in it: the session asks its delegate for that.
  ///
  /// - Parameters:
  ///   - bodyLength: How many bytes are announced; nil if nobody knows.
  ///   - configuration: Has fields that are added, unless the request has them.
  /// - Throws: `HTTPError` where the platform would change what is sent.
  init(
    _ request: HTTPRequest, bodyLength: Int?, _ configuration: URLSessionLoader.Configuration
  ) throws(HTTPError) {
    let target = try request.requireURL()
    guard let url = URL(string: target.absoluteString), url.absoluteString == target.absoluteString else {
      throw HTTPError(.invalidURL, "The platform would change the URL \(target). Percent-encode what is unusual in it.")
    }
    guard request.body.isEmpty || ![.get, .head].contains(request.method.inUpperCase) else {
      throw HTTPError(
        .forbiddenBody, "A \(request.method) request has no body. Send it with another method, or in the query.")
    }
    try request.body.checkContentType()
    self.init(url: url)
    // The deadlines are our own. Longer ones crash on some platforms, so this is no more than a week.
    timeoutInterval = 7 * 24 * 60 * 60
    httpMethod = request.method.name
    httpShouldHandleCookies = false
    let encodings = configuration.acceptedEncodings
    setValue(encodings.isEmpty ? "identity" : encodings.joined(separator: ", "), forHTTPHeaderField: "Accept-Encoding")
    for field in configuration.additionalHeaders { setValue(field.value, forHTTPHeaderField: field.name) }
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
