import Foundation
import FutureTree

extension Future where Value == Void {
  /// Joins resets: it ends when the last of them has ended, and fails if one failed.
  ///
  /// ```swift
  /// func reset(next: any HTTPLoader) -> Future<Void> {
  ///   .resets([wipe(), next.reset()])
  /// }
  /// ```
  ///
  /// All run to their end, even if one fails or the future is asked to cancel: who cancels it stops waiting, and nothing is
  /// left half wiped (H6).
  ///
  /// - Returns: a future that fails with `ResetFailed`.
  public static func resets(_ resets: [Future<Void>]) -> Future<Void> {
    Future<Void>.allSettled(resets)
      .map { outcomes in
        let errors = outcomes.flatMap(\.resetErrors)
        if !errors.isEmpty { throw ResetFailed(errors) }
      }
      .shielded()
  }
}

/// One or several parts of a chain could not be reset. All others were.
public struct ResetFailed: Error, CustomStringConvertible {
  /// What went wrong, one error for each part.
  public let errors: [any Error]

  init(_ errors: [any Error]) {
    self.errors = errors
  }

  /// How many parts failed. The errors' own descriptions may hold secrets.
  public var description: String {
    "\(errors.count) part\(errors.count == 1 ? "" : "s") of the chain could not be reset; look at `errors`, and reset again."
  }
}

extension Outcome<Void> {
  /// What a reset that ended like this failed with. One that was cancelled has not done its work.
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
