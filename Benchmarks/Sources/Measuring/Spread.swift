/// The median and the quartiles of some numbers.
public struct Spread: Equatable, Sendable, Codable {
  public let lowerQuartile: Double
  public let median: Double
  public let upperQuartile: Double

  /// - Precondition: `numbers` is not empty.
  public init(of numbers: [Double]) {
    let sorted = numbers.sorted()
    lowerQuartile = Spread.quantile(0.25, of: sorted)
    median = Spread.quantile(0.5, of: sorted)
    upperQuartile = Spread.quantile(0.75, of: sorted)
  }

  /// Interpolates between the two nearest numbers.
  private static func quantile(_ part: Double, of sorted: [Double]) -> Double {
    let position = part * Double(sorted.count - 1)
    let below = Int(position)
    let above = min(below + 1, sorted.count - 1)
    return sorted[below] + (sorted[above] - sorted[below]) * (position - Double(below))
  }
}
