/// The costs of one operation of each work, by work and measure.
///
/// In a file, each figure is a line of three words, such as `chain instructions 645.2`. Lines that begin with `#` are skipped.
public struct Figures: Equatable, Sendable {
  public struct Figure: Equatable, Sendable {
    public let work: String
    /// The counted unit, such as "blocks".
    public let measure: String
    public let value: Double

    public init(work: String, measure: String, value: Double) {
      self.work = work
      self.measure = measure
      self.value = value
    }
  }

  public private(set) var all: [Figure]

  public init(_ all: [Figure]) {
    self.all = all
  }

  /// Parses the lines of a file.
  public init(reading text: String) throws {
    all = try text.split(whereSeparator: \.isNewline).filter { !$0.hasPrefix("#") }.map { line in
      let words = line.split(separator: " ")
      guard words.count == 3, let value = Double(words[2]) else { throw UnreadableLine(line: String(line)) }
      return Figure(work: String(words[0]), measure: String(words[1]), value: value)
    }
  }

  public func value(of work: String, _ measure: String) -> Double? {
    all.first { $0.work == work && $0.measure == measure }?.value
  }
}

/// The error of a line that is not a figure.
public struct UnreadableLine: Error, Equatable, CustomStringConvertible {
  public let line: String

  public var description: String {
    "Not a figure: \"\(line)\". A line is a work, a measure and a number, such as: chain blocks 1"
  }
}
