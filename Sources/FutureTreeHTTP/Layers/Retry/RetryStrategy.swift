import FutureTree

/// A strategy that decides whether a request is retried, and after which delay.
///
/// ```swift
/// Retry(.exponential(attempts: 5, first: .milliseconds(100), limit: .seconds(10)))
/// Retry(.constant(.seconds(1), attempts: 2) { context in context.status?.code == 503 })
/// Retry(RetryStrategy { context in context.attempt < 3 ? .seconds(context.attempt) : nil })
/// ```
public struct RetryStrategy: Sendable {
  private let decide: @Sendable (RetryContext) -> Duration?

  /// Creates a strategy from a closure.
  ///
  /// - Parameter delay: The closure that returns the delay before the next attempt, or `nil` for no further attempt.
  ///   Values below 0 are treated as 0. It is called outside every lock.
  public init(_ delay: @escaping @Sendable (RetryContext) -> Duration?) {
    decide = delay
  }

  /// Three attempts for retryable requests, with exponential delays.
  public static let `default` = RetryStrategy.exponential()

  /// One attempt.
  public static let never = RetryStrategy { _ in nil }

  /// Returns a strategy without delays.
  ///
  /// - Parameters:
  ///   - attempts: The maximum number of attempts, including the first. Defaults to 3. Values below 1 are treated as 1.
  ///   - isRetryable: Whether an attempt is retried. Defaults to `RetryContext.isRetryable`.
  public static func immediately(
    attempts: Int = 3, when isRetryable: @escaping @Sendable (RetryContext) -> Bool = { $0.isRetryable }
  ) -> RetryStrategy {
    constant(.zero, attempts: attempts, when: isRetryable)
  }

  /// Returns a strategy with a constant delay.
  ///
  /// - Parameters:
  ///   - delay: The delay.
  ///   - attempts: The maximum number of attempts, including the first. Defaults to 3. Values below 1 are treated as 1.
  ///   - isRetryable: Whether an attempt is retried. Defaults to `RetryContext.isRetryable`.
  public static func constant(
    _ delay: Duration, attempts: Int = 3,
    when isRetryable: @escaping @Sendable (RetryContext) -> Bool = { $0.isRetryable }
  ) -> RetryStrategy {
    RetryStrategy { context in context.attempt < attempts && isRetryable(context) ? delay : nil }
  }

  /// Returns a strategy with exponential delays and full jitter. The maximum delay doubles after each attempt, up to a
  /// limit. The actual delay is a random part of it, so that clients that failed together do not retry together.
  ///
  /// - Parameters:
  ///   - attempts: The maximum number of attempts, including the first. Defaults to 3. Values below 1 are treated as 1.
  ///   - first: The maximum delay after the first attempt. Defaults to 0.25 seconds.
  ///   - limit: The maximum delay after any attempt. Defaults to 20 seconds.
  ///   - isRetryable: Whether an attempt is retried. Defaults to `RetryContext.isRetryable`.
  public static func exponential(
    attempts: Int = 3, first: Duration = .milliseconds(250), limit: Duration = .seconds(20),
    when isRetryable: @escaping @Sendable (RetryContext) -> Bool = { $0.isRetryable }
  ) -> RetryStrategy {
    let limit = limit.clampedToMaximumTimerDuration
    return RetryStrategy { context in
      guard context.attempt < attempts, isRetryable(context) else { return nil }
      let longest = first.clampedToMaximumTimerDuration.doubled(after: context.attempt, limit: limit)
      return longest.part(context.random.fraction())
    }
  }

  /// Returns the delay before the next attempt, or `nil` for no further attempt.
  func delay(after context: RetryContext) -> Duration? { decide(context) }
}

/// The retry strategy of one request, which replaces the strategy of the layer.
///
/// ```swift
/// request.retry = .never
/// ```
public enum RequestRetry: HTTPRequestOption {
  /// `nil`: the layer uses its own strategy.
  public static var defaultValue: RetryStrategy? { nil }
}

extension HTTPRequest {
  /// The strategy of this request, which replaces that of `Retry` and `Resume`.
  public var retry: RetryStrategy? {
    get { self[option: RequestRetry.self] }
    set { self[option: RequestRetry.self] = newValue }
  }
}
