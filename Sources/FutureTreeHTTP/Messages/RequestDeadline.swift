import FutureTree

/// The moment by which a request must have its answer. It travels with the request through every layer.
///
/// ```swift
/// request[option: RequestDeadline.self] = .after(.seconds(10))
/// api.load(request)  // A retry or a queue that cannot meet it fails at once, with the code `deadlineExceeded`.
/// ```
///
/// A span would begin anew in each layer; a moment does not. `Timeout` sets one, and ends what is not there by then.
public struct HTTPDeadline: Sendable {
  /// What tells the time.
  public let clock: any FutureClock
  /// The moment, as the clock counts.
  public let instant: Duration

  /// A moment of a clock.
  public init(_ instant: Duration, of clock: any FutureClock) {
    self.clock = clock
    self.instant = instant
  }

  /// The moment when `duration` has passed from now.
  public static func after(_ duration: Duration, clock: any FutureClock = .system) -> HTTPDeadline {
    HTTPDeadline(clock.now + duration.withinTime, of: clock)
  }

  /// How much time is left; zero or less when it is over.
  public var remaining: Duration { instant.withinTime - clock.now }

  /// Whether the time is over, or would be after `duration`.
  public func isExceeded(after duration: Duration = .zero) -> Bool { remaining <= duration }
}

/// The deadline of a request.
public enum RequestDeadline: HTTPRequestOption {
  /// None.
  public static var defaultValue: HTTPDeadline? { nil }
}

extension Duration {
  /// The same, but no more seconds in either direction than an `Int64` counts, so that a sum has room.
  fileprivate var withinTime: Duration { min(max(self, .seconds(Int64.min)), .seconds(Int64.max)) }
}
