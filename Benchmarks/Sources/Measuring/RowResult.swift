/// The result of one row.
public struct RowResult: Equatable, Sendable, Codable {
  public let work: String
  public let peer: String
  public let reading: Reading
  /// The unit of both figures, such as "link".
  public let unit: String
  public let ratio: Spread
  /// The median of our nanoseconds per unit, or the count.
  public let ours: Double
  public let theirs: Double

  /// - Parameter rounds: The figures of both sides in each round.
  public init(
    work: String, peer: String, reading: Reading, unit: String, rounds: [(ours: Double, theirs: Double)]
  ) {
    self.work = work
    self.peer = peer
    self.reading = reading
    self.unit = unit
    ratio = Spread(of: rounds.map { reading.ratio(ours: $0.ours, theirs: $0.theirs) })
    ours = Spread(of: rounds.map(\.ours)).median
    theirs = Spread(of: rounds.map(\.theirs)).median
  }
}

extension RowResult {
  /// The head of the table for `cells`.
  public static let head = ["work", "against", "ratio", "quartiles", "ours", "theirs", "per"]

  public var cells: [String] {
    [
      work, peer, "\(ratio.median.ratioText) \(reading.words)",
      reading.isTimed ? "\(ratio.lowerQuartile.ratioText)–\(ratio.upperQuartile.ratioText)" : "counted",
      text(of: ours), text(of: theirs), unit,
    ]
  }

  private func text(of number: Double) -> String {
    switch reading {
    case .timesAsFast, .timesTheCost: "\(number.fixed(number < 100 ? 1 : 0)) ns"
    case .throughput: number.fixed(2)
    case .timesAsMany: number.fixed(number == number.rounded() ? 0 : 2)
    }
  }
}

extension Double {
  /// The text of a ratio in the table.
  public var ratioText: String { fixed(self < 10 ? 2 : 1) }

  /// Formats the number with this many decimal digits, without Foundation.
  public func fixed(_ digits: Int) -> String {
    guard isFinite else { return "\(self)" }
    let scale = (0..<digits).reduce(1) { scale, _ in scale * 10 }
    let scaled = Int((magnitude * Double(scale)).rounded())
    let sign = self < 0 && scaled != 0 ? "-" : ""
    guard digits > 0 else { return "\(sign)\(scaled)" }
    let fraction = String(scaled % scale)
    return "\(sign)\(scaled / scale)." + String(repeating: "0", count: digits - fraction.count) + fraction
  }
}
