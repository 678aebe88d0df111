/// How the figures of both sides form one ratio.
public enum Reading: String, Equatable, Sendable, Codable {
  /// Their time divided by ours. More is better.
  case timesAsFast
  /// Our time divided by theirs. Less is better.
  case timesTheCost
  /// The work that two threads complete in the time of one. Our figure is the time of two threads divided by the time of one.
  /// Theirs is the same ratio of a spin loop, which gains 2 if two processors are free. More is better.
  case throughput
  /// Our count divided by theirs. Less is better.
  case timesAsMany

  public func ratio(ours: Double, theirs: Double) -> Double {
    switch self {
    case .timesAsFast: theirs / ours
    case .timesTheCost, .timesAsMany: ours / theirs
    case .throughput: 2 * theirs / ours
    }
  }

  /// The words after the ratio.
  public var words: String {
    switch self {
    case .timesAsFast: "times as fast"
    case .timesTheCost: "times the cost"
    case .throughput: "times the throughput"
    case .timesAsMany: "times as many"
    }
  }

  /// Whether repetitions differ, so that the ratio has a spread.
  public var isTimed: Bool { self != .timesAsMany }

  public var isBetterHigher: Bool { self == .timesAsFast || self == .throughput }
}
