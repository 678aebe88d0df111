import AsyncHTTPClient
import FutureTreeHTTP
import NIOCore
import NIOHTTPCompression

extension AsyncHTTPClientLoader {
  /// The settings for all requests of a loader.
  ///
  /// ```swift
  /// var configuration = AsyncHTTPClientLoader.Configuration(timeout: .seconds(10))
  /// configuration.client.tlsConfiguration = .clientDefault
  /// configuration.client.proxy = .server(host: "proxy.local", port: 3128)
  /// configuration.client.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 64
  /// ```
  public struct Configuration: Sendable {
    /// The maximum duration of a request, from `load` to its outcome. Defaults to 60 seconds. `nil` disables the limit.
    /// The option `RequestTimeout` of a request takes precedence.
    public var timeout: Duration?
    /// The maximum time in which no data is sent or received for a request. Defaults to `nil`, which disables the limit.
    /// The option `RequestIdleTimeout` of a request takes precedence.
    public var idleTimeout: Duration?
    /// The maximum size of a body in memory, in bytes. Defaults to 64 MiB. Values below 0 are treated as 0. The option
    /// `ResponseDelivery` of a request takes precedence. The size of an encoded body is that of its decoded bytes.
    public var maximumBodySize: Int
    /// Whether requests ask for encoded (compressed) bodies. Defaults to `true`.
    ///
    /// If it is `true`, requests without an `Accept-Encoding` of their own ask for `gzip` and `deflate`. Bodies are decoded,
    /// and their responses have neither `Content-Encoding` nor `Content-Length`. If it is `false`, requests ask for `identity`,
    /// and an encoded body fails with the code `encodedBody`, unless it is empty and has `Content-Length: 0`.
    ///
    /// A body with only names that no client decodes, such as `aws-chunked`, is not encoded in this sense. It is delivered as it
    /// was sent.
    public var acceptsEncodedBodies = true
    /// The maximum ratio of decoded to encoded bytes. A body that exceeds it fails with the code `bodyTooLarge`. Defaults to
    /// 1000, about the largest ratio that `deflate` can reach. Values are clamped to the range from 1 to 1,000,000.
    public var maximumDecodingRatio = 1000
    /// The path of the Unix domain socket on which all requests are sent. Defaults to `nil`. The host of a URL is then only
    /// used for the field `Host`. A URL with the scheme `https` fails with the code `invalidURL`.
    public var unixSocketPath: String?
    /// The settings of AsyncHTTPClient, such as TLS, the proxy, the HTTP version and the connection pool.
    ///
    /// The loader overrides the redirects, the decompression, the tracer and the timeouts for reading and writing. By default,
    /// a failed attempt to connect fails the load at once, because retries belong to a layer.
    public var client = Configuration.defaultClient

    /// Creates a configuration. The defaults are suitable for a service that calls other services.
    public init(
      timeout: Duration? = .seconds(60), idleTimeout: Duration? = nil, maximumBodySize: Int = 64 << 20
    ) {
      self.timeout = timeout
      self.idleTimeout = idleTimeout
      self.maximumBodySize = maximumBodySize
    }

    var limits: HTTPExchange.Limits {
      HTTPExchange.Limits(timeout: timeout, idleTimeout: idleTimeout, maximumBodySize: maximumBodySize)
    }

    /// The encodings that the client decodes.
    var decoding: ResponseReceiver.Decoding {
      acceptsEncodedBodies ? Self.decodingOfClient : Self.noDecoding
    }

    private static let decodingOfClient = ResponseReceiver.Decoding.platform(accepting: ["gzip", "deflate"])
    private static let noDecoding = ResponseReceiver.Decoding.platform(accepting: [])

    /// The value of `Accept-Encoding` for requests without their own.
    var acceptedEncodings: String { acceptsEncodedBodies ? "gzip, deflate" : "identity" }

    /// Returns the settings of a client that does nothing without the loader.
    ///
    /// - Parameter transfers: The requests of the client.
    func settings(_ transfers: Transfers) -> HTTPClient.Configuration {
      var settings = client
      settings.redirectConfiguration = .disallow
      settings.decompression =
        acceptsEncodedBodies ? .enabled(limit: .ratio(min(max(1, maximumDecodingRatio), 1_000_000))) : .disabled
      settings.timeout.read = nil
      settings.timeout.write = nil
      // Layers report loads. A span of the client would contain the query of its URL.
      settings.tracing.tracer = nil
      settings.http1_1ConnectionDebugInitializer = addingHandler(
        transfers, before: client.http1_1ConnectionDebugInitializer, isHTTP2: false)
      settings.http2StreamChannelDebugInitializer = addingHandler(
        transfers, before: client.http2StreamChannelDebugInitializer, isHTTP2: true)
      return settings
    }

    private func addingHandler(
      _ transfers: Transfers, before next: (@Sendable (any Channel) -> EventLoopFuture<Void>)?, isHTTP2: Bool
    ) -> @Sendable (any Channel) -> EventLoopFuture<Void> {
      { [acceptsEncodedBodies] channel in
        let added = EarlyResponseHandler.add(
          to: channel, for: transfers, decodes: acceptsEncodedBodies, isHTTP2: isHTTP2)
        guard let next else { return added }
        return added.flatMap { next(channel) }
      }
    }

    private static var defaultClient: HTTPClient.Configuration {
      var settings = HTTPClient.Configuration()
      settings.connectionPool.retryConnectionEstablishment = false
      return settings
    }
  }
}

extension AsyncHTTPClientLoader.Configuration: CustomStringConvertible, CustomReflectable {
  /// The limits, without the settings of the client: proxies can have passwords.
  public var description: String {
    "timeout \(timeout.map { "\($0)" } ?? "none"), idle timeout \(idleTimeout.map { "\($0)" } ?? "none"), "
      + "at most \(maximumBodySize) bytes"
  }

  public var customMirror: Mirror { Mirror(self, children: ["limits": description], displayStyle: .struct) }
}
