#if os(Linux)
  import Foundation
  import FutureTree

  /// A loader that sends requests with the libcurl of the system, on Linux. It ends a chain.
  ///
  /// ```swift
  /// let loader = CurlLoader()
  /// let page = loader.load(try HTTPRequest("https://example.com/"))
  /// page.cancel()  // The connection is closed, then the future ends with `.cancelled`.
  /// ```
  ///
  /// Its configuration has what `SystemLoader` cannot have on every platform:
  ///
  /// ```swift
  /// var configuration = CurlLoader.Configuration(maximumConnectionsPerHost: 20)
  /// configuration.proxy = .environment
  /// configuration.security.roots = .file("/etc/ssl/company.pem")
  /// configuration.onExchange = { exchange in print(exchange) }
  /// let loader = CurlLoader(configuration)
  /// ```
  ///
  /// It supports HTTP/1.1 and HTTP/2, TLS, proxies and Unix domain sockets. Each load sends one request and follows no redirects. The
  /// loader stores no cookies, no cache and no credentials. If a body is truncated, too long, or has no clear end, the load fails,
  /// also if the body is encoded (`Configuration.acceptsEncodedBodies`).
  ///
  /// **libcurl.** The loader uses version 7.76 or later of `libcurl.so.4`, which it finds at run time. Programs that use
  /// `FoundationNetworking` have it in their process. If it is missing, each load fails with the code `transportFailed`.
  ///
  /// **Streams.** The loader pauses a connection whose reader is behind, and reads the body of a request only as fast as the
  /// connection accepts it. A transfer of any size therefore needs little memory.
  ///
  /// **Repetitions.** If the server closes a reused connection without a response, the request is sent again, unless its method must
  /// not be repeated (RFC 9110, section 9.2.2) or its body can be read only once.
  ///
  /// **Options.** `ResponseDelivery` delivers a body to a file or as a stream. `ProgressHandler` receives the progress.
  /// `RequestTimeout` and `RequestIdleTimeout` limit the duration. `InterimResponseHandler` receives interim responses. With
  /// `RequestExpectation` the body waits for the consent of the server. Responses have their trailers.
  ///
  /// **Cancellation.** A cancellation request closes the connection. With HTTP/2, it resets the stream of the request. The future
  /// ends then (the rule *Confirmed cancellation*). With `.forceImmediately` the future ends at once.
  ///
  /// **Reset.** A reset cancels all requests in flight and waits for them. Idle connections remain, because they store nothing of a
  /// user.
  ///
  /// **Threads.** One thread performs all transfers of a loader, and futures complete on it. Code that blocks in a callback delays
  /// the other requests: use an executor. Bodies are written to files on this thread. The loader closes its connections when it is
  /// released and its last load has ended.
  public final class CurlLoader: HTTPLoader {
    private let configuration: Configuration
    private let engine: CurlEngine
    private let clock: any FutureClock
    private let live = LiveLoads()

    /// Creates a loader with its own connections. Its thread begins with the first load.
    ///
    /// - Parameters:
    ///   - configuration: The settings for all requests.
    ///   - clock: The clock of the time limits. Defaults to the system clock.
    public convenience init(_ configuration: Configuration = Configuration(), clock: any FutureClock = .system) {
      self.init(CurlSettings(configuration), configuration, clock: clock)
    }

    init(_ settings: CurlSettings, _ configuration: Configuration, clock: any FutureClock = .system) {
      self.configuration = configuration
      engine = CurlEngine(settings)
      self.clock = clock
    }

    deinit { engine.submit(.close) }

    /// Sends a request.
    ///
    /// - Returns: A future that completes once, on the thread of the loader or of the clock.
    public func load(_ request: HTTPRequest) -> Future<HTTPResponse> {
      let transfer: CurlTransfer
      do throws(HTTPError) {
        let exchange = try HTTPExchange(
          of: request, configuration.limits, decoding: engine.settings.decoding, sendsTrailers: true, clock: clock)
        let url = try request.requireURL()
        try request.checkBody(forbiddenWith: [.head, .trace])
        transfer = CurlTransfer(exchange, url, try CurlLibrary.shared.get(), engine)
      } catch {
        return .failed(error.naming(request))
      }
      let future = transfer.exchange.start(in: live) { transfer.stop() }
      engine.submit(.begin(transfer))
      return future
    }

    /// The number of requests that have not ended.
    package var liveCount: Int { live.count }

    /// Cancels all requests in flight, and waits until each has ended. The loader is usable at once.
    public func reset() -> Future<Void> { live.drain() }

    public func drain(_ notes: ResetNotes) -> Future<Void> { live.drain(notes) }
  }

  extension CurlLoader: CustomReflectable {
    /// The configuration. The requests in flight are omitted because they contain secrets.
    public var customMirror: Mirror { Mirror(self, children: ["configuration": configuration], displayStyle: .class) }
  }

  extension CurlLoader {
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
      /// wait in the order of their arrival, and their time limits apply while they wait. Requests that share a connection with HTTP/2 do
      /// not wait.
      public var maximumConnectionsPerHost: Int
      /// The maximum number of connections in all. Defaults to `nil`, which disables the limit. Values below 1 are treated as 1.
      public var maximumConnections: Int?

      /// Whether requests ask for encoded (compressed) bodies. Defaults to `true`.
      ///
      /// If it is `true`, requests without an `Accept-Encoding` of their own ask for `gzip` and `deflate`, and for `br` and `zstd` if
      /// the system has their libraries (`libbrotlidec.so.1`, `libzstd.so.1`). The loader decodes the bodies. Their responses have
      /// neither `Content-Encoding` nor `Content-Length`, their progress has no total, and limits count decoded bytes.
      ///
      /// A body that ends inside its encoded data fails with the code `truncatedBody`, although its framing is whole. A body that is
      /// not valid fails with `encodedBody`, and one whose decoded size is more than 1,100 times its encoded size with
      /// `bodyTooLarge`.
      ///
      /// If it is `false`, requests ask for `identity`, and an encoded body is delivered as it was sent.
      public var acceptsEncodedBodies = true

      /// Whether `https` requests use HTTP/2 if the server offers it. Defaults to `true`.
      ///
      /// Requests whose response is a stream use HTTP/1.1 regardless, because libcurl stores without a limit what a paused stream of
      /// HTTP/2 receives.
      public var allowsHTTP2 = true

      /// The proxy of all requests. Defaults to none.
      public var proxy = Proxy.none

      /// The settings of TLS.
      public var security = Security()

      /// The path of a Unix domain socket to which all requests are sent. Defaults to `nil`. The host of a URL is then only sent as
      /// the field `Host`.
      public var unixSocketPath: String?

      /// Addresses by host name, which are used without a lookup. Defaults to none. Write IPv6 addresses in brackets.
      ///
      /// ```swift
      /// configuration.addresses = ["api.example.com": ["192.0.2.7", "[2001:db8::7]"]]
      /// ```
      public var addresses: [String: [String]] = [:]

      /// A closure that receives the facts of each exchange when it has ended: times, connection and protocol. Defaults to `nil`.
      ///
      /// It is called on the thread of the loader, before the load ends, and delays other requests. An exchange that was stopped before
      /// it began has no facts.
      public var onExchange: (@Sendable (CurlExchangeFacts) -> Void)?

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

      var limits: HTTPExchange.Limits {
        HTTPExchange.Limits(timeout: timeout, idleTimeout: idleTimeout, maximumBodySize: maximumBodySize)
      }
    }

    /// The proxy of a loader.
    public struct Proxy: Sendable {
      enum Kind: Sendable {
        case none
        case environment
        case fixed(Server, isSOCKS: Bool)
      }

      struct Server: Sendable {
        let host: String
        let port: UInt16
        let userName: String?
        let password: String?
      }

      let kind: Kind

      /// No proxy. The environment is ignored.
      public static let none = Proxy(kind: .none)

      /// The proxy that the environment names: `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`.
      public static let environment = Proxy(kind: .environment)

      /// An HTTP proxy. `https` requests reach their server through a tunnel (RFC 9110, section 9.3.6).
      public static func http(_ host: String, port: UInt16, userName: String? = nil, password: String? = nil) -> Proxy {
        Proxy(
          kind: .fixed(
            Server(host: host.lowercased(), port: port, userName: userName, password: password), isSOCKS: false))
      }

      /// A proxy with the protocol SOCKS 5 (RFC 1928). The loader looks names up, and the proxy receives addresses.
      public static func socks5(_ host: String, port: UInt16, userName: String? = nil, password: String? = nil) -> Proxy
      {
        Proxy(
          kind: .fixed(
            Server(host: host.lowercased(), port: port, userName: userName, password: password), isSOCKS: true))
      }
    }

    /// The settings of TLS.
    public struct Security: Sendable {
      /// The certificates that are trusted.
      public enum Roots: Sendable {
        /// The certificates of the system.
        case system
        /// Only those in a file in the format PEM.
        case file(String)
        /// Only these, in the format PEM. libcurl supports this since version 7.77.
        case data(Data)
      }

      /// A version of TLS.
      public enum Version: Sendable {
        /// TLS 1.2 (RFC 5246).
        case tls12
        /// TLS 1.3 (RFC 8446).
        case tls13
      }

      /// The certificate of the client, for servers that ask for one.
      public struct ClientCertificate: Sendable {
        let certificate: String
        let key: String
        let password: String?

        /// - Parameters:
        ///   - certificate: The path of the certificate and its chain, in the format PEM.
        ///   - key: The path of the private key, in the format PEM.
        ///   - password: The password of the key, or `nil` if it has none.
        public init(certificate: String, key: String, password: String? = nil) {
          self.certificate = certificate
          self.key = key
          self.password = password
        }
      }

      /// The certificates that are trusted. Defaults to those of the system.
      public var roots = Roots.system
      /// The certificate of the client. Defaults to none.
      public var clientCertificate: ClientCertificate?
      /// The SHA-256 digests of the public keys that a server may have, in base64. Defaults to none, which allows every key whose
      /// certificate is trusted. With keys, the certificate must be trusted as well.
      public var pinnedKeys: [String] = []
      /// The lowest version. Defaults to TLS 1.2.
      public var minimumVersion = Version.tls12

      /// Creates the settings.
      public init() {}

      func apply(to handle: CurlHandle, _ library: CurlLibrary) throws(HTTPError) {
        typealias Option = CurlHandle.Option
        // With a folder of certificates, libcurl reads all of them for each connection.
        handle.set(Option.certificatePath, nil)
        switch roots {
        case .system: break
        case .file(let path): handle.set(Option.certificateFile, path)
        case .data(let data):
          guard handle.set(Option.rootsData, data) else {
            throw HTTPError(
              .invalidConfiguration,
              "libcurl \(library.version) cannot trust certificates in memory. Use a file, or libcurl 7.77 or later.")
          }
        }
        if let clientCertificate {
          handle.set(Option.sslCertificate, clientCertificate.certificate)
          handle.set(Option.sslKey, clientCertificate.key)
          handle.set(Option.keyPassword, clientCertificate.password)
        }
        if !pinnedKeys.isEmpty {
          handle.set(Option.pinnedKey, pinnedKeys.map { "sha256//\($0)" }.joined(separator: ";"))
        }
        handle.set(Option.sslVersion, minimumVersion == .tls13 ? 7 : 6)
      }
    }
  }

  extension CurlLoader.Configuration: CustomStringConvertible, CustomReflectable {
    /// The limits, without the proxy and the certificate, which can have passwords.
    public var description: String {
      "\(limits.text), \(maximumConnectionsPerHost) connections per host"
    }

    public var customMirror: Mirror { Mirror(self, children: ["limits": description], displayStyle: .struct) }
  }

  extension CurlLoader.Proxy: CustomStringConvertible, CustomReflectable {
    /// The kind, the host and the port, without the credentials.
    public var description: String {
      switch kind {
      case .none: "none"
      case .environment: "of the environment"
      case .fixed(let server, let isSOCKS): "\(isSOCKS ? "SOCKS 5" : "HTTP"), \(server.host):\(server.port)"
      }
    }

    public var customMirror: Mirror { Mirror(self, children: ["proxy": description], displayStyle: .struct) }
  }

  extension CurlLoader.Security.ClientCertificate: CustomStringConvertible, CustomReflectable {
    /// The path of the certificate, without the password.
    public var description: String { certificate }

    public var customMirror: Mirror { Mirror(self, children: ["certificate": certificate], displayStyle: .struct) }
  }
#endif
