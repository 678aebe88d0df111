extension Future {
  /// Blocks the calling thread until the outcome is there, or a time has passed. For `main` functions, scripts and tests.
  ///
  /// ```swift
  /// guard let outcome = try download.wait(for: .seconds(30)) else { exit(1) }
  /// ```
  ///
  /// The thread is a consumer while it waits; when the time has passed its interest is withdrawn, and nobody is asked to
  /// stop. It cannot be called from async code: write `await outcome` there. Inside a callback, what this thread still has
  /// to tell is told first (law 19).
  ///
  /// - Parameters:
  ///   - duration: how long to wait, measured by the clock of the machine.
  ///   - fileID: the file of the call, for the error.
  ///   - line: the line of the call, for the error.
  /// - Returns: the outcome, or nil if it was not there in time.
  /// - Throws: `WaitWouldHang` on the serial executor on which this future, or one that it waits for now, must run its body,
  ///   and in the body of either; `InvalidArgument` if the duration is negative.
  /// - Complexity: O(futures) that this future depends on.
  @available(*, noasync, message: "Blocking a thread of the pool can hang the program: write 'await future.outcome'.")
  public func wait(
    for duration: Duration, fileID: String = #fileID, line: UInt = #line
  ) throws -> Outcome<Value>? {
    if let error = InvalidArgument.negative(duration, in: "wait(for:)", fileID: fileID, line: line) { throw error }
    Trampoline.runPending()
    if node.ending == nil {
      try checkThatCallerCanWait()
      guard block(for: duration) else { return nil }
    }
    return node.outcome(as: Value.self)
  }

  /// Waits as a consumer. Returns whether there is an outcome.
  private func block(for duration: Duration) -> Bool {
    let gate = Gate()
    let entry = BlockedThread(gate)
    guard node.attach(entry, isConsumer: true), !gate.wait(for: duration) else { return true }
    CancellationPropagation.run(Signal(node: node, sender: entry, departure: .leaves))
    return node.ending != nil
  }

  /// Looks at everything that this future waits for.
  private func checkThatCallerCanWait() throws {
    var seen: Set<ObjectIdentifier> = [ObjectIdentifier(node)]
    var pending = [node]
    while let node = pending.popLast() {
      let (state, details, links) = node.lock.withLock { (node.state, node.details, node.waitsFor) }
      let name = details?.name ?? state.createdBy.name
      switch state.phase {
      case .waiting, .queued:
        if details?.executor.isBlockedByCaller == true { throw WaitWouldHang(future: name, place: .executor) }
      case .running:
        if Trampoline.isInBody(of: node) { throw WaitWouldHang(future: name, place: .body) }
      case .linked, .succeeded, .failed, .cancelled:
        break
      }
      for link in links where seen.insert(ObjectIdentifier(link.node)).inserted { pending.append(link.node) }
    }
  }
}

/// A blocked thread in the list of a future.
private final class BlockedThread: Waiter, @unchecked Sendable {  // Because: it has no state of its own.
  private let gate: Gate

  init(_ gate: Gate) {
    self.gate = gate
    super.init { entry, _, _ in
      unsafeDowncast(entry, to: BlockedThread.self).gate.open()
      return false
    }
  }
}

/// Thrown where a thread would wait for what cannot happen before it goes on.
public struct WaitWouldHang: Error, Hashable, CustomStringConvertible {
  enum Place {
    case executor, body
  }

  let future: String
  let place: Place

  public var description: String {
    switch place {
    case .executor:
      "The future \"\(future)\" runs its body on the serial executor that called `wait(for:)`, and would never get there. "
        + "Wait on another thread, or go on with an operator."
    case .body:
      "`wait(for:)` was called in the body of the future \"\(future)\", on which what it waits for depends. "
        + "Return the other future from the body instead."
    }
  }
}
