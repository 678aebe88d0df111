import Foundation
import FutureTree

#if canImport(FoundationNetworking)
  import FoundationNetworking
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
