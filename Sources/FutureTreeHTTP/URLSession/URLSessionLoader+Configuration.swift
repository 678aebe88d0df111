import Foundation
import FutureTree

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif
#if canImport(Darwin)
  import Security
#endif

extension URLSessionLoader {
  /// What holds for all requests of a loader.
  public struct Configuration: Sendable {
    /// How long a request may take in all, from `load` to its outcome; nil for ever. A request can set its own with
    /// `RequestTimeout`.
    public var timeout: Duration?
    /// How long nothing may be sent and nothing received for a request; nil for ever. A request can set its own with
    /// `RequestIdleTimeout`.
    public var idleTimeout: Duration?
    /// How many bytes of a body are accepted in memory; 64 MiB if nothing else is said. A request can set its own with
    /// `ResponseDelivery`.
    public var maximumBodySize: Int
    /// How many connections to one host are open at once. Requests beyond it wait, and their deadline does not.
    public var maximumConnectionsPerHost: Int

    /// Whether requests ask for encoded (compressed) bodies. Defaults to `true` on Apple platforms and `false` elsewhere.
    ///
    /// If it is `true`, requests without an `Accept-Encoding` of their own ask for `gzip` and `deflate`, on Apple platforms
    /// for `br` as well. `URLSession` decodes the bodies. Their responses have neither `Content-Encoding` nor
    /// `Content-Length`, their progress has no total, and limits count decoded bytes. If it is `false`, requests ask for
    /// `identity`, and an encoded body fails with the code `encodedBody`.
    ///
    /// - Warning: On Linux, `URLSession` checks the framing of the encoded bytes, and not whether the encoded data itself is
    ///   whole. A server or proxy that sends half of its compressed data, and frames it correctly, causes a shorter success:
    ///   contract rule H12 does not hold there.
    public var acceptsEncodedBodies = Configuration.acceptsEncodedBodiesByDefault

    #if canImport(Darwin)
      /// A decision on the identity of a server.
      public enum ServerTrust: Sendable, Hashable {
        /// The platform evaluates the server's certificate, as without a closure.
        case evaluateByPlatform
        /// The server is trusted without an evaluation by the platform.
        case trust
        /// The request fails with the code `insecureConnection`.
        case refuse
      }

      /// Decides on the identity of a server of an `https` URL, for instance by its pinned public key. `nil` leaves every
      /// decision to the platform.
      ///
      /// ```swift
      /// configuration.serverTrust = { trust, host in
      ///   isPinned(SecTrustCopyKey(trust), for: host) ? .evaluateByPlatform : .refuse
      /// }
      /// ```
      ///
      /// It is called for new connections, on the queue of the session: it holds up the other requests of the loader. A
      /// pinned server is still evaluated by the platform, unless the closure returns `trust`.
      public var serverTrust: (@Sendable (_ trust: SecTrust, _ host: String) -> ServerTrust)?

      /// Returns the client certificate for a server that asks for one. `nil`, and a closure that returns `nil`, send none.
      ///
      /// ```swift
      /// configuration.clientCertificate = { space in
      ///   guard space.host == "api.example.com" else { return nil }
      ///   return URLCredential(identity: identity, certificates: nil, persistence: .none)
      /// }
      /// ```
      ///
      /// It is called on the queue of the session. Check the host: a certificate identifies the user to the server. The credential is
      /// not stored if its persistence is `none`.
      public var clientCertificate: (@Sendable (URLProtectionSpace) -> URLCredential?)?
    #endif

    /// The copy of a platform's configuration, which nobody changes.
    private var platform: URLSessionConfiguration?
    /// Fields for requests that do not have them.
    private(set) var additionalHeaders = HTTPHeaders()

    /// The defaults suit a client of an API.
    public init(
      timeout: Duration? = .seconds(60), idleTimeout: Duration? = nil, maximumBodySize: Int = 64 << 20,
      maximumConnectionsPerHost: Int = 6
    ) {
      self.timeout = timeout
      self.idleTimeout = idleTimeout
      self.maximumBodySize = maximumBodySize
      self.maximumConnectionsPerHost = maximumConnectionsPerHost
    }

    /// Creates a configuration from one of the platform, which is copied.
    ///
    /// ```swift
    /// var configuration = try URLSessionLoader.Configuration(platform)
    /// configuration.acceptsEncodedBodies = true
    /// let loader = URLSessionLoader(configuration)
    /// ```
    ///
    /// | property of `URLSessionConfiguration` | what becomes of it |
    /// | --- | --- |
    /// | `timeoutIntervalForResource` | becomes `timeout`: 7 days by default |
    /// | `timeoutIntervalForRequest` | becomes `idleTimeout`: 60 seconds by default |
    /// | `httpMaximumConnectionsPerHost` | becomes `maximumConnectionsPerHost` |
    /// | `httpAdditionalHeaders` | sent with requests that do not have the fields. Refused: fields that a request refuses, credentials, cookies, and `Accept-Encoding` |
    /// | `urlCache`, `requestCachePolicy` | overridden: no cache |
    /// | `httpCookieStorage`, `httpShouldSetCookies`, `httpCookieAcceptPolicy` | overridden: no cookies |
    /// | `urlCredentialStorage` | overridden: no stored credentials |
    /// | `httpShouldUsePipelining` | overridden: no pipelining, because a cancelled request would end those behind it |
    /// | `identifier` (background sessions) | refused |
    /// | `protocolClasses` | refused if it has other classes than those of the platform |
    /// | `connectionProxyDictionary` | applied on Apple platforms. Refused on Linux, where `URLSession` ignores it: set `http_proxy` and `https_proxy` in the environment |
    /// | all others, such as TLS versions, `proxyConfigurations` and `waitsForConnectivity` | applied by Apple platforms. Linux does not have them or ignores them |
    ///
    /// Redirects are not followed, whatever the configuration is: see `Redirect`. Additional fields are part of no `HTTPRequest`.
    /// They are sent to each origin that the loader is asked for, so they must not be secrets.
    ///
    /// - Parameter platform: The configuration of the platform. Changing it later changes nothing.
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

    /// The encodings that requests ask for and that the platform decodes.
    var acceptedEncodings: [String] { acceptsEncodedBodies ? Configuration.decodedEncodings : [] }

    #if canImport(Darwin)
      private static let acceptsEncodedBodiesByDefault = true
      private static let decodedEncodings = ["gzip", "deflate", "br"]
    #else
      private static let acceptsEncodedBodiesByDefault = false
      private static let decodedEncodings = ["gzip", "deflate"]
    #endif

    /// The configuration of a session: nothing is kept, and nothing is done behind the loader's back.
    func session() -> URLSessionConfiguration {
      let session = platform.map(PlatformConfiguration.copy) ?? .ephemeral
      session.httpAdditionalHeaders = nil  // The requests have them.
      session.urlCache = nil  // With a cache, cancelling a task that is just ending kills the process on Linux.
      session.requestCachePolicy = .reloadIgnoringLocalCacheData
      session.httpCookieStorage = nil
      session.httpShouldSetCookies = false
      session.httpCookieAcceptPolicy = .never
      session.urlCredentialStorage = nil
      // The deadlines are our own: the platform's count whole seconds, and stop while a body trickles.
      session.timeoutIntervalForRequest = 7 * 24 * 60 * 60
      session.timeoutIntervalForResource = 7 * 24 * 60 * 60
      session.httpMaximumConnectionsPerHost = max(1, maximumConnectionsPerHost)
      return session
    }
  }
}

extension URLSessionLoader.Configuration: CustomStringConvertible, CustomReflectable {
  /// The limits, without what the platform's configuration holds: proxies can have passwords.
  public var description: String {
    "timeout \(timeout.map { "\($0)" } ?? "none"), idle timeout \(idleTimeout.map { "\($0)" } ?? "none"), "
      + "at most \(maximumBodySize) bytes, \(maximumConnectionsPerHost) connections per host"
  }

  public var customMirror: Mirror {
    Mirror(self, children: ["limits": description, "additionalHeaders": additionalHeaders], displayStyle: .struct)
  }
}
