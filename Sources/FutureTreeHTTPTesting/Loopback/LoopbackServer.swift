import FutureTree
import FutureTreeHTTP

/// A scripted HTTP/1.1 server on 127.0.0.1 for tests, which can also misbehave.
///
/// ```swift
/// let server = try LoopbackServer()
/// server.on("/users/1", .json(#"{"name": "Ada"}"#))
/// server.on("/slow", .stall)
///
/// let slow = api.load(try HTTPRequest(server.url("/slow")))
/// _ = try await server.waitForRequest(to: "/slow").value
/// slow.cancel()
/// let record = try await server.waitForClose(of: "/slow").value
/// #expect(record.abandonedPaths == ["/slow"])
/// ```
///
/// An answer is a list of steps: send, hold, pause, drip, stall, cut or reset the connection. The server keeps connections
/// alive between requests. It answers 404 to requests without a route, and 400 to malformed requests.
///
/// The server records every request and every connection. It detects when a client closes a connection while an answer is held,
/// stalled, paused or dripping. A half-close by the client counts as a close: no HTTP client half-closes and still expects an
/// answer.
///
/// The server stops when it is deallocated, so keep a reference for the whole test.
///
/// - Note: All members can be used from any thread. Handlers and conditions run one at a time on the server's queue, outside
///   every lock. While one of them runs, the server does nothing else. Futures complete on a thread that the server does not
///   need.
/// - Note: If the environment names a proxy, the first server of a process adds loopback to `no_proxy`. Otherwise `URLSession`
///   on Linux would send requests for 127.0.0.1 to the proxy.
public final class LoopbackServer: Sendable {
  /// The port, chosen by the system.
  public let port: Int

  let engine: ServerEngine

  /// Starts a server on a free port.
  ///
  /// - Throws: `LoopbackServerError` if the system refuses a socket.
  public init() throws(LoopbackServerError) {
    ProxyEnvironment.exemptLoopback
    let (listener, port) = try Socket.listenOnLoopback()
    do {
      engine = ServerEngine(listener: listener, poller: try Poller())
    } catch {
      Socket.closeDescriptor(listener)
      throw error
    }
    self.port = Int(port)
    engine.start()
  }

  deinit {
    engine.stop()
  }

  /// Returns the URL of a path on this server. The path begins with a slash.
  public func url(_ path: String = "/") -> String { "http://127.0.0.1:\(port)\(path)" }

  /// The environment that sends requests without a host to this server.
  ///
  /// ```swift
  /// let api = ApplyEnvironment(server.environment) --> URLSessionLoader()
  /// ```
  public var environment: ServerEnvironment { .loopback(port: port) }

  /// Closes every connection, stops listening and releases all descriptors.
  ///
  /// The record stays readable. Pending waits fail with `LoopbackWaitError`. Calls after the first have no effect.
  ///
  /// Any other server can get the port afterward. To test a refused connection, use a ``RefusingPort``.
  ///
  /// - Note: This method returns when everything is closed. If a handler or a condition calls it, it returns earlier.
  public func stop() {
    engine.stop()
  }
}

// MARK: - The record

extension LoopbackServer {
  /// A snapshot of the requests and connections so far. Wait for a condition before you compare the record, because it can
  /// change at any time.
  public var record: LoopbackRecord { engine.record.withLock { $0 } }

  /// The requests so far, in the order in which their heads arrived. A request is listed before its answer begins.
  public var requests: [LoopbackRequest] { record.requests }

  /// The connections so far, in the order in which they were accepted.
  public var connections: [LoopbackConnection] { record.connections }

  /// The number of requests so far.
  public var requestCount: Int { engine.record.withLock { $0.requests.count } }

  /// The number of accepted connections so far.
  public var connectionCount: Int { engine.record.withLock { $0.connections.count } }

  /// The number of open connections.
  public var openConnectionCount: Int { engine.record.withLock { $0.openConnectionCount } }
}
