extension Future {
  /// Calls `body` until the future that it returns succeeds, and waits between the attempts.
  ///
  /// ```swift
  /// let user = Future.retry(.exponential(attempts: 3)) { attempt in api.user(1) }
  /// ```
  ///
  /// A failure is followed by the next attempt, until the policy gives up: then it is the failure of the future. A
  /// cancellation of an attempt passes. After a request to cancel there is no other attempt: it is forwarded to the attempt
  /// under way, whose failure then passes; between two attempts, the future is `.cancelled` at once.
  ///
  /// - Parameters:
  ///   - policy: how many attempts there are, and what lies between them.
  ///   - executor: where `body` runs.
  ///   - clock: what measures the time between attempts.
  ///   - fileID: the file of the call, for the error.
  ///   - line: the line of the call, for the error.
  ///   - body: gets the number of the attempt, counted from 1. What it throws is a failure of the attempt.
  /// - Returns: a consumer of each attempt while it waits for it.
  /// - Complexity: O(1) memory, however many attempts there are.
  public static func retry(
    _ policy: BackOff, on executor: FutureExecutor = .immediate, clock: any FutureClock = .system,
    fileID: String = #fileID, line: UInt = #line, _ body: @escaping @Sendable (_ attempt: Int) throws -> Future
  ) -> Future {
    guard policy.attempts > 0 else {
      let problem = "the policy allows \(policy.attempts) attempts, so that nothing could begin. Allow 1 or more."
      return .failed(InvalidArgument("retry(_:)", problem, fileID: fileID, line: line))
    }
    return attempts { attempt, isOver in
      Future<Int>.succeeded(attempt).flatMapNode(.work, executor) { attempt in
        // The future may have ended while an executor had the body.
        if isOver() { throw CancellationError() }
        return try body(attempt)
      }
    } after: { attempt, outcome in
      guard case .failure(let error) = outcome, let delay = policy.delay(after: attempt, error: error) else {
        return .ends(outcome)
      }
      return .goesOn(after: .after(delay, clock: clock, fileID: fileID, line: line))
    }
  }

  /// Calls `body` on the main actor until the future that it returns succeeds, and waits between the attempts.
  public static func retry(
    _ policy: BackOff, on _: MainExecutor, clock: any FutureClock = .system,
    fileID: String = #fileID, line: UInt = #line,
    _ body: @escaping @MainActor @Sendable (_ attempt: Int) throws -> Future
  ) -> Future {
    retry(policy, on: MainExecutor.executor, clock: clock, fileID: fileID, line: line) { attempt in
      try MainExecutor.assume { try body(attempt) }
    }
  }

  /// Begins one attempt after another, with a pause between two of them, until `next` answers with an outcome.
  ///
  /// After a request to cancel there is no other attempt, and `next` is not called: the outcome of the attempt under way
  /// passes, and a pause that ends all the same ends as `.cancelled`. A pause that does not succeed passes its outcome.
  ///
  /// - Parameters:
  ///   - begin: Gets the number of the attempt, counted from 1, and a closure that says whether the future has ended. It is
  ///     called in the turn of the attempt or the pause before.
  ///   - next: gets the number of an attempt that has ended, and its outcome.
  /// - Returns: a consumer of each attempt and of each pause while it waits for it.
  /// - Complexity: O(1) memory and stack, however many attempts there are.
  @inlinable package static func attempts(
    _ begin: @escaping @Sendable (_ attempt: Int, _ isOver: @escaping @Sendable () -> Bool) -> Future,
    after next: @escaping @Sendable (_ attempt: Int, _ outcome: Outcome<Value>) -> AfterAttempt<Value>
  ) -> Future {
    // The slot waits for an attempt, then for a pause, then for the next attempt, and so on. So the number of its ended inputs
    // identifies the input that has ended.
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

/// What comes after an attempt that has ended.
@usableFromInline package enum AfterAttempt<Value: Sendable>: Sendable {
  case ends(Outcome<Value>)
  /// Another attempt, when this has succeeded.
  case goesOn(after: Future<Void>)
}

/// How often something is tried, and how long to wait in between.
///
/// ```swift
/// BackOff.exponential(attempts: 5, first: .milliseconds(200), limit: .seconds(10))
/// BackOff(attempts: 3) { attempt, error in error is Busy ? .seconds(attempt) : nil }
/// ```
public struct BackOff: Sendable {
  /// How many attempts there are at most, the first included.
  public let attempts: Int
  private let delayAfter: @Sendable (_ attempt: Int, _ error: any Error) -> Duration?

  /// A policy of your own.
  ///
  /// - Parameters:
  ///   - attempts: how many attempts there are at most, the first included.
  ///   - delay: gets the number of the attempt that failed, counted from 1, and its error. Returns how long to wait before
  ///     the next, or nil to give up.
  public init(attempts: Int, delay: @escaping @Sendable (_ attempt: Int, _ error: any Error) -> Duration?) {
    self.attempts = attempts
    delayAfter = delay
  }

  /// The same time between all attempts.
  public static func constant(attempts: Int, delay: Duration = .zero) -> BackOff {
    BackOff(attempts: attempts) { _, _ in delay }
  }

  /// Twice the time after each attempt, up to a limit; of that, a random part is waited, so that many clients that failed
  /// at the same moment do not come back at the same moment.
  ///
  /// - Parameters:
  ///   - attempts: how many attempts there are at most, the first included.
  ///   - first: the longest time after the first attempt.
  ///   - limit: the longest time after any.
  ///   - random: returns which part of the time is waited, from 0 to 1; by default all parts are as likely. Tests pass
  ///     `{ 1 }`.
  public static func exponential(
    attempts: Int, first: Duration = .milliseconds(100), limit: Duration = .seconds(30),
    random: @escaping @Sendable () -> Double = { .random(in: 0...1) }
  ) -> BackOff {
    BackOff(attempts: attempts) { attempt, _ in
      let longest = first.doubled(after: attempt, limit: limit)
      // A product with a fraction is rounded.
      return min(longest, longest * random())
    }
  }

  /// How long to wait after this attempt has failed; nil to give up.
  func delay(after attempt: Int, error: any Error) -> Duration? {
    attempt < attempts ? delayAfter(attempt, error) : nil
  }
}
