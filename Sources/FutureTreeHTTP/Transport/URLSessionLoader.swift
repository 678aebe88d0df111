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
/// A request to cancel stops the transfer, and the future ends when the transport confirms, so that its connection is free
/// then (H5). A success that was faster stays a success. `forceImmediately` ends the future at once; the transfer is stopped
/// behind it.
///
/// - Warning: On Linux (Swift 6.3), `URLSession` itself ends the process with a fatal error when a peer closes the connection
///   between the status line and the end of the header fields of an answer. Nothing above it can prevent that: where peers
///   are not trusted, load over another transport.
/// - Note: On Linux, `URLSession` obeys `http_proxy`, `https_proxy` and `no_proxy` in the environment, sends methods in upper
///   case, and joins header fields of one name. A request asks for no content encoding, because the platform decodes bodies
///   and hides whether they were whole.
public final class URLSessionLoader: HTTPLoader {
  /// What holds for all requests of a loader.
  public struct Configuration: Sendable {
    /// How long a request may take in all, from `load` to its outcome; nil for ever. A request can set its own with
    /// `RequestTimeout`.
    public var timeout: Duration?
    /// How many bytes of a body are accepted; 64 MiB if nothing else is said.
    public var maximumBodySize: Int
    /// How many connections to one host are open at once. Requests beyond it wait, and their deadline does not.
    public var maximumConnectionsPerHost: Int

    /// The defaults suit a client of an API.
    public init(
      timeout: Duration? = .seconds(60), maximumBodySize: Int = 64 << 20, maximumConnectionsPerHost: Int = 6
    ) {
      self.timeout = timeout
      self.maximumBodySize = maximumBodySize
      self.maximumConnectionsPerHost = maximumConnectionsPerHost
    }
  }

  private let configuration: Configuration
  private let session: URLSession
  private let transfers: TransferTable

  /// Creates a loader with a session of its own.
  public init(_ configuration: Configuration = Configuration()) {
    self.configuration = configuration
    transfers = TransferTable()
    session = URLSession(
      configuration: .plain(configuration), delegate: SessionDelegate(transfers), delegateQueue: .serial)
  }

  deinit {
    session.finishTasksAndInvalidate()
  }

  /// Sends a request. A request that the platform would change is refused with an `HTTPError`.
  ///
  /// - Returns: a future that completes on a thread of the session, once, with the whole answer.
  public func load(_ request: HTTPRequest) -> Future<HTTPResponse> {
    let urlRequest: URLRequest
    do { urlRequest = try URLRequest(request) } catch { return .failed(error) }
    let transfer = Transfer(
      of: request, task: session.dataTask(with: urlRequest), maximumBodySize: configuration.maximumBodySize)
    transfers.insert(transfer)
    return transfer.start(timeout: request[option: RequestTimeout.self] ?? configuration.timeout)
  }

  /// Cancels every request that is on its way, and waits until the last has ended.
  public func reset() -> Future<Void> {
    let futures = transfers.live.map(\.future)
    for future in futures { future.cancel(reason: "the loader was reset") }
    return Future.all(futures.map { $0.onComplete { _ in } }).map { _ in }
  }
}

/// How long one request may take in all, in place of the loader's `timeout`.
///
/// ```swift
/// request[option: RequestTimeout.self] = .seconds(5)
/// ```
public enum RequestTimeout: HTTPRequestOption {
  /// The loader decides.
  public static var defaultValue: Duration? { nil }
}

extension URLSessionConfiguration {
  /// Nothing is kept, and nothing is done behind the loader's back.
  fileprivate static func plain(_ configuration: URLSessionLoader.Configuration) -> URLSessionConfiguration {
    let plain = URLSessionConfiguration.ephemeral
    plain.urlCache = nil  // With a cache, cancelling a task that is just ending kills the process on Linux.
    plain.requestCachePolicy = .reloadIgnoringLocalCacheData
    plain.httpCookieStorage = nil
    plain.httpShouldSetCookies = false
    plain.httpCookieAcceptPolicy = .never
    plain.urlCredentialStorage = nil
    plain.httpMaximumConnectionsPerHost = max(1, configuration.maximumConnectionsPerHost)
    return plain
  }
}

extension OperationQueue {
  fileprivate static var serial: OperationQueue {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    queue.name = "FutureTree.URLSessionLoader"
    return queue
  }
}

extension URLRequest {
  /// - Throws: `HTTPError` where the platform would change what is sent.
  fileprivate init(_ request: HTTPRequest) throws(HTTPError) {
    let target = try request.requireURL()
    guard let url = URL(string: target.absoluteString), url.absoluteString == target.absoluteString else {
      throw HTTPError(.invalidURL, "The platform would change the URL \(target).")
    }
    guard request.body.isEmpty || (request.method != .get && request.method != .head) else {
      throw HTTPError(.forbiddenBody, "A \(request.method) request has no body.")
    }
    try request.body.checkContentType()
    self.init(url: url)
    // The deadline is our own: the platform's counts whole seconds, and stops while a body trickles.
    timeoutInterval = 7 * 24 * 60 * 60
    httpMethod = request.method.name
    httpShouldHandleCookies = false
    setValue("identity", forHTTPHeaderField: "Accept-Encoding")
    var seen: Set<String> = []
    for field in request.headers {
      if seen.insert(field.name.lowercased()).inserted {
        setValue(field.value, forHTTPHeaderField: field.name)
      } else {
        addValue(field.value, forHTTPHeaderField: field.name)
      }
    }
    guard let data = request.body.data else { return }
    httpBody = data
    if request.headers["Content-Type"] == nil {
      setValue(request.body.contentType, forHTTPHeaderField: "Content-Type")
    }
  }
}
