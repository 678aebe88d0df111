#if os(Linux)
  /// The mapping of the results of libcurl.
  struct CurlErrorTable {
    /// An error as libcurl reports it.
    struct Underlying: Error, Sendable, CustomStringConvertible {
      let code: Int32
      let text: String

      var description: String { "libcurl \(code): \(text)" }
    }

    let url: HTTPURL
    let proxy: CurlProxy?
    let unixSocketPath: String?
    /// Whether the head of the response is whole.
    let hasHead: Bool
    /// Whether a line of the response has arrived.
    let hasBegun: Bool

    func error(_ code: Int32, _ text: String) -> HTTPError {
      let underlying = Underlying(code: code, text: text)
      let (kind, message) = ofProxy(code, text) ?? kindAndMessage(code)
      return HTTPError(kind, message, underlying: underlying)
    }

    private var peer: String { unixSocketPath.map { "the socket \($0)" } ?? "\(url.host):\(url.port)" }

    private func kindAndMessage(_ code: Int32) -> (HTTPError.Code, String) {
      switch code {
      case 3: (.invalidURL, "libcurl rejects the URL. Percent-encode its special characters.")
      case 6: (.unknownHost, "The host \(url.host) has no address. Check its spelling and the network connection.")
      case 7:
        (.cannotConnect, "No server accepts connections at \(peer). Check the port, and whether the server is running.")
      case 28: (.timedOut, "libcurl timed out while waiting for \(peer). Load again, or allow more time.")
      case 58: (.insecureConnection, "The client certificate cannot be used. Check its file, its key and the password.")
      case 77:
        (.insecureConnection, "The trusted certificates cannot be read. Install `ca-certificates`, or check the file.")
      case 90: (.insecureConnection, "\(peer) has another public key than the pinned ones. Check the pinned keys.")
      case 51, 60, 83, 91:
        (
          .insecureConnection,
          "The identity of \(peer) cannot be verified. Check its certificate and the clock of this machine."
        )
      case 35, 53, 54, 59, 64, 66, 80, 82, 98:
        hasHead
          ? truncated
          : (
            .insecureConnection,
            "No secure connection to \(peer) could be established. Check whether the server supports https on this port."
          )
      case 1, 8, 43, 88: notHTTP
      case 27, 100: hasHead ? failed(code) : (.invalidResponse, "The head of the response from \(peer) is too long.")
      case 56 where !hasHead && hasBegun:
        (.invalidResponse, "The head of the response from \(peer) is too long, or was cut.")
      case 0, 16, 18, 52, 55, 56, 92, 95: hasHead ? truncated : closed
      default: failed(code)
      }
    }

    private var truncated: (HTTPError.Code, String) {
      (.truncatedBody, "The body is incomplete. The connection was closed before its end. Load again.")
    }

    private var closed: (HTTPError.Code, String) {
      (
        .connectionLost,
        "The connection to \(peer) was closed before a response arrived. Load again if the request may be sent twice."
      )
    }

    private var notHTTP: (HTTPError.Code, String) {
      (.invalidResponse, "The response from \(peer) is not HTTP. Check the port.")
    }

    private func failed(_ code: Int32) -> (HTTPError.Code, String) {
      (.transportFailed, "The transport failed with the error \(code) of libcurl. See `underlying`.")
    }

    /// Returns the error of a connection to a proxy. Returns `nil` for other errors.
    private func ofProxy(_ code: Int32, _ text: String) -> (HTTPError.Code, String)? {
      guard let proxy, !hasHead else { return nil }
      let name = "The proxy \(proxy.name)"
      let refused = ["CONNECT tunnel failed", "Proxy CONNECT aborted", "from proxy after CONNECT", "SOCKS"]
      switch code {
      case 4:
        return (.invalidConfiguration, "\(name) cannot be used: its scheme or syntax is not supported. \(check)")
      case 5: return (.unknownHost, "\(name) has no address. \(check)")
      case 7 where !text.contains("SOCKS"):
        return (.cannotConnect, "\(name) accepts no connections. \(check)")
      case 7, 56, 97:
        guard code == 97 || refused.contains(where: { text.contains($0) }) else { return nil }
        let status = text.split(separator: " ").lazy.compactMap { Int($0) }.first { (100...599).contains($0) }
        let reason = status.map { " with the status \($0)" } ?? ""
        return (.cannotConnect, "\(name) refused to connect to \(peer)\(reason). \(check)")
      default: return nil
      }
    }

    private var check: String { "Check its address, its rules and the credentials for it." }
  }
#endif
