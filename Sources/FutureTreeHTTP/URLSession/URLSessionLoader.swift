import Foundation
import FutureTree

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Sends requests with `URLSession`: the end of a chain.
///
/// ```swift
/// let loader = URLSessionLoader()
/// let page = loader.load(try HTTPRequest("https://example.com/"))
/// page.cancel()  // Its connection is closed, and then the future ends `.cancelled`.
/// ```
///
/// It sends one request a load and follows no redirect. It keeps no cookies, no cache and no credentials. A body that is cut
/// short, too long, or of which nobody can say where it ends, is an error and never a shorter success (H12).
///
/// Bodies that are sent are read piece by piece as the connection takes them, on the session's thread: a slow source holds up
/// the other requests of the loader, and on Linux those of every `URLSession` of the process; deadlines and force still end
/// them in time. A length that is known is announced and held to: a file that shrinks or grows while it
/// is sent, and a stream with another length than it said, fail the request before a server can take it for whole. (A file
/// that was opened is sent whole, also if it is deleted meanwhile.) Where a peer closes a connection that was used before
/// without an answer, the platform sends a request again; one with a body is held back if its method must not be repeated, or
/// its body cannot be read again (RFC 9110, section 9.2.2).
///
/// `ResponseDelivery` puts a body into a file, `ProgressHandler` tells how far it is, and `RequestTimeout` and
/// `RequestIdleTimeout` end it in time.
///
/// A request to cancel stops the transfer, and the future ends when the transport confirms, so that its connection is free
/// then (H5). A success that was faster stays a success. `forceImmediately` ends the future at once; the transfer is stopped
/// behind it.
///
/// - Warning: On Linux (Swift 6.3), `URLSession` itself ends the process with a fatal error when a peer closes the connection
///   between the status line and the end of the header fields of an answer, unless one of the fields before announced a
///   body, or sends fields behind the last chunk of a body (trailers, RFC 9112, section 7.1.2), which is valid. Nothing
///   above it can prevent that: where peers are not trusted, load over another transport.
/// - Note: On Linux, `URLSession` obeys `http_proxy`, `https_proxy` and `no_proxy` in the environment, sends known methods in
///   upper case, joins header fields of one name, and loads from no IPv6 address in a URL. A request asks for no content
///   encoding by default, because the platform decodes bodies and hides whether they were whole: see
///   `Configuration.acceptsEncodedBodies`. The article <doc:URLSessionTraps> has all that was found.
public final class URLSessionLoader: HTTPLoader {
  private let configuration: Configuration
  private let template: URLRequest
  private let clock: any FutureClock
  private let delegate: SessionDelegate
  private let session: URLSession
  private let transfers = TransferTable()
  private let live = LiveLoads()
  private let queues = SessionQueues()

  /// Creates a loader with a session of its own.
  ///
  /// - Parameters:
  ///   - configuration: What holds for all of its requests.
  ///   - clock: Tells when a timeout has passed.
  public init(_ configuration: Configuration = Configuration(), clock: any FutureClock = .system) {
    self.configuration = configuration
    template = configuration.template()
    self.clock = clock
    delegate = SessionDelegate(transfers, configuration)
    session = URLSession(
      configuration: configuration.session(), delegate: delegate, delegateQueue: queues.reports)
  }

  /// Creates a loader whose session is configured as one of the platform.
  ///
  /// ```swift
  /// let platform = URLSessionConfiguration.default
  /// platform.httpAdditionalHeaders = ["User-Agent": "Reader/2"]
  /// platform.timeoutIntervalForResource = 30
  /// let loader = try URLSessionLoader(configuration: platform)
  /// ```
  ///
  /// `Configuration.init(_:)` lists which properties apply. To set more, change the value that it returns.
  ///
  /// - Parameters:
  ///   - configuration: The configuration of the platform. It is copied.
  ///   - clock: Tells when a timeout has passed.
  /// - Throws: `HTTPError`, if a property has a value that the contract of a loader forbids.
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
  /// - Returns: a future that completes on a thread of the session or of the clock, once, with the whole answer.
  public func load(_ request: HTTPRequest) -> Future<HTTPResponse> {
    let transfer: Transfer
    let urlRequest: URLRequest
    do throws(HTTPError) {
      let bodyLength = try request.body.announcedLength()
      transfer = try Transfer(of: request, bodyLength: bodyLength, configuration, clock: clock, queues)
      urlRequest = try URLRequest(request, bodyLength: bodyLength, template)
    } catch {
      return .failed(error.naming(request))
    }
    live.add(transfer.confirmed)
    let future = transfer.start(timeout: request[option: RequestTimeout.self] ?? configuration.timeout)
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

  /// How many requests the platform has not let go of.
  package var liveCount: Int { live.count }

  /// Cancels every request that is on its way, and waits until the platform has let go of each, those included whose
  /// futures ended before it did. What arrives late is dropped, and the loader is usable at once.
  public func reset() -> Future<Void> { live.reset() }
}

extension URLSessionLoader: CustomReflectable {
  /// The configuration. What is on its way has secrets, and the session cannot be walked.
  public var customMirror: Mirror { Mirror(self, children: ["configuration": configuration], displayStyle: .class) }
}
