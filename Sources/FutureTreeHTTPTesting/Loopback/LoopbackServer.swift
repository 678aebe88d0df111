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

extension LoopbackServer {
  /// Sets the answers to requests for a path.
  ///
  /// ```swift
  /// server.on("/users/1", .json(#"{"name": "Ada"}"#))
  /// server.on("/users", method: "POST", .status(201))
  /// server.on("/flaky", .status(503), .reset, .json("[]"))                    // In turn; the last repeats.
  /// server.on("/upload", beginning: .headComplete, [.stopReading, .stall])    // Takes the head, not the body.
  /// server.on("//api.example/users/1", .status(404))                          // Requests for this host only.
  /// ```
  ///
  /// The host of a request is that of its field `Host`. `CurlLoader.Configuration.addresses` sends requests for any host to this
  /// server.
  ///
  /// The call replaces earlier answers for the same path and method. Answers in flight continue.
  ///
  /// - Parameters:
  ///   - path: A target with its query, or a path that matches any query. A target takes precedence over a path. After `//` and
  ///     the name of a host in lower case, it applies to requests for that host, and takes precedence over both.
  ///   - method: The method that the answers apply to. `nil` means every method that has no answers of its own.
  ///   - moment: The moment at which the answer begins. At `.headComplete` the server sends no `100 Continue`.
  ///   - answers: The answers, given in the order in which requests arrive. The last one repeats. If there are none, the
  ///     server answers 404.
  public func on(
    _ path: String, method: String? = nil, beginning moment: LoopbackMoment = .requestComplete,
    _ answers: LoopbackAnswer...
  ) {
    on(path, method: method, beginning: moment, inTurn: answers)
  }

  /// Sets the answers to requests for a path. The answers are given in turn, and the last one repeats.
  public func on(
    _ path: String, method: String? = nil, beginning moment: LoopbackMoment = .requestComplete,
    inTurn answers: [LoopbackAnswer]
  ) {
    set(.answers(answers, served: 0), at: moment, LoopbackRoutes.Key(method: method, path: path))
  }

  /// Sets a handler that chooses the answer to each request for a path.
  ///
  /// ```swift
  /// server.on("/echo") { request in .respond(body: request.body) }
  /// ```
  ///
  /// The handler runs on the server's queue, outside every lock. It must not block: use the steps `.hold` and `.pause`. The
  /// server holds the handler until it is replaced or the server stops, so capture the server weakly.
  public func on(
    _ path: String, method: String? = nil, beginning moment: LoopbackMoment = .requestComplete,
    answer: @escaping @Sendable (LoopbackRequest) -> LoopbackAnswer
  ) {
    set(.handler(answer), at: moment, LoopbackRoutes.Key(method: method, path: path))
  }

  /// Sets the answers to requests without a route. The answers are given in turn, and the last one repeats.
  public func onOthers(_ answers: LoopbackAnswer...) {
    setFallback(.answers(answers, served: 0))
  }

  /// Sets a handler that chooses the answer to requests without a route.
  public func onOthers(answer: @escaping @Sendable (LoopbackRequest) -> LoopbackAnswer) {
    setFallback(.handler(answer))
  }

  /// Sets the steps for new connections, before any request is answered. They are used in turn, and the last one repeats.
  ///
  /// ```swift
  /// server.onConnect(.reset, [])     // The first connection is reset, those after it work.
  /// ```
  public func onConnect(_ answers: LoopbackAnswer...) {
    engine.routes.withLock { $0.setGreeting(.answers(answers, served: 0)) }
  }

  private func set(_ script: LoopbackRoutes.Script, at moment: LoopbackMoment, _ key: LoopbackRoutes.Key) {
    let replaced = engine.routes.withLock { $0.set(script, at: moment, for: key) }
    _ = replaced  // A handler is released outside the lock.
  }

  private func setFallback(_ script: LoopbackRoutes.Script) {
    let replaced = engine.routes.withLock { $0.setFallback(script) }
    _ = replaced
  }
}

extension LoopbackServer {
  /// Returns a future of the record that completes as soon as a condition holds.
  ///
  /// ```swift
  /// let record = try await server.waitUntil { $0.openConnectionCount == 0 }.value
  /// ```
  ///
  /// The server checks the condition at once and after each change, so a state that holds only briefly is not missed. The
  /// condition runs on the server's queue, outside every lock, with a snapshot. It must not block.
  ///
  /// - Parameters:
  ///   - limit: The time after which the future fails with `LoopbackWaitError`, which carries the record. It limits only the
  ///     duration of failing tests: a passing test does not wait that long. Defaults to 5 minutes.
  ///   - fileID: The file of the call, for the error.
  ///   - line: The line of the call, for the error.
  ///   - condition: The condition to wait for.
  /// - Complexity: One call of the condition for each change while the future waits.
  public func waitUntil(
    within limit: Duration = .seconds(300), fileID: String = #fileID, line: UInt = #line,
    _ condition: @escaping @Sendable (LoopbackRecord) -> Bool
  ) -> Future<LoopbackRecord> {
    let promise = Promise<LoopbackRecord>()
    let wait = ServerWait(promise, place: "\(fileID):\(line)", condition: condition)
    promise.onRequestCancel { [weak engine] _ in
      engine?.remove(wait)
      return .complete(.cancelled)
    }
    engine.add(wait, within: limit)
    return promise.future
  }

  /// Returns a future of the record that completes as soon as `count` requests to a path or target have arrived completely.
  public func waitForRequest(
    to path: String, count: Int = 1, within limit: Duration = .seconds(300), fileID: String = #fileID,
    line: UInt = #line
  ) -> Future<LoopbackRecord> {
    waitUntil(within: limit, fileID: fileID, line: line) { $0.requestCount(to: path) >= count }
  }

  /// Returns a future of the record that completes as soon as clients have closed `count` connections before the answer to a
  /// path or target was finished.
  public func waitForClose(
    of path: String, count: Int = 1, within limit: Duration = .seconds(300), fileID: String = #fileID,
    line: UInt = #line
  ) -> Future<LoopbackRecord> {
    waitUntil(within: limit, fileID: fileID, line: line) { record in
      record.connections.count { $0.wasAbandoned(while: path) } >= count
    }
  }

  /// Returns a future of the record that completes as soon as no connection is open and at least `count` connections were
  /// accepted.
  public func waitUntilAllClosed(
    count: Int = 1, within limit: Duration = .seconds(300), fileID: String = #fileID, line: UInt = #line
  ) -> Future<LoopbackRecord> {
    waitUntil(within: limit, fileID: fileID, line: line) {
      $0.openConnectionCount == 0 && $0.connections.count >= count
    }
  }
}
