/// The time after which a ``Hedge`` sends its second request.
public struct HedgeDelay: Sendable, Hashable {
  enum Rule: Sendable, Hashable {
    case constant(Duration)
    case percentile(Double, minimum: Duration, samples: Int)
  }

  let rule: Rule

  /// The same time for each request. Values below 0 are treated as 0.
  public static func constant(_ delay: Duration) -> HedgeDelay {
    HedgeDelay(rule: .constant(max(.zero, delay).clampedToMaximumTimerDuration))
  }

  /// A percentile of the latest 128 response times of the origin.
  ///
  /// - Parameters:
  ///   - share: The share of responses that were faster, from 0 to 1. Other values are clamped, and NaN is treated as 1.
  ///   - minimum: The shortest delay. Defaults to 10 milliseconds. Values below 0 are treated as 0.
  ///   - samples: The number of responses that must be measured before a request is hedged. Defaults to 20. The value is clamped
  ///     to the range from 1 to 128.
  public static func percentile(
    _ share: Double, minimum: Duration = .milliseconds(10), samples: Int = 20
  ) -> HedgeDelay {
    let share = share.isNaN ? 1 : min(max(share, 0), 1)
    let minimum = max(.zero, minimum).clampedToMaximumTimerDuration
    return HedgeDelay(rule: .percentile(share, minimum: minimum, samples: min(max(samples, 1), LatencyWindow.limit)))
  }

  /// Whether the delay depends on measured times.
  var isAdaptive: Bool {
    if case .percentile = rule { true } else { false }
  }
}

/// A request option that determines whether ``Hedge`` can send the request a second time.
///
/// ```swift
/// report.isHedged = false  // The server takes long for each report.
/// ```
public enum RequestHedging: HTTPRequestOption {
  /// Requests that can be repeated are hedged.
  public static var defaultValue: Bool { true }
}

extension HTTPRequest {
  /// Whether `Hedge` may send a second request for this one.
  public var isHedged: Bool {
    get { self[option: RequestHedging.self] }
    set { self[option: RequestHedging.self] = newValue }
  }
}
