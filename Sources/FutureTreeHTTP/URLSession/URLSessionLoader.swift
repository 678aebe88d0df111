import Foundation
import FutureTree

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif
#if canImport(Darwin)
  import Security
#endif

/// A loader that sends requests with `URLSession`. It ends a chain.
///
/// ```swift
/// let loader = URLSessionLoader()
/// let page = loader.load(try HTTPRequest("https://example.com/"))
/// page.cancel()  // The connection is closed, then the future ends with `.cancelled`.
/// ```
///
/// Each load sends one request and follows no redirects. The loader stores no cookies, no cache and no credentials. If a
/// body is truncated, too long, or has no clear end, the load fails. It never succeeds with a shorter body, except for
/// encoded bodies on Linux (`Configuration.acceptsEncodedBodies`).
///
/// **Request bodies.** The session reads a body piece by piece, on its own thread, as the connection accepts data. A slow
/// source delays the other requests of the loader, and on Linux those of every `URLSession` in the process. Time limits
/// and force still apply. If the length of a body is known, it is announced and enforced. If a file shrinks or grows
/// while it is sent, or a stream does not have the announced length, the request fails before the server can accept the
/// body as complete. An open file is sent completely, even if it is deleted in the meantime.
///
/// An asynchronous source (`HTTPBody.asyncStream`) runs in a task, at most one chunk ahead of the connection. The thread of
/// the session waits if the next chunk is missing, and delays other requests like a slow source. Such a wait ends at once
/// when the load is cancelled or reset, or when a time limit passes, and the task is cancelled. A response and a closed
/// connection are noticed after the wait. A source that waits for another load of a `URLSession` can therefore wait until a
/// time limit passes. On Linux this includes each loader of the process.
///
/// If the server closes a reused connection without a response, the platform sends the request again. A request with a
/// body is not sent again if its method must not be repeated or its body cannot be read again (RFC 9110, section 9.2.2).
///
/// **Options.** `ResponseDelivery` delivers a body into a file. `ProgressHandler` receives the progress. `RequestTimeout`
/// and `RequestIdleTimeout` limit the duration.
///
/// **Cancellation.** A cancellation request stops the transfer. The future ends when the transport has confirmed, so that
/// its connection is free (the rule *Confirmed cancellation*). If the response is complete first, it is kept. With
/// `.forceImmediately` the future ends at once, and the transfer is stopped afterward.
///
/// **Reset.** A reset cancels all requests in flight and waits until the platform has released them.
///
/// - Warning: On Linux, use `SystemLoader`. A peer that closes a connection inside the head of a response, or sends trailers, ends the
///   process with a fatal error of `URLSession`. The article <doc:URLSessionTraps> has all limits.
public final class URLSessionLoader: HTTPLoader {
  private let configuration: Configuration
  private let template: URLRequest
  private let clock: any FutureClock
  private let delegate: SessionDelegate
  private let session: URLSession
  private let transfers = TransferTable()
  private let live = LiveLoads()
  private let queues = SessionQueues()

  /// Creates a loader with its own session.
  ///
  /// - Parameters:
  ///   - configuration: The settings for all requests.
  ///   - clock: The clock of the time limits.
  public init(_ configuration: Configuration = Configuration(), clock: any FutureClock = .system) {
    self.configuration = configuration
    template = configuration.template()
    self.clock = clock
    delegate = SessionDelegate(transfers, configuration)
    session = URLSession(
      configuration: configuration.session(), delegate: delegate, delegateQueue: queues.reports)
  }

  /// Creates a loader from a configuration of the platform.
  ///
  /// ```swift
  /// let platform = URLSessionConfiguration.default
  /// platform.httpAdditionalHeaders = ["User-Agent": "Reader/2"]
  /// platform.timeoutIntervalForResource = 30
  /// let loader = try URLSessionLoader(configuration: platform)
  /// ```
  ///
  /// `Configuration.init(_:)` lists the properties that apply. To change further settings, change the value that it
  /// returns.
  ///
  /// - Parameters:
  ///   - configuration: The configuration of the platform. It is copied.
  ///   - clock: The clock of the time limits.
  /// - Throws: `HTTPError` if a property has a value that the contract of a loader forbids.
  public convenience init(
    configuration: URLSessionConfiguration, clock: any FutureClock = .system
  ) throws(HTTPError) {
    self.init(try Configuration(configuration), clock: clock)
  }

  deinit {
    queues.commands.async { [session] in session.finishTasksAndInvalidate() }
  }

  /// Sends a request. A request that the platform would change is refused with an `HTTPError`.
  ///
  /// - Returns: A future that completes once, with the whole response, on a thread of the session or of the clock.
  public func load(_ request: HTTPRequest) -> Future<HTTPResponse> {
    let exchange: HTTPExchange
    let urlRequest: URLRequest
    do throws(HTTPError) {
      exchange = try HTTPExchange(
        of: request, configuration.limits, decoding: .platform(accepting: Set(configuration.acceptedEncodings)),
        clock: clock)
      urlRequest = try URLRequest(request, bodyLength: exchange.bodyLength, template)
    } catch {
      return .failed(error.naming(request))
    }
    let transfer = Transfer(exchange, queues, EnvironmentProxy.current(for: request.url))
    let future = exchange.start(in: live) { transfer.stop() }
    queues.commands.async { [session, transfers, queues, delegate, hasBody = !request.body.isEmpty] in
      let hasBegun = transfer.begin {
        let task = hasBody ? session.uploadTask(withStreamedRequest: urlRequest) : session.dataTask(with: urlRequest)
        transfers.assign(task, to: transfer)
        return task
      }
      guard !hasBegun else { return }
      queues.reports.addOperation { delegate.end(transfer, of: nil, URLError(.cancelled)) }
    }
    return future
  }

  /// The number of requests that the platform has not released.
  package var liveCount: Int { live.count }

  /// Cancels all requests in flight, and waits until the platform has released each of them, including those whose
  /// futures completed before. Late results are discarded. The loader is usable at once.
  public func reset() -> Future<Void> { live.drain() }

  public func drain(_ notes: ResetNotes) -> Future<Void> { live.drain(notes) }
}

extension URLSessionLoader: CustomReflectable {
  /// The configuration. The requests in flight are omitted because they contain secrets, and the session cannot be
  /// mirrored.
  public var customMirror: Mirror { Mirror(self, children: ["configuration": configuration], displayStyle: .class) }
}

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
