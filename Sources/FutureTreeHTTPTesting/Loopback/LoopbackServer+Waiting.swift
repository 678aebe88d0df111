import FutureTree

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
