import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The mapping of the error codes of `URLSession`. The table for both platforms is in the article *URLSession on Linux*.
enum URLErrorTable {
  static func end(_ error: (any Error)?, request: HTTPRequest, hasHead: Bool) -> TransferState.End {
    guard let error else { return .completed }
    let code = (error as NSError).code
    guard (error as NSError).domain == NSURLErrorDomain else { return .failed(unclear(error)) }
    if code == NSURLErrorCancelled { return .stopped }
    return .failed(self.error(for: code, error, request: request, hasHead: hasHead))
  }

  private static func error(
    for code: Int, _ underlying: any Error, request: HTTPRequest, hasHead: Bool
  ) -> HTTPError {
    let url = request.url
    let peer = url.map { "\($0.host):\($0.port)" } ?? "the server"
    switch code {
    case -1003, -1006:
      return HTTPError(
        .unknownHost, "The host \(url?.host ?? "") has no address. Look at its spelling, and at the network.",
        underlying: underlying)
    case -1004, -1009, -1018, -1019, -1020:
      return HTTPError(
        .cannotConnect, "Nobody answers at \(peer). Is it the right port, and does the server run?",
        underlying: underlying)
    case -1001:
      return HTTPError(
        .timedOut, "The platform gave up waiting for \(peer). Load again, or allow more time.", underlying: underlying)
    case -1022, -1206...(-1200):
      return HTTPError(
        .insecureConnection, "\(peer) could not prove who it is. Look at its certificate and at the clock.",
        underlying: underlying)
    case -1000 where isLinux && url?.host.hasPrefix("[") == true:
      return HTTPError(
        .invalidURL,
        "URLSession on Linux cannot load from an IPv6 address in a URL, although the URL is valid. Use a host name that "
          + "resolves to the address.",
        underlying: underlying)
    case -1000:
      return HTTPError(
        .invalidURL, "The platform does not take the URL. Percent-encode what is unusual in it.", underlying: underlying
      )
    case -1015, -1016:
      return HTTPError(
        .encodedBody, "The platform could not decode the body. The server is at fault; ask it for `identity`.",
        underlying: underlying)
    case -1102...(-1100):
      return HTTPError(
        .unreadableBody, "The platform cannot read the body. Look at its file or its source.", underlying: underlying)
    case -1021:
      return HTTPError(
        .bodyNotReplayable, "The platform would have to send the body again, which cannot be. Use data or a file.",
        underlying: underlying)
    case -1, -1005, -1008, -1011, -1014, -1017, -1002:
      return hasHead
        ? HTTPError(.truncatedBody, "The connection ended before the body did. Load again.", underlying: underlying)
        : withoutHead(code, underlying, request: request, peer: peer)
    default:
      return unclear(underlying)
    }
  }

  private static func withoutHead(
    _ code: Int, _ underlying: any Error, request: HTTPRequest, peer: String
  ) -> HTTPError {
    switch code {
    case -1 where isOfUnreadableHead(underlying):
      return HTTPError(
        .invalidResponse,
        "The platform cannot read the header of the answer from \(peer). One of its lines is malformed, or has a byte that "
          + "is not UTF-8. Fix the server, or load over another transport.",
        underlying: underlying)
    case -1002, -1014, -1017:
      return HTTPError(
        .invalidResponse, "What \(peer) answered is not HTTP. Is it the right port?", underlying: underlying)
    case -1 where request.url?.scheme == .https:
      return HTTPError(
        .insecureConnection, "No secure connection to \(peer) came about. Does it speak https on this port?",
        underlying: underlying)
    default:
      return HTTPError(
        .connectionLost, "\(peer) closed the connection before it answered. Load again where that is safe.",
        underlying: underlying)
    }
  }

  private static var isLinux: Bool {
    #if canImport(FoundationNetworking)
      true
    #else
      false
    #endif
  }

  /// Returns whether libcurl or Foundation refused a line of the header. On Linux the code is that of a closed
  /// connection, and only the text of libcurl distinguishes the two. An unknown text is treated as a closed connection.
  private static func isOfUnreadableHead(_ error: any Error) -> Bool {
    guard let text = (error as NSError).userInfo[NSLocalizedDescriptionKey] as? String else { return false }
    return unreadableHeadTexts.contains { text.hasPrefix($0) }
  }

  private static let unreadableHeadTexts = [
    // Foundation cannot parse a line, and stops libcurl. Newer versions of libcurl use the second text.
    "Failed writing header", "Failure writing output to destination",
    // libcurl refuses a line.
    "Header without colon", "Nul byte in header", "Invalid Content-Length",
  ]

  private static func unclear(_ error: any Error) -> HTTPError {
    let code = (error as NSError).code
    return HTTPError(
      .transportFailed, "The platform reported an error with the number \(code). Look at `underlying`.",
      underlying: error)
  }
}
