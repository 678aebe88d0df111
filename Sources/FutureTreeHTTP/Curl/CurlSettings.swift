#if os(Linux)
  import Foundation

  /// The settings of one engine, in the form in which transfers need them.
  struct CurlSettings: Sendable {
    var allowsHTTP2: Bool
    var maximumConnections: Int?
    var maximumConnectionsPerHost: Int
    /// The codings that the loader decodes.
    let decoding: ResponseReceiver.Decoding
    /// The value of `Accept-Encoding` for requests that do not set it.
    let acceptEncoding: String
    var proxy: CurlLoader.Proxy
    var security: CurlLoader.Security
    var unixSocketPath: String?
    /// Addresses by host in lower case.
    var addresses: [String: [String]]
    var onExchange: (@Sendable (CurlExchangeFacts) -> Void)?
    /// Returns the value of an environment variable.
    var variable: @Sendable (String) -> String? = { EnvironmentProxy.variable($0) }

    /// Looks a name up.
    var resolve: @Sendable (NameResolver.Name) throws(HTTPError) -> [String] = { name throws(HTTPError) in
      try NameResolver.systemAddresses(of: name)
    }

    init(_ configuration: CurlLoader.Configuration) {
      allowsHTTP2 = configuration.allowsHTTP2
      maximumConnections = configuration.maximumConnections.map { max(1, $0) }
      maximumConnectionsPerHost = max(1, configuration.maximumConnectionsPerHost)
      let codings = configuration.acceptsEncodedBodies ? BodyDecoder.codings : []
      decoding = configuration.acceptsEncodedBodies ? .platform(accepting: BodyDecoder.accepted) : .asSent
      acceptEncoding = codings.isEmpty ? "identity" : codings.joined(separator: ", ")
      proxy = configuration.proxy
      security = configuration.security
      unixSocketPath = configuration.unixSocketPath
      addresses = Dictionary(
        configuration.addresses.map { ($0.key.lowercased(), $0.value) }, uniquingKeysWith: { first, _ in first })
      onExchange = configuration.onExchange
    }

    /// Returns the proxy of a request, or `nil` if its connection is direct.
    func proxy(for url: HTTPURL) -> CurlProxy? {
      guard unixSocketPath == nil else { return nil }
      switch proxy.kind {
      case .none: return nil
      case .environment:
        guard let found = EnvironmentProxy(for: url, variable) else { return nil }
        return CurlProxy(found)
      case .fixed(let server, let isSOCKS):
        return CurlProxy(server, isSOCKS: isSOCKS, opensTunnel: !isSOCKS && url.scheme == .https)
      }
    }
  }

  /// The proxy of one request.
  struct CurlProxy: Sendable {
    /// The host and the port, without credentials.
    let name: String
    /// The server, unless libcurl reads it from the environment.
    let server: CurlLoader.Proxy.Server?
    let isSOCKS: Bool
    let opensTunnel: Bool
    let host: String
    let port: UInt16

    init(_ server: CurlLoader.Proxy.Server, isSOCKS: Bool, opensTunnel: Bool) {
      self.server = server
      self.isSOCKS = isSOCKS
      self.opensTunnel = opensTunnel
      (host, port) = (server.host, server.port)
      name = "\(server.host):\(server.port)"
    }

    init(_ found: EnvironmentProxy) {
      server = nil
      isSOCKS = found.isSOCKS
      opensTunnel = found.opensTunnel
      name = found.name
      let address = found.address
      let colon = address.last == "]" ? nil : address.lastIndex(of: ":")
      host = String(address[..<(colon ?? address.endIndex)]).lowercased()
      port = colon.flatMap { UInt16(address[address.index(after: $0)...]) } ?? 1080  // The default port of libcurl.
    }
  }
#endif
