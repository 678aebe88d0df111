/// The changes of figures since their baseline.
public struct Comparison: Sendable {
  /// A figure before and now.
  public struct Change: Equatable, Sendable {
    public let work: String
    public let measure: String
    public let before: Double
    public let now: Double

    /// The growth as a fraction of the previous figure. Infinite if the previous figure is 0.
    public var growth: Double {
      if before == now { return 0 }
      return before == 0 ? .infinity : now / before - 1
    }
  }

  public let changes: [Change]
  /// The figures of the baseline that were not measured.
  public let unmeasured: [Figures.Figure]
  /// The measured figures without a baseline.
  public let unknown: [Figures.Figure]
  /// The permitted growth of a figure, as a fraction.
  public let tolerance: Double

  public init(of measured: Figures, with baseline: Figures, tolerance: Double = 0.05) {
    self.tolerance = tolerance
    changes = measured.all.compactMap { figure in
      baseline.value(of: figure.work, figure.measure).map {
        Change(work: figure.work, measure: figure.measure, before: $0, now: figure.value)
      }
    }
    unmeasured = baseline.all.filter { measured.value(of: $0.work, $0.measure) == nil }
    unknown = measured.all.filter { baseline.value(of: $0.work, $0.measure) == nil }
  }

  /// The changes that exceed the permitted growth.
  public var grown: [Change] { changes.filter { $0.now > $0.before * (1 + tolerance) } }

  /// The decreases that exceed the same fraction, so that the baseline should be renewed.
  public var fallen: [Change] { changes.filter { $0.now < $0.before * (1 - tolerance) } }

  public var isPassed: Bool { grown.isEmpty && unknown.isEmpty }

  /// A report with one line for each change.
  public var report: String {
    var lines = changes.map { "\($0.work): \($0.now.short) \($0.measure), \($0.growth.percentage)" }
    lines += unmeasured.map { "\($0.work): not measured, it had \($0.value.short) \($0.measure)" }
    lines += fallen.map {
      "\($0.work) needs less: \($0.measure) \($0.before.short) -> \($0.now.short). Renew the figures."
    }
    lines += unknown.map { "NO FIGURE for \($0.work): \($0.value.short) \($0.measure)" }
    lines += grown.map {
      "GREW: \($0.measure) of \($0.work), from \($0.before.short) to \($0.now.short) (\($0.growth.percentage))"
    }
    return lines.joined(separator: "\n")
  }
}

extension Double {
  /// The number with two decimal digits below 100 and none above. Whole numbers have no decimal digits.
  var short: String {
    guard isFinite else { return "\(self)" }
    if self == rounded() || abs(self) >= 100 { return "\(Int(rounded()))" }
    return "\((self * 100).rounded() / 100)"
  }

  fileprivate var percentage: String {
    guard isFinite else { return "it was nothing" }
    let percent = (self * 1000).rounded() / 10 + 0  // Not -0.
    return "\(percent > 0 ? "+" : "")\(percent)%"
  }
}
