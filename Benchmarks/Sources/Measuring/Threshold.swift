/// What a row must reach, and what it should.
public struct Threshold: Equatable, Sendable {
  public let atLeast: Double
  public let goal: Double
  /// Whether they are of our own number, and not of the ratio.
  public let isOfOurs: Bool

  public init(atLeast: Double, goal: Double, isOfOurs: Bool = false) {
    self.atLeast = atLeast
    self.goal = goal
    self.isOfOurs = isOfOurs
  }

  /// How far a row came.
  public enum Verdict: String, Equatable, Sendable {
    case missed = "MISSED"
    case atLeast = "at least"
    case goal
  }

  public func verdict(on result: RowResult) -> Verdict {
    // As it is printed: a ratio that reads 2.00 has reached 2.
    let number = ((isOfOurs ? result.ours : result.ratio.median) * 100).rounded() / 100
    func isReached(_ threshold: Double) -> Bool {
      result.reading.isBetterHigher ? number >= threshold : number <= threshold
    }
    return isReached(goal) ? .goal : isReached(atLeast) ? .atLeast : .missed
  }
}
