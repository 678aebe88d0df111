import AsyncHTTPClient
import Foundation
import FutureTreeHTTP
import NIOCore
import NIOFoundationCompat
import NIOHTTP1

extension HTTPClient.Request {
  /// Creates the request for the client.
  ///
  /// - Throws: `HTTPError` if the client would change the request.
  init(
    _ exchange: HTTPExchange, _ body: RequestBody?, _ configuration: AsyncHTTPClientLoader.Configuration
  ) throws(HTTPError) {
    let request = exchange.request
    let target = try request.requireURL()
    try request.body.checkContentType()
    guard request.body.isEmpty || request.method.name != "TRACE" else {
      throw HTTPError(.forbiddenBody, "A TRACE request cannot have a body. Use another method.")
    }
    guard configuration.unixSocketPath == nil || target.scheme == .http else {
      throw HTTPError(.invalidURL, "A Unix domain socket has no TLS. Use a URL with the scheme http.")
    }
    let text = target.absoluteString
    let url = configuration.unixSocketPath.map { target.url(onSocket: $0) } ?? URL(string: text)
    guard let url, configuration.unixSocketPath != nil || url.absoluteString == text else {
      throw HTTPError(
        .invalidURL, "The transport would change the URL \(target). Percent-encode its special characters.")
    }
    // Foundation, with which the client reads the path, cannot decode other bytes: the client would send `/`.
    guard !target.path.utf8.contains(UInt8(ascii: "%")) || !url.path.isEmpty else {
      throw HTTPError(
        .invalidURL, "The transport cannot send \(target): its percent-encoded bytes are not UTF-8. Change the path.")
    }
    var headers = NIOHTTP1.HTTPHeaders([("Host", target.authority)])
    if let trailers = exchange.trailers { headers.add(name: "Trailer", value: trailers.names.joined(separator: ", ")) }
    if body?.consent != nil { headers.add(name: "Expect", value: "100-continue") }
    for field in request.headers { headers.add(name: field.name, value: field.value) }
    if request.headers["Accept-Encoding"] == nil {
      headers.add(name: "Accept-Encoding", value: configuration.acceptedEncodings)
    }
    if request.headers["Content-Type"] == nil, let type = request.body.contentType, !request.body.isEmpty {
      headers.add(name: "Content-Type", value: type)
    }
    do {
      try self.init(
        url: url, method: NIOHTTP1.HTTPMethod(rawValue: request.method.name), headers: headers,
        body: body?.content ?? request.body.bytes.map { .byteBuffer(ByteBuffer(data: $0)) })
    } catch {
      throw HTTPError(
        .invalidURL, "The transport rejects the URL \(target). Percent-encode its special characters.",
        underlying: error)
    }
  }
}

extension HTTPURL {
  /// The host, and the port unless it is the default one (RFC 9110, section 7.2).
  fileprivate var authority: String {
    port == scheme.defaultPort ? host : "\(host):\(port)"
  }

  fileprivate func url(onSocket path: String) -> URL? {
    let target = self.path + (query.map { "?" + $0 } ?? "")
    return URL(httpURLWithSocketPath: path, uri: target)
  }
}

extension HTTPBody {
  /// The bytes of a body in memory. `nil` if there are none.
  fileprivate var bytes: Data? {
    if case .data(let data) = content, !data.isEmpty { data } else { nil }
  }
}
