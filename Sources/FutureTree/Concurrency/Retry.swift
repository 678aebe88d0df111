extension Future {
  /// Calls `body` until the future that it returns succeeds, with a delay between attempts.
  ///
  /// ```swift
  /// let user = Future.retry(.exponential(attempts: 3)) { attempt in api.user(1) }
  /// ```
  ///
  /// After each failure, the next attempt begins, until the policy gives up. The future then fails with the last error. If
  /// an attempt is cancelled, the future is cancelled.
  ///
  /// After a cancellation request, no further attempt begins. The request is forwarded to the attempt in flight. If that
  /// attempt fails, the future fails with its error. Between two attempts, the request completes the future as `.cancelled`
  /// at once and cancels the timer, regardless of its options.
  ///
  /// - Parameters:
  ///   - policy: The number of attempts, and the delays between them.
  ///   - executor: The executor that runs `body`. Defaults to `.immediate`.
  ///   - clock: The clock that measures the delays. Defaults to `.system`.
  ///   - fileID: The file of the call, for the error.
  ///   - line: The line of the call, for the error.
  ///   - body: The closure that starts an attempt. It receives the number of the attempt, counted from 1. If it throws, the
  ///     attempt fails.
  /// - Returns: A future that is a consumer of each attempt while it waits for that attempt.
  /// - Complexity: O(1) memory, for any number of attempts.
  public static func retry(
    _ policy: BackOff, on executor: FutureExecutor = .immediate, clock: any FutureClock = .system,
    fileID: String = #fileID, line: UInt = #line, _ body: @escaping @Sendable (_ attempt: Int) throws -> Future
  ) -> Future {
    retry(policy, clock: clock, fileID: fileID, line: line) { attempt, isOver in
      .work(on: executor, unless: isOver) { try body(attempt) }
    }
  }

  /// Performs `retry` with the attempts that `begin` begins.
  ///
  /// - Parameter begin: Receives the number of the attempt, and a closure that returns whether the future has completed.
  static func retry(
    _ policy: BackOff, clock: any FutureClock, fileID: String, line: UInt,
    beginningWith begin: @escaping @Sendable (_ attempt: Int, _ isOver: @escaping @Sendable () -> Bool) -> Future
  ) -> Future {
    guard policy.attempts > 0 else {
      let problem = "the policy allows \(policy.attempts) attempts. Allow at least 1 attempt."
      return .failed(InvalidArgument("retry(_:)", problem, fileID: fileID, line: line))
    }
    return attempts(begin) { attempt, outcome in
      guard case .failure(let error) = outcome, let delay = policy.delay(after: attempt, error: error) else {
        return .ends(outcome)
      }
      return .goesOn(after: .after(delay, as: .pause, clock: clock, fileID: fileID, line: line))
    }
  }

  /// Calls `body` on the main actor until the future that it returns succeeds, with a delay between attempts.
  public static func retry(
    _ policy: BackOff, on _: MainExecutor, clock: any FutureClock = .system,
    fileID: String = #fileID, line: UInt = #line,
    _ body: @escaping @MainActor @Sendable (_ attempt: Int) throws -> Future
  ) -> Future {
    retry(policy, on: MainExecutor.executor, clock: clock, fileID: fileID, line: line) { attempt in
      try MainExecutor.assume { try body(attempt) }
    }
  }

  /// Begins attempts one after another, with a pause between them, until `next` returns an outcome.
  ///
  /// After a cancellation request, no further attempt begins, and `next` is not called. The future takes the outcome of the
  /// attempt in flight. If the request arrives during a pause, and the pause succeeds, the future completes as
  /// `.cancelled`. If the pause does not succeed, the future takes its outcome.
  ///
  /// - Parameters:
  ///   - begin: Receives the number of the attempt, counted from 1, and a closure that returns whether the future has
  ///     ended. It is called in the turn of the previous attempt or pause.
  ///   - next: Receives the number of an attempt that has completed, and its outcome.
  /// - Returns: A future that is a consumer of each attempt and each pause while it waits for it.
  /// - Complexity: O(1) memory and stack, for any number of attempts.
  @inlinable package static func attempts(
    _ begin: @escaping @Sendable (_ attempt: Int, _ isOver: @escaping @Sendable () -> Bool) -> Future,
    after next: @escaping @Sendable (_ attempt: Int, _ outcome: Outcome<Value>) -> AfterAttempt<Value>
  ) -> Future {
    // The slot waits for attempts and pauses in turn. The number of its ended inputs therefore identifies the input that
    // ended now.
    let rule = JoinNode<Value>.Rule { slot, input in
      let (half, remainder) = slot.endedInputCount.quotientAndRemainder(dividingBy: 2)
      let (attempt, isPause) = (half + remainder, remainder == 0)
      if isPause {
        switch input.endingOnceEnded {
        case .succeeded: break
        case .failed: return .ends(.failure(input.error))
        case .cancelled: return .ends(.cancelled(input.cancellationReason))
        }
        if let asked = slot.join.request { return .ends(.cancelled(asked.reason)) }
        let join = slot.join
        return .waitsFor(begin(attempt + 1) { join.ending != nil }.node)
      }
      let outcome = input.outcome(as: Value.self)
      guard slot.join.request == nil else { return .ends(outcome) }
      switch next(attempt, outcome) {
      case .ends(let outcome): return .ends(outcome)
      case .goesOn(let pause): return .waitsFor(pause.node)
      }
    }
    let join = JoinNode<Value>(.retry, rule: rule)
    for slot in join.makeSlots(1) { join.wait(in: slot, for: begin(1) { join.ending != nil }.node) }
    return Future(node: join)
  }
}

/// The decision after an attempt has completed.
@usableFromInline package enum AfterAttempt<Value: Sendable>: Sendable {
  case ends(Outcome<Value>)
  /// Another attempt begins when this future has succeeded.
  case goesOn(after: Future<Void>)
}

/// A policy for repeated attempts: the number of attempts and the delays between them.
///
/// ```swift
/// BackOff.exponential(attempts: 5, first: .milliseconds(200), limit: .seconds(10))
/// BackOff(attempts: 3) { attempt, error in error is Busy ? .seconds(attempt) : nil }
/// ```
public struct BackOff: Sendable {
  /// The maximum number of attempts, including the first.
  public let attempts: Int
  private let delayAfter: @Sendable (_ attempt: Int, _ error: any Error) -> Duration?

  /// Creates a custom policy.
  ///
  /// - Parameters:
  ///   - attempts: The maximum number of attempts, including the first.
  ///   - delay: Receives the number of the failed attempt, counted from 1, and its error. Returns the delay before the next
  ///     attempt, or `nil` to give up.
  public init(attempts: Int, delay: @escaping @Sendable (_ attempt: Int, _ error: any Error) -> Duration?) {
    self.attempts = attempts
    delayAfter = delay
  }

  /// Returns a policy with the same delay between all attempts.
  public static func constant(attempts: Int, delay: Duration = .zero) -> BackOff {
    BackOff(attempts: attempts) { _, _ in delay }
  }

  /// Returns a policy whose maximum delay doubles after each attempt, up to a limit.
  ///
  /// Each delay is a random fraction of the maximum, so clients that fail at the same moment do not retry at the same
  /// moment.
  ///
  /// - Parameters:
  ///   - attempts: The maximum number of attempts, including the first.
  ///   - first: The maximum delay after the first attempt. Defaults to 100 milliseconds.
  ///   - limit: The maximum delay after any attempt. Defaults to 30 seconds.
  ///   - random: Returns the fraction of the maximum to wait, from 0 to 1. Defaults to a uniform distribution. In tests,
  ///     pass `{ 1 }`.
  public static func exponential(
    attempts: Int, first: Duration = .milliseconds(100), limit: Duration = .seconds(30),
    random: @escaping @Sendable () -> Double = { .random(in: 0...1) }
  ) -> BackOff {
    BackOff(attempts: attempts) { attempt, _ in
      first.doubled(after: attempt, limit: limit).part(random())
    }
  }

  /// Returns the delay after a failed attempt, or `nil` to give up.
  func delay(after attempt: Int, error: any Error) -> Duration? {
    attempt < attempts ? delayAfter(attempt, error) : nil
  }
}
