/// The failures of a connection that every transport reports alike.
enum ConnectionFault {
  /// The host has no address.
  case unknownHost(String)
  case refused(peer: String)
  /// The certificate of the peer is not valid.
  case unverified(peer: String)
  /// The peer does not support TLS, or refuses it.
  case insecure(peer: String)
  /// The connection was closed before the response began.
  case closed(peer: String)
  /// The connection was closed before the body ended.
  case truncated
  case notHTTP(peer: String)

  /// Returns the error of a load.
  ///
  /// - Parameter underlying: The error that the platform reported.
  func error(_ underlying: (any Error)? = nil) -> HTTPError {
    let (code, message) = codeAndMessage
    return HTTPError(code, message, underlying: underlying)
  }

  private var codeAndMessage: (HTTPError.Code, String) {
    switch self {
    case .unknownHost(let host):
      (.unknownHost, "The host \(host) has no address. Check its spelling and the network connection.")
    case .refused(let peer):
      (
        .cannotConnect, "No server accepts connections at \(peer). Check the port, and whether the server is running."
      )
    case .unverified(let peer):
      (
        .insecureConnection,
        "The identity of \(peer) cannot be verified. Check its certificate and the clock of this device."
      )
    case .insecure(let peer):
      (
        .insecureConnection,
        "No secure connection to \(peer) could be established. Check whether the server supports https on this port."
      )
    case .closed(let peer):
      (
        .connectionLost,
        "The connection to \(peer) was closed before a response arrived. Load again if the request may be sent twice."
      )
    case .truncated:
      (.truncatedBody, "The body is incomplete. The connection was closed before its end. Load again.")
    case .notHTTP(let peer):
      (.invalidResponse, "The response from \(peer) is not HTTP. Check the port.")
    }
  }
}
