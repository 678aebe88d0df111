import Dispatch
import FutureTree

/// A scripted HTTP/1.1 server on 127.0.0.1 that can misbehave, for tests.
///
/// ```swift
/// let server = try LoopbackServer()
/// let gate = LoopbackGate()
/// server.on("/users/1", .json(#"{"name": "Ada"}"#))
/// server.on("/slow", [.hold(gate), .respond(body: "at last")])
///
/// let slow = loader.load(try HTTPRequest(server.url("/slow")))
/// _ = await server.waitForRequest(to: "/slow").outcome
/// slow.cancel()
/// let record = try await server.waitForClose(of: "/slow").value
/// #expect(record.abandonedPaths == ["/slow"])
/// ```
///
/// Answers are lists of steps: send, wait, stall, close, reset. The server records every request and every connection, and
/// notices when a client closes a connection while its answer is held back, so that a test need not sleep. It keeps
/// connections alive between requests, and answers 404 where no answer was given.
///
/// The first server of a process adds loopback to `no_proxy` in its environment, because `URLSession` on Linux would
/// otherwise ask the proxy of the environment for 127.0.0.1.
///
/// It can be used from any thread. It stops when it is dropped.
public final class LoopbackServer: Sendable {
  /// The port that the system chose.
  public let port: UInt16

  private let engine: Engine

  /// Begins to listen.
  ///
  /// - Throws: `LoopbackServerError` if the system refuses.
  public init() throws {
    ProxyEnvironment.exemptLoopback
    let (descriptor, port) = try Socket.listen()
    self.port = port
    engine = Engine(listener: descriptor)
    engine.start()
  }

  deinit {
    engine.stop()
  }

  /// The URL of a path on this server.
  public func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }

  /// Closes every connection and stops listening. Stopping again changes nothing.
  public func stop() {
    engine.stop()
  }
}

// MARK: - Answers

extension LoopbackServer {
  /// Answers every request for a path in one step.
  public func on(_ path: String, _ step: LoopbackStep) {
    on(path, inTurn: [[step]])
  }

  /// Answers every request for a path with these steps.
  public func on(_ path: String, _ steps: [LoopbackStep]) {
    on(path, inTurn: [steps])
  }

  /// Answers the requests for a path in turn, the last answer again and again.
  public func on(_ path: String, inTurn answers: [[LoopbackStep]]) {
    let turns = Locked(answers[...])
    on(path) { _ in
      turns.withLock { turns in
        let answer = turns.first ?? [.respond(status: 404)]
        if turns.count > 1 { turns = turns.dropFirst() }
        return answer
      }
    }
  }

  /// Answers each request for a path as `answer` says. It is called on the server's queue.
  public func on(_ path: String, answer: @escaping @Sendable (LoopbackRequest) -> [LoopbackStep]) {
    engine.routes.withLock { $0[path] = answer }
  }
}

// MARK: - The record

extension LoopbackServer {
  /// What the server has seen so far.
  public var record: LoopbackRecord { engine.record.withLock { $0 } }

  /// Returns a future of the record as soon as it fulfils a condition.
  ///
  /// - Parameter condition: is called with a copy of the record after each change, on the server's queue.
  public func waitUntil(_ condition: @escaping @Sendable (LoopbackRecord) -> Bool) -> Future<LoopbackRecord> {
    engine.wait(until: condition)
  }

  /// Returns a future of the record as soon as a request for this path has arrived.
  public func waitForRequest(to path: String) -> Future<LoopbackRecord> {
    waitUntil { $0.hasRequest(for: path) }.named("request for \(path)")
  }

  /// Returns a future of the record as soon as the client has closed a connection while this path was answered.
  public func waitForClose(of path: String) -> Future<LoopbackRecord> {
    waitUntil { $0.abandonedPaths.contains(path) }.named("close of \(path)")
  }
}
