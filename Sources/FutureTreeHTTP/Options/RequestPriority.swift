/// A request option that sets the priority of the request among queued requests.
///
/// ```swift
/// request.priority = .high
/// ```
///
/// A load that `Coalesce` or `CacheResponses` shares has the highest priority of the callers that have not detached. The priority
/// has no effect on requests in flight. `Throttle` describes how waiting time raises a priority.
public struct RequestPriority: HTTPRequestOption, Sendable, Hashable, Comparable {
  /// The level, from 0 (lowest).
  let level: Int

  /// The priority for requests whose result is not needed yet, such as a prefetch.
  public static let lowest = RequestPriority(level: 0)
  /// The priority for requests that can wait.
  public static let low = RequestPriority(level: 1)
  /// The default priority.
  public static let normal = RequestPriority(level: 2)
  /// The priority for requests whose result a user is waiting for.
  public static let high = RequestPriority(level: 3)
  /// The priority for requests that all others depend on, such as a token refresh.
  public static let highest = RequestPriority(level: 4)

  /// Defaults to `normal`.
  public static var defaultValue: RequestPriority { .normal }

  /// The number of priorities.
  static let levelCount = 5

  public static func < (first: RequestPriority, second: RequestPriority) -> Bool { first.level < second.level }
}

extension HTTPRequest {
  /// The priority of this request in the queue of `Throttle`.
  public var priority: RequestPriority {
    get { self[option: RequestPriority.self] }
    set { self[option: RequestPriority.self] = newValue }
  }
}

extension RequestPriority: CustomStringConvertible {
  /// The name of the priority, such as `high`.
  public var description: String { ["lowest", "low", "normal", "high", "highest"][level] }
}

/// A request option that determines whether the request bypasses the queue of a `Throttle`. Such a request counts as
/// running and takes a token of the rate, but it never waits, not even while the throttle is paused.
///
/// ```swift
/// refresh.bypassesThrottle = true  // The requests that wait for the token fill the throttle.
/// ```
public enum BypassesThrottle: HTTPRequestOption {
  /// Defaults to `false`: the request waits for its turn.
  public static var defaultValue: Bool { false }
}

extension HTTPRequest {
  /// Whether this request begins at once, without waiting in the queue of `Throttle`.
  public var bypassesThrottle: Bool {
    get { self[option: BypassesThrottle.self] }
    set { self[option: BypassesThrottle.self] = newValue }
  }
}
