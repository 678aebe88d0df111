import FutureTree

/// The instant by which a request must complete. The request carries it through every layer.
///
/// ```swift
/// request.deadline = .after(.seconds(10))
/// api.load(request)  // A retry or a queue that cannot meet it fails at once, with the code `deadlineExceeded`.
/// ```
///
/// A duration would start again in each layer; a deadline does not. `Timeout` sets a deadline, and fails loads that
/// have not completed by then.
public struct HTTPDeadline: Sendable {
  /// The clock of the deadline.
  public let clock: any FutureClock
  /// The instant on the clock.
  public let instant: Duration

  /// Creates a deadline at an instant of a clock.
  public init(_ instant: Duration, of clock: any FutureClock) {
    self.clock = clock
    self.instant = instant
  }

  /// Returns a deadline at `duration` from now.
  public static func after(_ duration: Duration, clock: any FutureClock = .system) -> HTTPDeadline {
    HTTPDeadline(clock.now + duration.withinTime, of: clock)
  }

  /// The remaining time. Zero or negative after the deadline.
  public var remaining: Duration { instant.withinTime - clock.now }

  /// Returns whether the deadline has passed, or will have passed after `duration`.
  public func isExceeded(after duration: Duration = .zero) -> Bool { remaining <= duration }
}

/// The deadline of a request.
public enum RequestDeadline: HTTPRequestOption {
  /// No deadline.
  public static var defaultValue: HTTPDeadline? { nil }
}

extension HTTPRequest {
  /// The instant by which this request must complete.
  public var deadline: HTTPDeadline? {
    get { self[option: RequestDeadline.self] }
    set { self[option: RequestDeadline.self] = newValue }
  }
}

extension Duration {
  /// The duration, limited to the seconds that an `Int64` can count, so that a sum does not overflow.
  fileprivate var withinTime: Duration { min(max(self, .seconds(Int64.min)), .seconds(Int64.max)) }
}
