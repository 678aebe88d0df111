import FutureTree
import FutureTreeHTTP

/// An error that ends a check at its first fault.
struct EarlyCompletion: Error, CustomStringConvertible {
  let description: String
}

extension CheckRun {
  /// The number of loads in which the server must record a close.
  private static let closeLimit = 20

  /// Expects that the connection of a cancelled load was closed when its future completed.
  ///
  /// Call it when the future has completed. A close needs time to arrive at the server, and a busy machine delays it without
  /// limit. The measure is therefore the order of events: the server must record the close before it has answered 20 later loads.
  ///
  /// - Parameter path: The path or target of the load, whose answer the server holds.
  /// - Throws: `EarlyCompletion` if the connection is open, because further loads could wait for it.
  func expectClosed(_ path: String) async throws {
    for _ in 0..<Self.closeLimit {
      if server.connections.contains(where: { $0.wasAbandoned(while: path) }) { return }
      try await expectUsable("after the end of \(path)")
    }
    if server.connections.contains(where: { $0.wasAbandoned(while: path) }) { return }
    throw EarlyCompletion(
      description: "\(path) ended before its connection was closed: it was open after \(Self.closeLimit) later loads")
  }

  /// Expects that an upload was stopped when its future completed: its source is not read again, and its connection is closed.
  ///
  /// - Parameters:
  ///   - path: The path of the upload, whose bytes the server does not read.
  ///   - gate: The gate that holds the answer. It is opened, because the close is behind the bytes that the server has not read.
  /// - Throws: `EarlyCompletion` if the source was read again.
  func expectStopped(_ upload: EndlessUpload, _ path: String, _ gate: LoopbackGate) async throws {
    let lateRead = upload.end()
    gate.open()
    let closed = server.waitForClose(of: path).map { _ in }
    try await Future.race([closed, lateRead.observed()]).value
    if lateRead.isCompleted {
      throw EarlyCompletion(description: "the source of \(path) was read after its future had completed")
    }
  }
}

/// An upload of 1 GiB that is cancelled.
final class EndlessUpload: Sendable {
  private let hasEnded = Locked(false)
  private let lateRead = Promise<Void>()

  /// The body. Its source is read as fast as the transport sends it.
  var body: HTTPBody {
    CheckRun.body(of: 1 << 30, length: 1 << 30) { [hasEnded, lateRead] _ in
      if hasEnded.value { lateRead.succeed() }
    }
  }

  /// Registers that the load has completed.
  ///
  /// - Returns: A future that completes if the source is read afterward.
  func end() -> Future<Void> {
    hasEnded.value = true
    return lateRead.future
  }
}
