import FutureTree

/// A loader that sends requests with the HTTP client of the system. It ends a chain.
///
/// ```swift
/// let loader = SystemLoader()
/// let page = loader.load(try HTTPRequest("https://example.com/"))
/// page.cancel()  // The connection is closed, then the future ends with `.cancelled`.
/// ```
///
/// On Apple platforms it is a `URLSessionLoader`, and on Linux a `CurlLoader`. If a Linux system has no libcurl, or one before version
/// 7.76, it is a `URLSessionLoader` as well, and `substitution` has the reason.
///
/// Each load sends one request and follows no redirects. The loader stores no cookies, no cache and no credentials. If a body is
/// truncated, too long, or has no clear end, the load fails. Its settings are those that both loaders have. If you need others, such
/// as a proxy or the roots of TLS, create the loader of the platform instead.
///
/// **Cancellation.** A cancellation request closes the connection. The future ends then (the rule *Confirmed cancellation*). With
/// `.forceImmediately` the future ends at once.
///
/// **Reset.** A reset cancels all requests in flight and waits for them.
///
/// **Threads.** Futures complete on a thread of the loader, or of its clock. Code that blocks in a callback delays the other requests:
/// use an executor.
public final class SystemLoader: HTTPLoader {
  /// The settings for all requests of a loader.
  public struct Configuration: Sendable, Hashable {
    /// The maximum duration of a request, from `load` to its outcome. Defaults to 60 seconds. `nil` disables the limit.
    /// The option `RequestTimeout` of a request takes precedence.
    public var timeout: Duration?
    /// The maximum time in which no data is sent or received for a request. Defaults to `nil`, which disables the limit.
    /// The option `RequestIdleTimeout` of a request takes precedence.
    public var idleTimeout: Duration?
    /// The maximum size of a body in memory, in bytes. Defaults to 64 MiB. Values below 0 are treated as 0. The option
    /// `ResponseDelivery` of a request takes precedence.
    public var maximumBodySize: Int
    /// The maximum number of connections to one host. Defaults to 6. Values below 1 are treated as 1. Further requests wait, and their
    /// time limits apply while they wait.
    public var maximumConnectionsPerHost: Int
    /// Whether requests ask for encoded (compressed) bodies, which the loader decodes. Defaults to `nil`: `true`, but `false` for
    /// `URLSession` on Linux, which takes encoded data that is cut for a whole body.
    public var acceptsEncodedBodies: Bool?

    /// Creates a configuration. The defaults are suitable for an API client.
    public init(
      timeout: Duration? = .seconds(60), idleTimeout: Duration? = nil, maximumBodySize: Int = 64 << 20,
      maximumConnectionsPerHost: Int = 6, acceptsEncodedBodies: Bool? = nil
    ) {
      self.timeout = timeout
      self.idleTimeout = idleTimeout
      self.maximumBodySize = maximumBodySize
      self.maximumConnectionsPerHost = maximumConnectionsPerHost
      self.acceptsEncodedBodies = acceptsEncodedBodies
    }
  }

  /// The reason why loaders use `URLSession` on a system that should have libcurl. `nil` if they use what the platform should have.
  ///
  /// ```swift
  /// if let reason = SystemLoader.substitution { print(reason) }
  /// ```
  public static var substitution: HTTPError? {
    #if os(Linux) && canImport(CCurl)
      if case .failure(let error) = CurlLibrary.shared { return error }
    #endif
    return nil
  }

  private let loader: any HTTPLoader

  /// Creates a loader with its own connections.
  ///
  /// - Parameters:
  ///   - configuration: The settings for all requests.
  ///   - clock: The clock of the time limits. Defaults to the system clock.
  public init(_ configuration: Configuration = Configuration(), clock: any FutureClock = .system) {
    #if os(Linux) && canImport(CCurl)
      loader = SystemLoader.loader(configuration, isLibraryMissing: SystemLoader.substitution != nil, clock: clock)
    #else
      loader = URLSessionLoader(.init(configuration), clock: clock)
    #endif
  }

  #if os(Linux) && canImport(CCurl)
    static func loader(
      _ configuration: Configuration, isLibraryMissing: Bool, clock: any FutureClock = .system
    ) -> any HTTPLoader {
      isLibraryMissing
        ? URLSessionLoader(.init(configuration), clock: clock) : CurlLoader(.init(configuration), clock: clock)
    }
  #endif

  /// Sends a request.
  ///
  /// - Returns: A future that completes once, on a thread of the loader or of its clock.
  public func load(_ request: HTTPRequest) -> Future<HTTPResponse> { loader.load(request) }

  /// Cancels all requests in flight, and waits until each has ended. The loader is usable at once.
  public func reset() -> Future<Void> { loader.reset() }

  public func drain(_ notes: ResetNotes) -> Future<Void> { loader.drain(notes) }
}

extension SystemLoader: CustomReflectable {
  /// The loader of the platform.
  public var customMirror: Mirror { Mirror(self, children: ["loader": loader], displayStyle: .class) }
}

/// The settings of a loader that `SystemLoader` sets.
private protocol SystemSettings {
  var acceptsEncodedBodies: Bool { get set }

  init(timeout: Duration?, idleTimeout: Duration?, maximumBodySize: Int, maximumConnectionsPerHost: Int)
}

extension SystemSettings {
  fileprivate init(_ settings: SystemLoader.Configuration) {
    self.init(
      timeout: settings.timeout, idleTimeout: settings.idleTimeout, maximumBodySize: settings.maximumBodySize,
      maximumConnectionsPerHost: settings.maximumConnectionsPerHost)
    if let acceptsEncodedBodies = settings.acceptsEncodedBodies { self.acceptsEncodedBodies = acceptsEncodedBodies }
  }
}

extension URLSessionLoader.Configuration: SystemSettings {}

#if os(Linux) && canImport(CCurl)
  extension CurlLoader.Configuration: SystemSettings {}
#endif
