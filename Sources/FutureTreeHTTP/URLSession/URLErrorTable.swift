import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The mapping of the error codes of `URLSession`. The table for both platforms is in the article *URLSession on Linux*.
enum URLErrorTable {
  /// - Parameter proxy: The proxy of the request, which the errors of its connection name.
  static func end(
    _ error: (any Error)?, request: HTTPRequest, _ proxy: EnvironmentProxy? = nil, hasHead: Bool
  ) -> HTTPExchange.End {
    guard let error else { return .completed }
    let code = (error as NSError).code
    guard (error as NSError).domain == NSURLErrorDomain else { return .failed(unclear(error)) }
    if code == NSURLErrorCancelled { return .stopped }
    return .failed(
      ofProxy(proxy, code, error, request: request, hasHead: hasHead)
        ?? self.error(for: code, error, request: request, hasHead: hasHead))
  }

  private static func peer(of request: HTTPRequest) -> String {
    request.url.map { "\($0.host):\($0.port)" } ?? "the server"
  }

  private static func error(
    for code: Int, _ underlying: any Error, request: HTTPRequest, hasHead: Bool
  ) -> HTTPError {
    let url = request.url
    let peer = peer(of: request)
    switch code {
    case -1003, -1006:
      return ConnectionFault.unknownHost(url?.host ?? "").error(underlying)
    case -1004, -1009, -1018, -1019, -1020:
      return ConnectionFault.refused(peer: peer).error(underlying)
    case -1001:
      return HTTPError(
        .timedOut, "The platform timed out while waiting for \(peer). Load again, or allow more time.",
        underlying: underlying)
    case -1022, -1206...(-1200):
      return ConnectionFault.unverified(peer: peer).error(underlying)
    case -1000 where isLinux && url?.host.hasPrefix("[") == true:
      return HTTPError(
        .invalidURL,
        "URLSession on Linux cannot load from an IPv6 address in a URL. The URL is valid. Use a host name that "
          + "resolves to the address.",
        underlying: underlying)
    case -1000:
      return HTTPError(
        .invalidURL, "The platform rejects the URL. Percent-encode its special characters.", underlying: underlying
      )
    case -1015, -1016:
      return HTTPError(
        .encodedBody,
        "The platform could not decode the body. The server sent invalid data. Request the encoding `identity`.",
        underlying: underlying)
    case -1102...(-1100):
      return HTTPError(
        .unreadableBody, "The platform cannot read the body of the request. Check the file or the stream.",
        underlying: underlying)
    case -1021:
      return HTTPError(
        .bodyNotReplayable,
        "The platform must send the body again. The body can be sent only once. Use data or a file.",
        underlying: underlying)
    case -1 where hasHead && isText(of: underlying, oneOf: encodingTexts):
      return HTTPError(
        .encodedBody,
        "The platform cannot decode the body: its encoding is unknown to libcurl, or the data is invalid. Request the encoding "
          + "`identity`, or use another transport.",
        underlying: underlying)
    case -1, -1005, -1008, -1011, -1014, -1017, -1002:
      return hasHead
        ? ConnectionFault.truncated.error(underlying)
        : withoutHead(code, underlying, request: request, peer: peer)
    default:
      return unclear(underlying)
    }
  }

  private static func withoutHead(
    _ code: Int, _ underlying: any Error, request: HTTPRequest, peer: String
  ) -> HTTPError {
    switch code {
    case -1 where isText(of: underlying, oneOf: unreadableHeadTexts):
      return HTTPError(
        .invalidResponse,
        "The platform cannot read the header of the response from \(peer). A line is malformed, or contains a byte that "
          + "is not UTF-8. Fix the server, or use another transport.",
        underlying: underlying)
    case -1002, -1014, -1017:
      return ConnectionFault.notHTTP(peer: peer).error(underlying)
    case -1 where request.url?.scheme == .https:
      return ConnectionFault.insecure(peer: peer).error(underlying)
    default:
      return ConnectionFault.closed(peer: peer).error(underlying)
    }
  }

  private static var isLinux: Bool {
    #if canImport(FoundationNetworking)
      true
    #else
      false
    #endif
  }

  private static func text(of error: any Error) -> String {
    (error as NSError).userInfo[NSLocalizedDescriptionKey] as? String ?? ""
  }

  /// Returns whether the text of an error begins with one of `texts`. On Linux, the code of many failures is that of a closed
  /// connection, and only the text of libcurl distinguishes them. An unknown text is treated as a closed connection.
  private static func isText(of error: any Error, oneOf texts: [String]) -> Bool {
    let text = text(of: error)
    return texts.contains { text.hasPrefix($0) }
  }

  /// The texts for an encoding that libcurl does not know, and for data that it cannot decode.
  private static let encodingTexts = [
    "Unrecognized content encoding type", "Unrecognized or bad HTTP Content",
    "Error while processing content unencoding",
  ]

  /// The texts for a line of the head that libcurl or Foundation refuses.
  private static let unreadableHeadTexts = [
    // Foundation cannot parse a line, and stops libcurl. Newer versions of libcurl use the second text.
    "Failed writing header", "Failure writing output to destination",
    // libcurl refuses a line.
    "Header without colon", "Nul byte in header", "Invalid Content-Length",
  ]

  /// Returns whether the body of a response was cut, as the text of libcurl says.
  static func isOfBody(_ error: (any Error)?) -> Bool {
    error.map { text(of: $0).hasPrefix("transfer closed with") } ?? false
  }

  private static func unclear(_ error: any Error) -> HTTPError {
    let code = (error as NSError).code
    return HTTPError(
      .transportFailed, "The transport failed with the platform error \(code). See `underlying`.",
      underlying: error)
  }
}

// MARK: - Proxies

extension URLErrorTable {
  /// Returns the error of a connection to a proxy. Returns `nil` for other errors.
  ///
  /// On Linux, most of them have the code of a closed connection, and only the text of libcurl names the proxy.
  private static func ofProxy(
    _ proxy: EnvironmentProxy?, _ code: Int, _ underlying: any Error, request: HTTPRequest, hasHead: Bool
  ) -> HTTPError? {
    guard !hasHead else { return nil }
    let text = text(of: underlying)
    let name = proxy.map { "The proxy \($0.name)" } ?? "The proxy"
    switch code {
    case -1 where text.hasPrefix("Could not resolve proxy"):
      return HTTPError(
        .unknownHost, "\(name) has no address. Check its name in \(variables).", underlying: underlying)
    case -1 where text.hasPrefix("Unsupported proxy"):
      return HTTPError(
        .invalidConfiguration, "\(name) cannot be used: its scheme or syntax is not supported. Check \(variables).",
        underlying: underlying)
    case -1 where refusals.contains { text.contains($0) }:
      let status = text.split(separator: " ").lazy.compactMap { Int($0) }.first.map { " with the status \($0)" } ?? ""
      return HTTPError(
        .cannotConnect,
        "\(name) refused to connect to \(peer(of: request))\(status). Check its rules, and the credentials in \(variables).",
        underlying: underlying)
    case -1004 where proxy != nil:
      return HTTPError(
        .cannotConnect, "\(name) accepts no connections. Check \(variables), and whether the proxy is running.",
        underlying: underlying)
    default:
      return nil
    }
  }

  private static let variables = "the environment variables of proxies, such as `https_proxy`"

  /// Texts of libcurl about a proxy that opened no connection to the server.
  private static let refusals = ["CONNECT tunnel failed", "Proxy CONNECT aborted", "from proxy after CONNECT", "SOCKS"]
}
