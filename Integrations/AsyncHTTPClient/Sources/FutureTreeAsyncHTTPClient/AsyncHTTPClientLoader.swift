import AsyncHTTPClient
import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeNIO
import NIOCore
import NIOPosix

/// A loader that sends requests with AsyncHTTPClient. It ends a chain.
///
/// ```swift
/// let loader = AsyncHTTPClientLoader()
/// let api = ResetGuard() --> Autocancel() --> Retry() --> loader
/// let user = api.get("https://example.com/users/1", as: User.self)
/// ```
///
/// It is the transport for servers on Linux. It supports HTTP/1.1 and HTTP/2, TLS, proxies and Unix domain sockets. Each load
/// sends one request and follows no redirects. The loader stores no cookies, no cache and no credentials. If a body is
/// truncated, too long, or has no clear end, the load fails.
///
/// **Streams.** The loader pauses a connection whose reader is behind, and reads the body of a request only as fast as the
/// connection accepts it. A transfer of any size therefore needs little memory.
///
/// **Files.** The bodies of files are written on threads for files (`NIOThreadPool.singleton`), never on an event loop.
///
/// **Options.** `ResponseDelivery` delivers a body to a file or as a stream. `ProgressHandler` receives the progress.
/// `RequestTimeout` and `RequestIdleTimeout` limit the duration. `RequestTrailers`, `InterimResponseHandler` and `RequestExpectation`
/// are supported, with HTTP/1.1 and HTTP/2.
///
/// **Cancellation.** A cancellation request closes the connection. With HTTP/2, it resets the stream of the request. The future
/// ends when the connection is closed or back in its pool (the rule *Confirmed cancellation*). A TLS connection is closed for
/// the loader then. Its socket remains open until the server has answered, at most five seconds. With `.forceImmediately` the
/// future ends at once.
///
/// **Reset.** A reset cancels all requests in flight and waits for them. Idle connections remain in their pool, because they
/// store nothing of a user.
///
/// **Lifetime.** The loader closes its connections when it is released and its last load has ended. A program that exits calls
/// `shutdown()` and waits for it.
public final class AsyncHTTPClientLoader: HTTPLoader {
  private let configuration: Configuration
  private let client: Client
  private let clock: any FutureClock
  private let live = LiveLoads()
  private let closing = Promise<Void>()

  /// Creates a loader with its own connections.
  ///
  /// - Parameters:
  ///   - configuration: The settings for all requests.
  ///   - group: The event loops. Defaults to those that all libraries of the process share.
  ///   - clock: The clock of the time limits. Defaults to the system clock.
  public init(
    _ configuration: Configuration = Configuration(),
    on group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton, clock: any FutureClock = .system
  ) {
    self.configuration = configuration
    self.clock = clock
    client = Client(group, configuration)
  }

  /// Sends a request. A request that AsyncHTTPClient would change is refused with an `HTTPError`.
  ///
  /// - Returns: A future that completes once, on an event loop, or on a thread for files.
  public func load(_ request: HTTPRequest) -> Future<HTTPResponse> {
    let transfer: Transfer
    let clientRequest: HTTPClient.Request
    do throws(HTTPError) {
      let exchange = try HTTPExchange(
        of: request, configuration.limits, decoding: configuration.decoding, sendsTrailers: true, clock: clock)
      let body = RequestBody.make(exchange, clock)
      clientRequest = try HTTPClient.Request(exchange, body, configuration)
      transfer = Transfer(exchange, body, client, on: client.group.any(), socketPath: configuration.unixSocketPath)
    } catch {
      return .failed(error.naming(request))
    }
    let future = transfer.exchange.start(in: live) { transfer.stop() }
    guard !client.isShutDown else {
      transfer.exchange.end(
        .failed(HTTPError(.transportFailed, "The loader was shut down. Create another loader, or shut down later.")))
      return future
    }
    transfer.begin(clientRequest)
    return future
  }

  /// Cancels all requests in flight, and waits until each has ended. The loader is usable at once.
  public func reset() -> Future<Void> { live.drain() }

  public func drain(_ notes: ResetNotes) -> Future<Void> { live.drain(notes) }

  /// Cancels all requests in flight, waits for them, and closes all connections. Later loads fail.
  ///
  /// - Returns: A future that completes when all connections are closed.
  public func shutdown() -> Future<Void> {
    if client.refuse() {
      // A load that began before is tracked. A later one is refused.
      reset().flatMap { [client] in client.close() }.observe { [closing] outcome in closing.complete(with: outcome) }
    }
    return closing.future.shared()
  }

  /// The number of requests that have not ended.
  package var liveCount: Int { live.count }
}

extension AsyncHTTPClientLoader: CustomReflectable {
  /// The configuration. The requests in flight are omitted because they contain secrets.
  public var customMirror: Mirror { Mirror(self, children: ["configuration": configuration], displayStyle: .class) }
}
