extension Future {
  /// Returns a future with the same outcome that fails if it takes too long.
  ///
  /// ```swift
  /// let page = load(url).timeout(after: .seconds(5))
  /// ```
  ///
  /// When the time has passed it fails with `TimeoutError`, and lets go of `self`, which is asked to stop with
  /// `doNotForwardIfOthersWaiting` (law 23). A request to cancel is forwarded to `self`, and the time goes on running: what
  /// does not answer a request in time is given up as well.
  ///
  /// - Parameters:
  ///   - duration: how long to wait from now. If it is negative, the future fails with `InvalidArgument`, and `self` is let
  ///     go of in the same way.
  ///   - clock: what measures it.
  ///   - fileID: the file of the call, for the error.
  ///   - line: the line of the call, for the error.
  /// - Returns: a consumer of `self`. The timer is cancelled when the future completes.
  /// - Complexity: O(1), and a timer of the clock.
  @inlinable public func timeout(
    after duration: Duration, clock: any FutureClock = .system, fileID: String = #fileID, line: UInt = #line
  ) -> Future {
    let node = TimeoutNode.made(of: Value.self)
    let future: Future = derive(node)
    Expiry.set(on: node, after: duration, clock: clock, fileID: fileID, line: line)
    return future
  }
}

/// The error of a future that took longer than `timeout(after:)` allows.
public struct TimeoutError: Error, Hashable, CustomStringConvertible {
  /// How long it was waited for.
  public let duration: Duration

  /// For code that gives up waiting in its own way, and for tests.
  public init(duration: Duration) {
    self.duration = duration
  }

  public var description: String {
    "No outcome within \(duration.rounded). Allow more time, or see `tree()`."
  }
}

// MARK: - Giving up

/// The part of `timeout` that needs no type.
@usableFromInline
enum Expiry {
  /// Ends a future with an error after a duration.
  @usableFromInline
  static func set(on node: TimeoutNode, after duration: Duration, clock: any FutureClock, fileID: String, line: UInt) {
    if let error = InvalidArgument.negative(duration, in: "timeout(after:)", fileID: fileID, line: line) {
      expire(node, because: "its timeout was negative") { node.endLocked(failing: error) }
    } else if node.ending == nil {
      node.set(
        clock.schedule(after: duration) {
          let error = TimeoutError(duration: duration)
          expire(node, because: "timed out after \(duration.rounded)") { node.endLocked(failing: error) }
        })
    }
  }

  /// Ends a future, and detaches it from the future that it waits for (law 23).
  ///
  /// - Parameter end: Ends the future, under its lock. Returns false if it had ended.
  static func expire(_ node: TimeoutNode, because reason: @autoclosure () -> CancellationReason, _ end: () -> Bool) {
    Trampoline.run {
      if node.decide(because: reason(), end) { Trampoline.notify(node) }
    }
  }
}

extension Future {
  /// The same future, which can be given up by `expire(with:because:)`.
  @inlinable package func expirable() -> Future { derive(TimeoutNode.made(of: Value.self)) }

  /// Ends what `expirable()` returned, and lets go of what it waits for (law 23). Nothing happens if it has ended.
  package func expire(with outcome: Outcome<Value>, because reason: @autoclosure () -> CancellationReason) {
    Expiry.expire(unsafeDowncast(node, to: TimeoutNode.self), because: reason()) { node.endLocked(with: outcome) }
  }
}
