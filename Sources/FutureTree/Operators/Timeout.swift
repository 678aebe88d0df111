extension Future {
  /// Returns a future that has the same outcome, but fails if `self` does not complete within a duration.
  ///
  /// ```swift
  /// let page = load(url).timeout(after: .seconds(5))
  /// ```
  ///
  /// If the duration passes first, the future fails with `TimeoutError`, and `self` is asked to cancel with
  /// `doNotForwardIfOthersWaiting`. See <doc:Cancellation#Deciding-detaches>. A cancellation request is forwarded to
  /// `self` and does not stop the timer. Work that does not respond to the request in time therefore times out as well.
  ///
  /// - Parameters:
  ///   - duration: The time to wait from now. If it is negative, the future fails with `InvalidArgument` at once, and `self`
  ///     is asked to cancel in the same way.
  ///   - clock: The clock that measures the duration. Defaults to `.system`.
  ///   - fileID: The file of the call, for the error.
  ///   - line: The line of the call, for the error.
  /// - Returns: A future that is a consumer of `self`. The timer is cancelled when the future completes.
  /// - Complexity: O(1), and one timer of the clock.
  @inlinable public func timeout(
    after duration: Duration, clock: any FutureClock = .system, fileID: String = #fileID, line: UInt = #line
  ) -> Future {
    if let error = InvalidArgument.negative(duration, in: "timeout(after:)", fileID: fileID, line: line) {
      return refused(error, because: "the timeout was negative")
    }
    let node = TimeoutNode.made(of: Value.self)
    let future: Future = derive(node)
    Expiry.set(on: node, after: duration, clock: clock, fileID: fileID, line: line)
    return future
  }
}

/// The error of a future that took longer than `timeout(after:)` allows, or of a scope whose deadline has passed.
///
/// Errors are equal if their durations are.
public struct TimeoutError: Error, CustomStringConvertible {
  /// The duration after which the future failed.
  public let duration: Duration
  /// The name of the future that took too long, or the operator that created it. For a scope, the name of the scope.
  public let name: String?
  /// The call of `timeout(after:)`. `nil` for a scope.
  public let location: CodeLocation?

  /// Creates the error, for custom timeouts and for tests.
  public init(duration: Duration, name: String? = nil, location: CodeLocation? = nil) {
    self.duration = duration
    self.name = name
    self.location = location
  }

  public var description: String {
    let subject = name.map { "The future `\($0)`" } ?? "The future"
    let place = location.map { " (\($0))" } ?? ""
    return "\(subject) timed out after \(duration.rounded)\(place). Allow more time, or print its `tree()`."
  }
}

extension TimeoutError: Hashable {
  public static func == (left: TimeoutError, right: TimeoutError) -> Bool { left.duration == right.duration }

  public func hash(into hasher: inout Hasher) { hasher.combine(duration) }
}

extension Future {
  /// Returns the failed future of an operator that refuses an argument. Attaches to this future and detaches from it at once.
  /// Law 23 (deciding detaches).
  @usableFromInline func refused(_ error: InvalidArgument, because message: String) -> Future {
    let entry = Waiter { _, _, _ in false }
    if node.attach(entry, isConsumer: true) {
      let reason = CancellationReason.of(.decided, message, cause: error)
      let request = CancelRequest(options: .doNotForwardIfOthersWaiting, reason: reason)
      CancellationPropagation.run(Signal(node: node, request: request, sender: entry, departure: .leaves))
    }
    return .failed(error)
  }
}

// MARK: - Expiry

/// The part of `timeout` that does not depend on the value type.
@usableFromInline
enum Expiry {
  /// Schedules the failure of a future after a duration.
  @usableFromInline
  static func set(on node: TimeoutNode, after duration: Duration, clock: any FutureClock, fileID: String, line: UInt) {
    guard node.ending == nil else { return }
    node.set(
      clock.schedule(after: duration) {
        let location = CodeLocation(fileID: fileID, line: line)
        let error = TimeoutError(duration: duration, name: node.upstreamName, location: location)
        expire(node, because: .of(.timeout, "timed out after \(duration.rounded)", cause: error)) {
          node.endLocked(failing: error)
        }
      })
  }

  /// Completes a future and detaches it from its upstream. Law 23 (deciding detaches).
  ///
  /// - Parameter end: Completes the future under its lock. Returns `false` if it was completed before.
  static func expire(_ node: TimeoutNode, because reason: @autoclosure () -> CancellationReason, _ end: () -> Bool) {
    Trampoline.run {
      if node.decide(because: reason(), end) { Trampoline.notify(node) }
    }
  }
}

extension Future {
  /// Returns a future with the same outcome that `expire(with:because:)` can complete early.
  @inlinable package func expirable() -> Future { derive(TimeoutNode.made(of: Value.self)) }

  /// Completes a future that `expirable()` returned, and detaches it from its upstream. Law 23 (deciding detaches). Has no
  /// effect on a completed future.
  package func expire(with outcome: Outcome<Value>, because reason: @autoclosure () -> CancellationReason) {
    Expiry.expire(unsafeDowncast(node, to: TimeoutNode.self), because: reason()) { node.endLocked(with: outcome) }
  }
}
