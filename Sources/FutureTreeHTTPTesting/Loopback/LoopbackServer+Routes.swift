import FutureTree

extension LoopbackServer {
  /// Sets the answers to requests for a path.
  ///
  /// ```swift
  /// server.on("/users/1", .json(#"{"name": "Ada"}"#))
  /// server.on("/users", method: "POST", .status(201))
  /// server.on("/flaky", .status(503), .reset, .json("[]"))                    // In turn; the last repeats.
  /// server.on("/upload", beginning: .headComplete, [.stopReading, .stall])    // Takes the head, not the body.
  /// ```
  ///
  /// The call replaces earlier answers for the same path and method. Answers in flight continue.
  ///
  /// - Parameters:
  ///   - path: A target with its query, or a path that matches any query. A target takes precedence over a path.
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
