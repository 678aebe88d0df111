/// How ours and theirs become one ratio.
public enum Reading: String, Equatable, Sendable, Codable {
  /// Their time over ours: more is better.
  case timesAsFast
  /// Our time over theirs: less is better.
  case timesTheCost
  /// What two threads get done in the time of one. Ours is the time of two threads over that of one, theirs the same of a
  /// spin loop, which gains 2 where two processors are free: more is better.
  case throughput
  /// Our number over theirs, counted and not timed: less is better.
  case timesAsMany

  public func ratio(ours: Double, theirs: Double) -> Double {
    switch self {
    case .timesAsFast: theirs / ours
    case .timesTheCost, .timesAsMany: ours / theirs
    case .throughput: 2 * theirs / ours
    }
  }

  /// What stands behind the ratio.
  public var words: String {
    switch self {
    case .timesAsFast: "times as fast"
    case .timesTheCost: "times the cost"
    case .throughput: "times the throughput"
    case .timesAsMany: "times as many"
    }
  }

  /// Whether repetitions differ, so that there is a spread.
  public var isTimed: Bool { self != .timesAsMany }

  public var isBetterHigher: Bool { self == .timesAsFast || self == .throughput }
}
