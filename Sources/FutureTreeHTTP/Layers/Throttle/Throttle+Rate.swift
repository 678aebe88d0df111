import FutureTree

extension Throttle {
  /// How many requests may begin in a time: a bucket of tokens, of which each request takes one.
  ///
  /// ```swift
  /// Throttle.Rate(100, per: .seconds(60))           // Up to 100 at once, and then one every 0.6 seconds.
  /// Throttle.Rate(100, per: .seconds(60), burst: 1)  // One every 0.6 seconds from the beginning.
  /// ```
  ///
  /// The bucket is full at first, with `burst` tokens, and fills by `count` tokens in each `duration`. So never more than
  /// `burst` and `count` requests begin in one `duration`.
  public struct Rate: Sendable, Hashable {
    /// How many tokens come in a `duration`.
    public let count: Int
    /// The time in which they come, evenly.
    public let duration: Duration
    /// How many tokens there are at most.
    public let burst: Int

    /// - Parameters:
    ///   - count: how many tokens come in a `duration`: from 1 to 1,000,000,000. What is outside counts as the nearest.
    ///   - duration: the time in which they come, from a nanosecond to a century. What is outside counts as the nearest.
    ///   - burst: how many tokens there are at most, in the same bounds as `count`; as many as `count` if nothing is said.
    public init(_ count: Int, per duration: Duration = .seconds(1), burst: Int? = nil) {
      self.count = Rate.bounded(count)
      self.duration = min(max(duration, .nanoseconds(1)), .century)
      self.burst = Rate.bounded(burst ?? count)
    }

    /// So that the products of the bucket have room.
    private static func bounded(_ count: Int) -> Int { min(max(count, 1), 1_000_000_000) }
  }
}
