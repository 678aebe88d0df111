import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What the error codes of `URLSession` mean.
///
/// | meaning | Apple | Linux (libcurl) |
/// | --- | --- | --- |
/// | unknown host | -1003, -1006 | -1003 |
/// | cannot connect | -1004, -1009 | -1004 |
/// | connection lost before the head | -1005, -1011 | -1005, -1011, -1 |
/// | truncated body | -1005 after the head | -1, -1005, -1011 after the head |
/// | not HTTP | -1017 | -1002, -1017 |
/// | insecure | -1200 to -1206 | -1200 to -1206, and -1 of https before the head |
/// | stopped | -999 | -999 |
enum URLErrorTable {
  static func end(_ error: (any Error)?, request: HTTPRequest, hasHead: Bool) -> TransferState.End {
    guard let error else { return .completed }
    guard let code = (error as? URLError)?.code else { return .failed(unclear(error)) }
    if code == .cancelled { return .stopped }
    return .failed(self.error(for: code, error, request: request, hasHead: hasHead))
  }

  private static func error(
    for code: URLError.Code, _ underlying: any Error, request: HTTPRequest, hasHead: Bool
  ) -> HTTPError {
    let url = request.url
    let peer = url.map { "\($0.host):\($0.port)" } ?? "the server"
    switch code {
    case .cannotFindHost, .dnsLookupFailed:
      return HTTPError(.unknownHost, "The host \(url?.host ?? "") has no address.", underlying: underlying)
    case .cannotConnectToHost, .notConnectedToInternet:
      return HTTPError(.cannotConnect, "Nobody answers at \(peer).", underlying: underlying)
    case .timedOut:
      return HTTPError(.timedOut, "The platform gave up waiting for \(peer).", underlying: underlying)
    case .cannotParseResponse where !hasHead, .unsupportedURL where !hasHead:
      return HTTPError(.invalidResponse, "What \(peer) answered is not HTTP.", underlying: underlying)
    case let code where (-1206...(-1200)).contains(code.rawValue):
      return HTTPError(.insecureConnection, "\(peer) could not prove who it is.", underlying: underlying)
    case _ where hasHead:
      return HTTPError(.truncatedBody, "The connection ended before the body did.", underlying: underlying)
    case .unknown where url?.scheme == .https:
      return HTTPError(.insecureConnection, "No secure connection to \(peer) came about.", underlying: underlying)
    case .networkConnectionLost, .badServerResponse, .unknown, .resourceUnavailable:
      return HTTPError(.connectionLost, "\(peer) closed the connection before it answered.", underlying: underlying)
    default:
      return unclear(underlying)
    }
  }

  private static func unclear(_ error: any Error) -> HTTPError {
    let code = (error as NSError).code
    return HTTPError(.transportFailed, "The platform reported an error with the number \(code).", underlying: error)
  }
}
