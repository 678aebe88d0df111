/// The rate of failures that opens a circuit of a ``CircuitBreaker``.
///
/// ```swift
/// let breaker = CircuitBreaker(CircuitThreshold(rate: 0.8, of: 20, in: .seconds(10)))
/// ```
///
/// The rate is computed over the results of the last `duration`, at most the last `limit` of them. It opens the circuit if there
/// are at least `minimum` results.
public struct CircuitThreshold: Sendable, Hashable {
  /// The share of failures, from 0 to 1.
  public let rate: Double
  /// The number of results that are necessary to open the circuit.
  public let minimum: Int
  /// The age of the oldest result that counts.
  public let duration: Duration
  /// The maximum number of results that count.
  public let limit: Int

  /// Creates a threshold.
  ///
  /// - Parameters:
  ///   - rate: The share of failures. It is clamped to the range from 0 to 1. NaN is treated as 1. Defaults to 0.5. With 0, one
  ///     failure among `minimum` results is sufficient.
  ///   - minimum: The number of results that are necessary to open the circuit. Values below 1 are treated as 1. Defaults to 10.
  ///   - duration: The age of the oldest result that counts. Values below 0 are treated as 0. Defaults to 30 seconds.
  ///   - limit: The maximum number of results that count. Values below `minimum` are treated as `minimum`. Defaults to 100.
  public init(rate: Double = 0.5, of minimum: Int = 10, in duration: Duration = .seconds(30), limit: Int = 100) {
    self.rate = rate.isNaN ? 1 : min(max(rate, 0), 1)
    self.minimum = max(minimum, 1)
    self.duration = max(duration, .zero)
    self.limit = max(limit, self.minimum)
  }
}

/// The latest results of one origin. Pure: reads no clock.
struct CircuitWindow {
  private struct Sample {
    let time: Duration
    let isFailure: Bool
  }

  /// The results, the oldest first, from `start` on.
  private var samples: [Sample] = []
  private var start = 0
  private var failures = 0

  private var count: Int { samples.count - start }

  /// Adds a result. Returns whether the rate of failures has reached the threshold.
  mutating func add(isFailure: Bool, at now: Duration, _ threshold: CircuitThreshold) -> Bool {
    samples.append(Sample(time: now, isFailure: isFailure))
    if isFailure { failures += 1 }
    while count > threshold.limit || samples[start].time < now - threshold.duration { removeOldest() }
    if start > 32, start > samples.count / 2 {
      samples.removeFirst(start)
      start = 0
    }
    guard isFailure, count >= threshold.minimum else { return false }
    return Double(failures) >= threshold.rate * Double(count)
  }

  private mutating func removeOldest() {
    if samples[start].isFailure { failures -= 1 }
    start += 1
  }
}
