/// The minimum and the goal of a row.
public struct Threshold: Equatable, Sendable {
  public let atLeast: Double
  public let goal: Double
  /// Whether the threshold applies to our figure instead of the ratio.
  public let isOfOurs: Bool

  public init(atLeast: Double, goal: Double, isOfOurs: Bool = false) {
    self.atLeast = atLeast
    self.goal = goal
    self.isOfOurs = isOfOurs
  }

  /// The result of comparing a row with its threshold.
  public enum Verdict: String, Equatable, Sendable {
    case missed = "MISSED"
    case atLeast = "at least"
    case goal
  }

  public func verdict(on result: RowResult) -> Verdict {
    // Compares the printed number: a ratio printed as 2.00 has reached 2.
    let number = ((isOfOurs ? result.ours : result.ratio.median) * 100).rounded() / 100
    func isReached(_ threshold: Double) -> Bool {
      result.reading.isBetterHigher ? number >= threshold : number <= threshold
    }
    return isReached(goal) ? .goal : isReached(atLeast) ? .atLeast : .missed
  }
}
