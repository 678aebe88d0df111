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
  /// `RequestTimeout` and `RequestIdleTimeout` limit the duration.
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
          of: request, configuration.limits, decoding: engine.settings.decoding, clock: clock)
        let url = try request.requireURL()
        try request.checkBody()
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
#endif
