/// The minimum and the goal of a figure. Less is better.
public struct Limit: Equatable, Sendable {
  public let work: String
  /// The counted unit, such as "instructions".
  public let measure: String
  /// The work to whose figure the limits are relative. `nil`: the limits are counts.
  public let reference: String?
  public let atLeast: Double
  public let goal: Double
  /// The value that is checked instead of `atLeast`, for a work that has not reached `atLeast` yet.
  public let held: Double?

  public init(
    _ work: String, _ measure: String = "instructions", timesThoseOf reference: String? = nil, atLeast: Double,
    goal: Double, held: Double? = nil
  ) {
    self.work = work
    self.measure = measure
    self.reference = reference
    self.atLeast = atLeast
    self.goal = goal
    self.held = held
  }

  /// The result of comparing a figure with its limit.
  public enum Verdict: String, Equatable, Sendable {
    case unmeasured = "NOT MEASURED"
    case missed = "MISSED"
    /// The figure has not reached `atLeast`, but is within `held`.
    case notYet = "not yet"
    case atLeast = "at least"
    case goal
  }

  /// Returns the count, or its ratio to the count of the reference. Returns `nil` if one of them was not measured.
  public func figure(in figures: Figures) -> Double? {
    guard let count = figures.value(of: work, measure) else { return nil }
    guard let reference else { return count }
    return figures.value(of: reference, measure).map { count / $0 }
  }

  public func verdict(on figures: Figures) -> Verdict {
    guard let figure = figure(in: figures) else { return .unmeasured }
    if figure <= goal { return .goal }
    if figure <= atLeast { return .atLeast }
    return held.map { figure <= $0 } == true ? .notYet : .missed
  }

  /// Returns a row of a table in Markdown.
  public func row(for figures: Figures) -> String {
    let of = reference.map { "times those of `\($0)`" } ?? measure
    let figure = figure(in: figures)?.short ?? "–"
    return "| `\(work)` | \(figure) | \(atLeast.short) | \(goal.short) | \(of) | \(verdict(on: figures).rawValue) |"
  }

  /// The two lines above the rows.
  public static let head = "| work | now | at least | goal | of | reached |\n| --- | --- | --- | --- | --- | --- |"
}
