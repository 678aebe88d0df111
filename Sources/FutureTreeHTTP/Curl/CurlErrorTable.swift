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
      if let (kind, message) = proxyFault(code, text) { return HTTPError(kind, message, underlying: underlying) }
      if let fault = fault(code) { return fault.error(underlying) }
      let (kind, message) = own(code)
      return HTTPError(kind, message, underlying: underlying)
    }

    private var peer: String { unixSocketPath.map { "the socket \($0)" } ?? "\(url.host):\(url.port)" }

    private func fault(_ code: Int32) -> ConnectionFault? {
      switch code {
      case 6: .unknownHost(url.host)
      case 7: .refused(peer: peer)
      case 51, 60, 83, 91: .unverified(peer: peer)
      case 35, 53, 54, 59, 64, 66, 80, 82, 98: hasHead ? .truncated : .insecure(peer: peer)
      case 1, 8, 43, 88: .notHTTP(peer: peer)
      case 56 where !hasHead && hasBegun: nil
      case 0, 16, 18, 52, 55, 56, 92, 95: hasHead ? .truncated : .closed(peer: peer)
      default: nil
      }
    }

    private func own(_ code: Int32) -> (HTTPError.Code, String) {
      switch code {
      case 3: (.invalidURL, "libcurl rejects the URL. Percent-encode its special characters.")
      case 28: (.timedOut, "libcurl timed out while waiting for \(peer). Load again, or allow more time.")
      case 58: (.insecureConnection, "The client certificate cannot be used. Check its file, its key and the password.")
      case 77:
        (.insecureConnection, "The trusted certificates cannot be read. Install `ca-certificates`, or check the file.")
      case 90: (.insecureConnection, "\(peer) has another public key than the pinned ones. Check the pinned keys.")
      case 27 where !hasHead, 100 where !hasHead:
        (.invalidResponse, "The head of the response from \(peer) is too long.")
      case 56: (.invalidResponse, "The head of the response from \(peer) is too long, or was cut.")
      default: (.transportFailed, "The transport failed with the error \(code) of libcurl. See `underlying`.")
      }
    }

    /// Returns the error of a connection to a proxy. Returns `nil` for other errors.
    private func proxyFault(_ code: Int32, _ text: String) -> (HTTPError.Code, String)? {
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
