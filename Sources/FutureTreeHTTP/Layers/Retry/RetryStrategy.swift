import FutureTree

/// Whether a request is tried again, and after what time.
///
/// ```swift
/// Retry(.exponential(attempts: 5, first: .milliseconds(100), limit: .seconds(10)))
/// Retry(.constant(.seconds(1), attempts: 2) { context in context.status?.code == 503 })
/// Retry(RetryStrategy { context in context.attempt < 3 ? .seconds(context.attempt) : nil })
/// ```
public struct RetryStrategy: Sendable {
  private let decide: @Sendable (RetryContext) -> Duration?

  /// A strategy of your own.
  ///
  /// - Parameter delay: returns how long to wait before the next attempt, or nil if there is to be none; less than zero is
  ///   zero. It is called under no lock.
  public init(_ delay: @escaping @Sendable (RetryContext) -> Duration?) {
    decide = delay
  }

  /// Three attempts of what is worth another, with a back-off that doubles.
  public static let `default` = RetryStrategy.exponential()

  /// One attempt.
  public static let never = RetryStrategy { _ in nil }

  /// The next attempt begins at once.
  ///
  /// - Parameters:
  ///   - attempts: how many there are at most, the first included; less than one is one.
  ///   - isRetryable: what is tried again.
  public static func immediately(
    attempts: Int = 3, when isRetryable: @escaping @Sendable (RetryContext) -> Bool = { $0.isRetryable }
  ) -> RetryStrategy {
    constant(.zero, attempts: attempts, when: isRetryable)
  }

  /// The same time between all attempts.
  ///
  /// - Parameters:
  ///   - delay: how long that is.
  ///   - attempts: how many there are at most, the first included; less than one is one.
  ///   - isRetryable: what is tried again.
  public static func constant(
    _ delay: Duration, attempts: Int = 3,
    when isRetryable: @escaping @Sendable (RetryContext) -> Bool = { $0.isRetryable }
  ) -> RetryStrategy {
    RetryStrategy { context in context.attempt < attempts && isRetryable(context) ? delay : nil }
  }

  /// A random part of a time that doubles after each attempt, up to a limit (*full jitter*): many clients that failed at one
  /// moment do not come back at one moment.
  ///
  /// - Parameters:
  ///   - attempts: how many there are at most, the first included; less than one is one.
  ///   - first: the longest time after the first attempt.
  ///   - limit: the longest time after any.
  ///   - isRetryable: what is tried again.
  public static func exponential(
    attempts: Int = 3, first: Duration = .milliseconds(250), limit: Duration = .seconds(20),
    when isRetryable: @escaping @Sendable (RetryContext) -> Bool = { $0.isRetryable }
  ) -> RetryStrategy {
    let limit = limit.clampedToMaximumTimerDuration
    return RetryStrategy { context in
      guard context.attempt < attempts, isRetryable(context) else { return nil }
      let longest = first.clampedToMaximumTimerDuration.doubled(after: context.attempt, limit: limit)
      // A product with a fraction is rounded.
      return min(longest, longest * context.random.fraction())
    }
  }

  /// How long to wait; nil for no other attempt.
  func delay(after context: RetryContext) -> Duration? { decide(context) }
}

/// Which strategy one request has, in place of that of the layer.
///
/// ```swift
/// request[option: RequestRetry.self] = .never
/// ```
public enum RequestRetry: HTTPRequestOption {
  /// The layer decides.
  public static var defaultValue: RetryStrategy? { nil }
}
