import FutureTree

extension LoopbackServer {
  /// Says what is answered to requests for a path.
  ///
  /// ```swift
  /// server.on("/users/1", .json(#"{"name": "Ada"}"#))
  /// server.on("/users", method: "POST", .status(201))
  /// server.on("/flaky", .status(503), .reset, .json("[]"))                    // In turn; the last repeats.
  /// server.on("/upload", beginning: .headComplete, [.stopReading, .stall])    // Takes the head, not the body.
  /// ```
  ///
  /// What was said before about the same path and method is replaced; answers under way go on.
  ///
  /// - Parameters:
  ///   - path: A target with its query, or a path for every query. The first goes before the second.
  ///   - method: The one method that is meant; nil: every method that has no answers of its own.
  ///   - moment: When the answer begins. At `.headComplete`, a client that asks for 100 Continue gets none.
  ///   - answers: Given in turn to the requests in the order of their arrival; the last repeats. None: 404.
  public func on(
    _ path: String, method: String? = nil, beginning moment: LoopbackMoment = .requestComplete,
    _ answers: LoopbackAnswer...
  ) {
    on(path, method: method, beginning: moment, inTurn: answers)
  }

  /// Says what is answered to requests for a path, in turn; the last answer repeats.
  public func on(
    _ path: String, method: String? = nil, beginning moment: LoopbackMoment = .requestComplete,
    inTurn answers: [LoopbackAnswer]
  ) {
    set(.answers(answers, served: 0), at: moment, LoopbackRoutes.Key(method: method, path: path))
  }

  /// Asks a handler what is answered to each request for a path.
  ///
  /// ```swift
  /// server.on("/echo") { request in .respond(body: request.body) }
  /// ```
  ///
  /// The handler runs on the server's queue, under no lock. It must not block: `.hold` and `.pause` do that for it. The
  /// server holds it until it is replaced or the server stops, so let it capture the server weakly.
  public func on(
    _ path: String, method: String? = nil, beginning moment: LoopbackMoment = .requestComplete,
    answer: @escaping @Sendable (LoopbackRequest) -> LoopbackAnswer
  ) {
    set(.handler(answer), at: moment, LoopbackRoutes.Key(method: method, path: path))
  }

  /// Says what is answered to requests that nothing else was said about, in turn; the last answer repeats.
  public func onOthers(_ answers: LoopbackAnswer...) {
    setFallback(.answers(answers, served: 0))
  }

  /// Asks a handler what is answered to requests that nothing else was said about.
  public func onOthers(answer: @escaping @Sendable (LoopbackRequest) -> LoopbackAnswer) {
    setFallback(.handler(answer))
  }

  /// Says what is done to new connections before anything is answered, in turn; the last repeats.
  ///
  /// ```swift
  /// server.onConnect(.reset, [])     // The first connection is reset, those after it work.
  /// ```
  public func onConnect(_ answers: LoopbackAnswer...) {
    engine.routes.withLock { $0.setGreeting(.answers(answers, served: 0)) }
  }

  private func set(_ script: LoopbackRoutes.Script, at moment: LoopbackMoment, _ key: LoopbackRoutes.Key) {
    let replaced = engine.routes.withLock { $0.set(script, at: moment, for: key) }
    _ = replaced  // A handler is released unlocked.
  }

  private func setFallback(_ script: LoopbackRoutes.Script) {
    let replaced = engine.routes.withLock { $0.setFallback(script) }
    _ = replaced
  }
}
