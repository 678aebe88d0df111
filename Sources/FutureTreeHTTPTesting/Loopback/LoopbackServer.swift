import FutureTree
import FutureTreeHTTP

/// A scripted HTTP/1.1 server on 127.0.0.1 that can misbehave, for tests.
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
/// Answers are lists of steps: send, hold, pause, drip, stall, cut, reset. The server keeps connections alive between
/// requests, answers 404 where it was told nothing, and 400 to what is no request. It records every request and every
/// connection, and it notices when a client closes a connection while an answer is held, stalled, paused or dripping. A
/// client that only half-closes counts as one that closes: no HTTP client does that and still wants an answer.
///
/// The server stops when it is dropped, so keep it for as long as the test runs.
///
/// - Note: Callable from any thread. Handlers and conditions run one at a time on the server's queue, under no lock; while
///   one runs the server does nothing else. Futures complete on a thread that the server does not need.
/// - Note: If the environment names a proxy, the first server of a process adds loopback to `no_proxy`, because
///   `URLSession` on Linux would ask the proxy for 127.0.0.1.
public final class LoopbackServer: Sendable {
  /// The port that the system chose.
  public let port: Int

  let engine: ServerEngine

  /// Starts a server on a port that is free.
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

  /// The URL of a path, which begins with a slash, on this server.
  public func url(_ path: String = "/") -> String { "http://127.0.0.1:\(port)\(path)" }

  /// The environment that sends requests with only a path to this server.
  ///
  /// ```swift
  /// let api = ApplyEnvironment(server.environment) --> URLSessionLoader()
  /// ```
  public var environment: ServerEnvironment {
    do {
      return try ServerEnvironment(scheme: .http, host: "127.0.0.1", port: UInt16(port))
    } catch { preconditionFailure("The address of a server on loopback is valid: \(error)") }
  }

  /// Closes every connection, stops listening and gives back all descriptors.
  ///
  /// What was recorded can still be read. A future that still waits fails with `LoopbackWaitError`. Connecting to the port
  /// is refused from now on. Stopping again does nothing.
  ///
  /// - Note: Returns when everything is closed; called in a handler or a condition, it returns before.
  public func stop() {
    engine.stop()
  }
}

// MARK: - What the server has seen

extension LoopbackServer {
  /// All that the server has seen so far. It changes with what clients do, so wait before you compare it.
  public var record: LoopbackRecord { engine.record.withLock { $0 } }

  /// The requests so far, in the order in which their heads arrived. A request is here before its answer begins.
  public var requests: [LoopbackRequest] { record.requests }

  /// The connections so far, in the order in which they were accepted.
  public var connections: [LoopbackConnection] { record.connections }

  /// How many requests have arrived so far.
  public var requestCount: Int { engine.record.withLock { $0.requests.count } }

  /// How many connections have been accepted so far.
  public var connectionCount: Int { engine.record.withLock { $0.connections.count } }

  /// How many connections are open.
  public var openConnectionCount: Int { engine.record.withLock { $0.openConnectionCount } }
}
