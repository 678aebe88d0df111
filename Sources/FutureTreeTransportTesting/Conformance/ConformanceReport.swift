import FutureTree
import FutureTreeHTTPTesting

extension TransportConformance {
  /// The results of a run, with one entry for each check.
  ///
  /// ```swift
  /// let report = await conformance.run()
  /// print(report)  // A table: result, check, rule and title.
  /// for entry in report.entries where !entry.isConforming { print(entry.check.id) }
  /// ```
  public struct Report: Sendable {
    /// The result of one check.
    public enum Result: Sendable, Hashable {
      /// The transport passed the check.
      case passed
      /// The transport failed the check. The associated value has the faults.
      case failed([String])
      /// The transport failed the check, as its table of limits says. The associated values are the text of the limit, and the
      /// faults.
      case limited(String, [String])
      /// The transport passed the check, although its table of limits says that it fails. Remove the limit from the table.
      case limitDisappeared(String)
      /// The check was not run, because the table of limits says that it ends the process.
      case notRun(String)
    }

    /// A check and its result.
    public struct Entry: Sendable {
      /// The check.
      public let check: Check
      /// Its result.
      public let result: Result
      /// The time that the check took.
      public let duration: Duration

      /// Whether the check passed or has a known limit.
      public var isConforming: Bool {
        switch result {
        case .passed, .limited, .notRun: true
        case .failed, .limitDisappeared: false
        }
      }
    }

    /// The name of the transport.
    public let name: String

    /// The results, in the order of the run.
    public let entries: [Entry]

    /// Whether each check passed or has a known limit. `false` if the limit of a check that was run has disappeared.
    public var isConforming: Bool { entries.allSatisfy(\.isConforming) }

    /// The checks that failed without a limit, or passed in spite of one.
    public var nonconforming: [Check] { entries.filter { !$0.isConforming }.map(\.check) }
  }
}

extension TransportConformance.Report: CustomStringConvertible {
  /// A table with one line for each check, followed by its limit and its faults.
  public var description: String {
    let width = entries.map(\.check.id.count).max() ?? 0
    let rows = entries.map { entry in
      let check = entry.check
      let columns = [
        entry.result.title.padded(to: 11), check.id.padded(to: width), entry.duration.rounded.padded(to: 10),
        "\(check.rule): \(check.title)",
      ]
      return ([columns.joined(separator: "  ")] + entry.result.details).joined(separator: "\n")
    }
    return ([summary] + rows).joined(separator: "\n")
  }

  private var summary: String {
    let faults = entries.count { !$0.isConforming }
    let limits = entries.count { if case .passed = $0.result { false } else { $0.isConforming } }
    return "\(name): \(entries.count) checks, \(limits) known limits, \(faults) faults"
  }
}

extension TransportConformance.Report.Result {
  fileprivate var title: String {
    switch self {
    case .passed: "passed"
    case .failed: "FAILED"
    case .limited: "limit"
    case .limitDisappeared: "DISAPPEARED"
    case .notRun: "not run"
    }
  }

  /// The lines below the row of a check.
  fileprivate var details: [String] {
    switch self {
    case .passed: []
    case .failed(let faults): faults.map(indented)
    case .limited(let text, let faults): ["limit: " + text].map(indented) + faults.prefix(1).map(indented)
    case .limitDisappeared(let text):
      ["The limit has disappeared. Remove it from the table of limits: " + text].map(indented)
    case .notRun(let text): ["limit, ends the process: " + text].map(indented)
    }
  }

  private func indented(_ text: String) -> String {
    text.split(separator: "\n").map { "    " + $0 }.joined(separator: "\n")
  }
}
