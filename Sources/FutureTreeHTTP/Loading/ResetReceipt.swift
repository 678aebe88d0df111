import FutureTree

/// A report of the effects of a reset. See <doc:Resetting#Receipts>.
///
/// ```swift
/// let receipt = try await api.resetWithReceipt().value
/// print(receipt)
/// // reset in 0.2 s: 1 load refused, 1 forced
/// //   ResetGuard    0.2 s  1 load refused
/// //   Autocancel    0.2 s  3 loads drained, 1 forced
/// //   StoreCookies  0 s    wiped 2 cookies
/// //   Transport     0 s
/// ```
public struct ResetReceipt: Sendable {
  /// One layer or loader that was reset.
  public struct Part: Sendable {
    /// The type of the layer or loader.
    public let name: String
    /// The number of loads that were refused during the reset.
    public let refused: Int
    /// The number of loads and transfers that were cancelled and awaited. A load that several parts await is counted by each.
    public let drained: Int
    /// The number of loads and transfers that were forced to complete, because they did not end in time. They are also counted
    /// in `drained`.
    public let forced: Int
    /// The state that was removed, such as `2 cookies`.
    public let wiped: [String]
    /// The time from the reset of this part to its completion. It includes the parts after it, for which it waited.
    public let duration: Duration
    /// The outcome of the reset of this part, or `nil` if it had not completed when the receipt was made.
    public let ending: Ending?
  }

  /// The parts in the order in which they were reset.
  public let parts: [Part]
  /// The duration of the whole reset.
  public let duration: Duration
  /// The error of the reset, usually ``ResetFailed``, or `nil` if every part was reset.
  public let error: (any Error)?

  /// The number of loads that were refused.
  public var refused: Int { parts.reduce(0) { $0 + $1.refused } }
  /// The number of loads and transfers that were forced to complete.
  public var forced: Int { parts.reduce(0) { $0 + $1.forced } }
  /// The state that was removed.
  public var wiped: [String] { parts.flatMap(\.wiped) }
}

extension HTTPLoader {
  /// Resets the loader, as `reset()` does, and returns a receipt.
  ///
  /// Layers report through ``ResetNotes``. A reset that joins a running reset reports only its own parts.
  ///
  /// - Parameter clock: The clock of the durations.
  /// - Returns: A future that succeeds when the reset has completed, also if it has failed: see ``ResetReceipt/error``.
  ///   Cancelling it only ends the wait.
  public func resetWithReceipt(clock: any FutureClock = .system) -> Future<ResetReceipt> {
    let report = ResetReport(clock)
    return report.reset(self)
      .onComplete { outcome in .success(report.receipt(outcome)) }
      .shielded()
  }
}

extension ResetReceipt: CustomStringConvertible {
  /// The totals, and a line for each part.
  public var description: String {
    let totals = ResetReceipt.counts((refused, "refused"), (forced, "forced"))
    let first = "reset \(error == nil ? "" : "failed ")in \(duration.rounded)\(totals.isEmpty ? "" : ": \(totals)")"
    let nameWidth = parts.map(\.name.count).max() ?? 0
    let timeWidth = parts.map(\.duration.rounded.count).max() ?? 0
    let lines = parts.map { part in
      let counts = ResetReceipt.counts((part.refused, "refused"), (part.drained, "drained"), (part.forced, "forced"))
      let facts = [counts, part.faultOrWiped].filter { !$0.isEmpty }.joined(separator: "; ")
      let time = part.duration.rounded
      return "  \(part.name.padded(to: nameWidth))  "
        + (facts.isEmpty ? time : "\(time.padded(to: timeWidth))  \(facts)")
    }
    return ([first] + lines).joined(separator: "\n")
  }

  private static func counts(_ counts: (number: Int, verb: String)...) -> String {
    counts.filter { $0.number > 0 }.enumerated().map { index, count in
      let noun = index > 0 ? "" : count.number == 1 ? " load" : " loads"
      return "\(count.number)\(noun) \(count.verb)"
    }.joined(separator: ", ")
  }
}

extension ResetReceipt.Part {
  fileprivate var faultOrWiped: String {
    switch ending {
    case .succeeded: wiped.isEmpty ? "" : "wiped \(wiped.joined(separator: ", "))"
    case .failed, .cancelled: "failed"
    case nil: "not completed"
    }
  }
}
