extension TransportLoad {
  /// The counts of a run.
  ///
  /// ```swift
  /// let report = try await load.run(mixed: 10_000)
  /// print(report)  // A table of the resources and of the outcomes.
  /// ```
  public struct Report: Sendable {
    /// The name of the transport.
    public let name: String
    /// What was run.
    public let title: String
    /// The resources after the warm-up.
    public let before: ProcessResources
    /// The resources after the run.
    public let after: ProcessResources
    /// The resources that the transport may hold in addition.
    public let tolerance: ProcessResources
    /// The number of operations.
    public let count: Int
    /// The number of operations for each kind and ending, such as `cancelledStream: cancelled`.
    public let outcomes: [String: Int]
    /// The faults of operations: wrong outcomes, wrong bytes, and loads that did not complete. Each is listed once,
    /// and at most 20 are listed.
    public let faults: [String]

    /// The resources that exceed those before the run by more than the tolerance, as text. Empty if there are none.
    public var leftovers: [String] { tolerance.faults(before, after) }

    /// Whether no operation had a fault, and no more resources are left than the tolerance allows.
    public var isClean: Bool { faults.isEmpty && leftovers.isEmpty }
  }
}

extension TransportLoad.Report: CustomStringConvertible {
  /// A table of the resources and of the outcomes, followed by the faults.
  public var description: String {
    let counts = outcomes.sorted { $0.key < $1.key }.map { "  \($0.value) × \($0.key)" }
    let problems = (leftovers + faults).map { "  FAULT: \($0)" }
    return (["\(name): \(title)", "  before: \(before)", "  after:  \(after)"] + counts + problems).joined(
      separator: "\n")
  }
}
