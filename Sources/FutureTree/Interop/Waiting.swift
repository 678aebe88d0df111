extension Future {
  /// Blocks the calling thread until the future completes or a duration has passed. Use it in `main` functions, scripts and
  /// tests.
  ///
  /// ```swift
  /// guard let outcome = try download.wait(for: .seconds(30)) else { exit(1) }
  /// ```
  ///
  /// The thread is a consumer while it waits. After `duration` its interest is withdrawn, and no future is asked to cancel.
  ///
  /// This method cannot be called from async code: use `await outcome` there. Inside a callback, the pending notifications
  /// of this thread are delivered before the wait. See <doc:Cancellation#No-user-code-under-a-lock>.
  ///
  /// - Parameters:
  ///   - duration: The maximum time to wait, measured by the system clock.
  ///   - fileID: The file of the call, for the error.
  ///   - line: The line of the call, for the error.
  /// - Returns: The outcome, or `nil` if the future did not complete in time.
  /// - Throws: `InvalidArgument` if the duration is negative. `WaitWouldHang` in two cases, for this future and each future
  ///   that it waits for now: on the serial executor that must run its body, and inside its body.
  /// - Complexity: O(futures) that this future depends on.
  @available(
    *, noasync, message: "Blocking a thread of the pool can deadlock the program. Use 'await future.outcome' instead."
  )
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

  /// Waits as a consumer. Returns whether the future has an outcome.
  private func block(for duration: Duration) -> Bool {
    let gate = Gate()
    let entry = BlockedThread(gate)
    guard node.attach(entry, isConsumer: true), !gate.wait(for: duration) else { return true }
    CancellationPropagation.run(Signal(node: node, sender: entry, departure: .leaves))
    return node.ending != nil
  }

  /// Checks every future that this future waits for. Throws if the caller blocks the body of one of them.
  private func checkThatCallerCanWait() throws {
    var seen: Set<ObjectIdentifier> = [ObjectIdentifier(node)]
    var pending = [node]
    while let node = pending.popLast() {
      let (state, details, name, links) = node.lock.withLock {
        (node.state, node.details, node.label, node.waitsFor)
      }
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

/// The entry of a blocked thread in the waiter list of a future.
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

/// The error that `wait(for:)` throws when the awaited future cannot complete before the thread continues.
public struct WaitWouldHang: Error, Hashable, CustomStringConvertible {
  enum Place {
    case executor, body
  }

  let future: String
  let place: Place

  public var description: String {
    switch place {
    case .executor:
      "`wait(for:)` would deadlock. It was called on the serial executor on which the future \"\(future)\" runs its body. "
        + "Wait on another thread, or continue with an operator."
    case .body:
      "`wait(for:)` would deadlock. It was called in the body of the future \"\(future)\", and the awaited future depends on that future. "
        + "Return the awaited future from the body instead."
    }
  }
}
