/// How soon a request goes on where requests wait for a place, as an option of the request.
///
/// ```swift
/// request[option: RequestPriority.self] = .high
/// ```
///
/// It orders what waits, and stops nothing that is under way. `Throttle` says how waiting makes up for a lower priority.
public struct RequestPriority: HTTPRequestOption, Sendable, Hashable, Comparable {
  /// From 0, the lowest.
  let level: Int

  /// For what nobody waits for, such as a prefetch.
  public static let lowest = RequestPriority(level: 0)
  /// For what can wait.
  public static let low = RequestPriority(level: 1)
  /// Where nothing else is said.
  public static let normal = RequestPriority(level: 2)
  /// For what somebody looks at.
  public static let high = RequestPriority(level: 3)
  /// For what all others depend on, such as a token.
  public static let highest = RequestPriority(level: 4)

  /// Where nothing else is said.
  public static var defaultValue: RequestPriority { .normal }

  /// How many there are.
  static let levelCount = 5

  public static func < (first: RequestPriority, second: RequestPriority) -> Bool { first.level < second.level }
}

extension RequestPriority: CustomStringConvertible {
  /// Such as `high`.
  public var description: String { ["lowest", "low", "normal", "high", "highest"][level] }
}

/// Whether a request passes by the queue of a `Throttle`: it is counted among those that run, takes a token of the rate, and
/// never waits, not even for a pause.
///
/// ```swift
/// refresh[option: BypassesThrottle.self] = true  // The requests that wait for the token have all the places.
/// ```
public enum BypassesThrottle: HTTPRequestOption {
  /// It waits for a place.
  public static var defaultValue: Bool { false }
}
