import Foundation
import FutureTree

extension Future where Value == Void {
  /// Combines several resets. The returned future completes when all resets have completed, and fails if one of them
  /// failed.
  ///
  /// ```swift
  /// func reset(next: any HTTPLoader) -> Future<Void> {
  ///   .resets([wipe(), next.reset()])
  /// }
  /// ```
  ///
  /// All resets run to their end, even if one fails or the future is cancelled. Cancelling the future only stops the
  /// wait, so that no state is wiped partially (the rule *Refuse, drain, wipe*).
  ///
  /// - Returns: A future that fails with `ResetFailed`.
  public static func resets(_ resets: [Future<Void>]) -> Future<Void> {
    Future<Void>.allSettled(resets)
      .map { outcomes in
        let errors = outcomes.flatMap(\.resetErrors)
        if !errors.isEmpty { throw ResetFailed(errors) }
      }
      .shielded()
  }
}

/// The error of a reset that failed in some parts of a chain. All other parts were reset.
public struct ResetFailed: Error, CustomStringConvertible {
  /// The errors, one for each part that failed.
  public let errors: [any Error]

  init(_ errors: [any Error]) {
    self.errors = errors
  }

  /// The number of parts that failed. The descriptions of the errors are omitted, because they may contain secrets.
  public var description: String {
    "The reset failed in \(errors.count) part\(errors.count == 1 ? "" : "s") of the chain. See `errors`, and reset again."
  }
}

extension Outcome<Void> {
  /// The errors of a reset with this outcome. A cancelled reset counts as failed, because its work is incomplete.
  fileprivate var resetErrors: [any Error] {
    switch self {
    case .success: []
    case .failure(let error as ResetFailed): error.errors
    case .failure(let error): [error]
    case .cancelled(let reason): [FutureCancelled(reason: reason)]
    }
  }
}

extension ResetFailed: LocalizedError {
  /// The same text as `description`.
  public var errorDescription: String? { description }
}
