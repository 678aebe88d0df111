import Foundation
import FutureTree

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif
#if canImport(Darwin)
  import Security
#endif

extension URLSessionLoader {
  /// The settings for all requests of a loader.
  public struct Configuration: Sendable {
    /// The maximum duration of a request, from `load` to its outcome. Defaults to 60 seconds. `nil` disables the limit.
    /// The option `RequestTimeout` of a request takes precedence.
    public var timeout: Duration?
    /// The maximum time in which no data is sent or received for a request. Defaults to `nil`, which disables the limit.
    /// The option `RequestIdleTimeout` of a request takes precedence.
    public var idleTimeout: Duration?
    /// The maximum size of a body in memory, in bytes. Defaults to 64 MiB. Values below 0 are treated as 0. The option
    /// `ResponseDelivery` of a request takes precedence.
    public var maximumBodySize: Int
    /// The maximum number of connections to one host. Defaults to 6. Values below 1 are treated as 1. Further requests
    /// wait, and their time limits apply while they wait.
    public var maximumConnectionsPerHost: Int

    /// Whether requests ask for encoded (compressed) bodies. Defaults to `true` on Apple platforms and `false` elsewhere.
    ///
    /// If it is `true`, requests without an `Accept-Encoding` of their own ask for `gzip` and `deflate`, and on Apple
    /// platforms for `br` as well. `URLSession` decodes the bodies. Their responses have neither `Content-Encoding` nor
    /// `Content-Length`, their progress has no total, and limits count decoded bytes. If it is `false`, requests ask for
    /// `identity`, and an encoded body fails with the code `encodedBody`, unless it is empty and has `Content-Length: 0`.
    ///
    /// A body with only names that no platform decodes, such as `aws-chunked`, is not encoded in this sense. On Apple platforms,
    /// it is delivered as it was sent. On Linux, libcurl refuses it, and it fails with the code `encodedBody`.
    ///
    /// - Warning: On Linux, `URLSession` checks the framing of the encoded bytes, but not whether the encoded data is
    ///   complete. If a server or proxy sends half of its compressed data with correct framing, the result is a shorter
    ///   body and not an error.
    public var acceptsEncodedBodies = Configuration.acceptsEncodedBodiesByDefault

    #if canImport(Darwin)
      /// The decision on whether to trust a server.
      public enum ServerTrust: Sendable, Hashable {
        /// The platform evaluates the certificate of the server, as it does without a closure.
        case evaluateByPlatform
        /// The server is trusted without an evaluation by the platform.
        case trust
        /// The request fails with the code `insecureConnection`.
        case refuse
      }

      /// A closure that decides whether to trust the server of an `https` URL, for example by its pinned public key. `nil`
      /// leaves all decisions to the platform.
      ///
      /// ```swift
      /// configuration.serverTrust = { trust, host in
      ///   isPinned(SecTrustCopyKey(trust), for: host) ? .evaluateByPlatform : .refuse
      /// }
      /// ```
      ///
      /// The closure is called for new connections, on the queue of the session. It delays the other requests of the
      /// loader. The platform still evaluates a pinned server, unless the closure returns `trust`.
      public var serverTrust: (@Sendable (_ trust: SecTrust, _ host: String) -> ServerTrust)?

      /// A closure that returns the client certificate for a server that asks for one. If it is `nil` or returns `nil`,
      /// no certificate is sent.
      ///
      /// ```swift
      /// configuration.clientCertificate = { space in
      ///   guard space.host == "api.example.com" else { return nil }
      ///   return URLCredential(identity: identity, certificates: nil, persistence: .none)
      /// }
      /// ```
      ///
      /// The closure is called on the queue of the session. Check the host, because a certificate identifies the user to the
      /// server. If the persistence of the credential is `none`, it is not stored.
      public var clientCertificate: (@Sendable (URLProtectionSpace) -> URLCredential?)?
    #endif

    /// A private copy of the platform's configuration.
    private var platform: URLSessionConfiguration?
    /// The header fields for requests that do not set them.
    private(set) var additionalHeaders = HTTPHeaders()

    /// Creates a configuration. The defaults are suitable for an API client.
    public init(
      timeout: Duration? = .seconds(60), idleTimeout: Duration? = nil, maximumBodySize: Int = 64 << 20,
      maximumConnectionsPerHost: Int = 6
    ) {
      self.timeout = timeout
      self.idleTimeout = idleTimeout
      self.maximumBodySize = maximumBodySize
      self.maximumConnectionsPerHost = maximumConnectionsPerHost
    }

    /// Creates a configuration from a configuration of the platform, which is copied.
    ///
    /// ```swift
    /// var configuration = try URLSessionLoader.Configuration(platform)
    /// configuration.acceptsEncodedBodies = true
    /// let loader = URLSessionLoader(configuration)
    /// ```
    ///
    /// | property of `URLSessionConfiguration` | effect |
    /// | --- | --- |
    /// | `timeoutIntervalForResource` | sets `timeout`: 7 days by default |
    /// | `timeoutIntervalForRequest` | sets `idleTimeout`: 60 seconds by default |
    /// | `httpMaximumConnectionsPerHost` | sets `maximumConnectionsPerHost` |
    /// | `httpAdditionalHeaders` | sent with requests that do not set the fields. Refused: fields that a request refuses, credentials, cookies, and `Accept-Encoding` |
    /// | `urlCache`, `requestCachePolicy` | overridden: no cache |
    /// | `httpCookieStorage`, `httpShouldSetCookies`, `httpCookieAcceptPolicy` | overridden: no cookies |
    /// | `urlCredentialStorage` | overridden: no stored credentials |
    /// | `httpShouldUsePipelining` | overridden: no pipelining, because a cancelled request would end the requests after it |
    /// | `identifier` (background sessions) | refused |
    /// | `protocolClasses` | refused if it contains other classes than those of the platform |
    /// | `connectionProxyDictionary` | applied on Apple platforms. Refused on Linux, where `URLSession` ignores it: set `http_proxy` and `https_proxy` in the environment |
    /// | all others, such as TLS versions, `proxyConfigurations` and `waitsForConnectivity` | applied by Apple platforms. Linux does not have them or ignores them |
    ///
    /// Redirects are not followed, regardless of the configuration: see `Redirect`. Additional fields are not part of
    /// any `HTTPRequest`. They are sent to every origin that the loader connects to, so they must not be secrets.
    ///
    /// - Parameter platform: The configuration of the platform. Later changes to it have no effect.
    /// - Throws: `HTTPError` with the code `invalidConfiguration`, `invalidHeaderName`, `invalidHeaderValue` or
    ///   `forbiddenHeader`.
    public init(_ platform: URLSessionConfiguration) throws(HTTPError) {
      try PlatformConfiguration.check(platform)
      self.init(
        timeout: try PlatformConfiguration.duration(
          platform.timeoutIntervalForResource, of: "timeoutIntervalForResource"),
        idleTimeout: try PlatformConfiguration.duration(
          platform.timeoutIntervalForRequest, of: "timeoutIntervalForRequest"),
        maximumConnectionsPerHost: platform.httpMaximumConnectionsPerHost)
      additionalHeaders = try PlatformConfiguration.headers(platform.httpAdditionalHeaders ?? [:])
      self.platform = PlatformConfiguration.copy(platform)
    }

    var limits: HTTPExchange.Limits {
      HTTPExchange.Limits(timeout: timeout, idleTimeout: idleTimeout, maximumBodySize: maximumBodySize)
    }

    /// The encodings that requests ask for and that the platform decodes.
    var acceptedEncodings: [String] { acceptsEncodedBodies ? Configuration.decodedEncodings : [] }

    #if canImport(Darwin)
      private static let acceptsEncodedBodiesByDefault = true
      private static let decodedEncodings = ["gzip", "deflate", "br"]
    #else
      private static let acceptsEncodedBodiesByDefault = false
      private static let decodedEncodings = ["gzip", "deflate"]
    #endif

    /// Returns the configuration of a session that stores nothing, and does nothing without the loader.
    func session() -> URLSessionConfiguration {
      let session = platform.map(PlatformConfiguration.copy) ?? .ephemeral
      session.httpAdditionalHeaders = nil  // The template of the requests has them.
      session.urlCache = nil  // With a cache, cancelling a task that is about to end kills the process on Linux.
      session.requestCachePolicy = .reloadIgnoringLocalCacheData
      session.httpCookieStorage = nil
      session.httpShouldSetCookies = false
      session.httpCookieAcceptPolicy = .never
      session.urlCredentialStorage = nil
      // The loader has its own deadlines. Those of the platform count whole seconds, and stop while a body arrives
      // slowly.
      session.timeoutIntervalForRequest = 7 * 24 * 60 * 60
      session.timeoutIntervalForResource = 7 * 24 * 60 * 60
      session.httpMaximumConnectionsPerHost = max(1, maximumConnectionsPerHost)
      return session
    }
  }
}

extension URLSessionLoader.Configuration: CustomStringConvertible, CustomReflectable {
  /// The limits, without the platform's configuration: proxies can have passwords.
  public var description: String {
    "\(limits.text), \(maximumConnectionsPerHost) connections per host"
  }

  public var customMirror: Mirror {
    Mirror(self, children: ["limits": description, "additionalHeaders": additionalHeaders], displayStyle: .struct)
  }
}
