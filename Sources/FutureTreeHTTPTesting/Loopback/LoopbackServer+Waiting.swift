import FutureTree

extension LoopbackServer {
  /// Returns a future of the record as soon as a condition holds.
  ///
  /// ```swift
  /// let record = try await server.waitUntil { $0.openConnectionCount == 0 }.value
  /// ```
  ///
  /// The condition is asked now and after each change, so that nothing is missed that was true for a moment only. It runs on
  /// the server's queue, under no lock, with a record that does not change; it must not block.
  ///
  /// - Parameters:
  ///   - limit: After this time the future fails with `LoopbackWaitError`, which tells what the server has seen. It is for
  ///     tests that are wrong: no test waits for it.
  ///   - fileID: The file of the call, for the error.
  ///   - line: The line of the call, for the error.
  ///   - condition: What is waited for.
  /// - Complexity: The condition is called once for each change while the future waits.
  public func waitUntil(
    within limit: Duration = .seconds(120), fileID: String = #fileID, line: UInt = #line,
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

  /// Returns a future of the record as soon as this many requests to a path, or to a target, have arrived completely.
  public func waitForRequest(
    to path: String, count: Int = 1, within limit: Duration = .seconds(120), fileID: String = #fileID,
    line: UInt = #line
  ) -> Future<LoopbackRecord> {
    waitUntil(within: limit, fileID: fileID, line: line) { $0.requestCount(to: path) >= count }
  }

  /// Returns a future of the record as soon as clients have closed this many connections while the answer to a path, or to
  /// a target, was not finished.
  public func waitForClose(
    of path: String, count: Int = 1, within limit: Duration = .seconds(120), fileID: String = #fileID,
    line: UInt = #line
  ) -> Future<LoopbackRecord> {
    waitUntil(within: limit, fileID: fileID, line: line) { record in
      record.connections.count { $0.wasAbandoned(while: path) } >= count
    }
  }

  /// Returns a future of the record as soon as no connection is open and all that were expected have come.
  public func waitUntilAllClosed(
    count: Int = 1, within limit: Duration = .seconds(120), fileID: String = #fileID, line: UInt = #line
  ) -> Future<LoopbackRecord> {
    waitUntil(within: limit, fileID: fileID, line: line) {
      $0.openConnectionCount == 0 && $0.connections.count >= count
    }
  }
}
