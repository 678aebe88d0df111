import FutureTree

/// What a shutdown did: the work that completed, the work that was cancelled, and the sources that did not react.
///
/// ```swift
/// let service = ScopeService(work) { report in
///   if report.wasForced { logger.warning("\(report)") }
/// }
/// ```
///
/// Names are those of `Future.tree()`. They contain no secrets, unless the program put some into names.
public struct ShutdownReport: Sendable {
  /// The names of the work that was in flight when the shutdown began. A nested scope counts as one piece of work.
  public let inFlight: [String]
  /// The names of the work that had not completed in the drain, and was asked to cancel.
  public let cancelled: [String]
  /// The report of the cancellation. Its `pending` names the sources that did not react to the request before they were forced.
  /// `nil` if all work completed in the drain.
  public let grace: GraceReport?
  /// The time from the beginning of the shutdown to this report.
  public let duration: Duration

  /// The number of pieces of work that completed in the drain.
  public var drainedCount: Int { max(0, inFlight.count - cancelled.count) }

  /// Whether work did not react to the cancellation request, and was forced. It may continue behind its future.
  public var wasForced: Bool { grace?.forced != nil }
}

extension ShutdownReport: CustomStringConvertible {
  /// One phrase, such as `3 of 4 in flight completed; asked to cancel: upload (delivered to 1 handler, …)`.
  public var description: String {
    let drained = "\(drainedCount) of \(inFlight.count) in flight completed"
    guard let grace else { return drained }
    return "\(drained); asked to cancel: \(cancelled.joined(separator: ", ")) (\(grace))"
  }
}
