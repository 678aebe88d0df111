import FutureTree

extension Throttle {
  /// A rate limit: a token bucket from which each request takes one token.
  ///
  /// ```swift
  /// Throttle.Rate(100, per: .seconds(60))           // Up to 100 at once, then one every 0.6 seconds.
  /// Throttle.Rate(100, per: .seconds(60), burst: 1)  // One every 0.6 seconds from the start.
  /// ```
  ///
  /// The bucket begins full, with `burst` tokens, and gains `count` tokens in each `duration`. At most `burst + count`
  /// requests begin in one `duration`.
  public struct Rate: Sendable, Hashable {
    /// The number of tokens added in a `duration`.
    public let count: Int
    /// The time during which `count` tokens are added at a constant rate.
    public let duration: Duration
    /// The maximum number of tokens in the bucket.
    public let burst: Int

    /// Creates a rate limit.
    ///
    /// - Parameters:
    ///   - count: The number of tokens added in a `duration`, from 1 to 1,000,000,000. Values outside this range are
    ///     clamped.
    ///   - duration: The time in which the tokens are added, from one nanosecond to 100 years. Defaults to 1 second.
    ///     Values outside this range are clamped.
    ///   - burst: The maximum number of tokens in the bucket, with the same bounds as `count`. Defaults to `count`.
    public init(_ count: Int, per duration: Duration = .seconds(1), burst: Int? = nil) {
      self.count = Rate.bounded(count)
      self.duration = min(max(duration, .nanoseconds(1)), .century)
      self.burst = Rate.bounded(burst ?? count)
    }

    /// Limits the count, so that products of the bucket do not overflow.
    private static func bounded(_ count: Int) -> Int { min(max(count, 1), 1_000_000_000) }
  }
}
