/// The middle of some numbers, and how far they spread.
public struct Spread: Equatable, Sendable, Codable {
  public let lowerQuartile: Double
  public let median: Double
  public let upperQuartile: Double

  /// - Precondition: there is a number.
  public init(of numbers: [Double]) {
    let sorted = numbers.sorted()
    lowerQuartile = Spread.quantile(0.25, of: sorted)
    median = Spread.quantile(0.5, of: sorted)
    upperQuartile = Spread.quantile(0.75, of: sorted)
  }

  /// Between two numbers, in proportion to how near they are.
  private static func quantile(_ part: Double, of sorted: [Double]) -> Double {
    let position = part * Double(sorted.count - 1)
    let below = Int(position)
    let above = min(below + 1, sorted.count - 1)
    return sorted[below] + (sorted[above] - sorted[below]) * (position - Double(below))
  }
}
