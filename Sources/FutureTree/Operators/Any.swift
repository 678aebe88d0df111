extension Future {
  /// Returns a future with the value of the first future to succeed.
  ///
  /// ```swift
  /// let page = Future.any(mirrors.map { $0.load(path) })
  /// ```
  ///
  /// The first success decides the outcome. Each remaining future is then asked to cancel with `doNotForwardIfOthersWaiting`.
  /// See <doc:Cancellation#Deciding-detaches>. A cancellation request is forwarded to every unfinished future.
  ///
  /// If no future succeeds, the result is:
  ///
  /// - `.cancelled` with the reason of the first future, if all futures were cancelled;
  /// - otherwise, a failure with `AllFailed`. This includes an empty `futures`.
  ///
  /// - Returns: A future that is a consumer of each future.
  /// - Complexity: O(n).
  @inlinable public static func any(_ futures: [Future]) -> Future {
    guard !futures.isEmpty else { return .failed(AllFailed(errors: [])) }
    return JoinNode.future(.any, of: futures.map { $0.node }) { input in
      input.endingOnceEnded == .succeeded ? .ends(input.outcome(as: Value.self)) : .waits
    } whenNoneDecided: { _ in
      let errors = futures.filter { $0.node.endingOnceEnded == .failed }.map(\.node.error)
      return errors.isEmpty ? .cancelled(futures[0].node.cancellationReason) : .failure(AllFailed(errors: errors))
    }
  }
}

/// The error of `any` and `race` if there is no value: at least one future failed and none succeeded, or the list was empty.
public struct AllFailed: Error, CustomStringConvertible {
  /// The errors of the futures that failed, in the order of the futures.
  public let errors: [any Error]

  /// Creates the error, for custom joins and for tests.
  public init(errors: [any Error]) {
    self.errors = errors
  }

  public var description: String {
    switch errors.count {
    case 0: "No future can succeed. The list of futures is empty. Pass at least one future."
    default: "No future succeeded, and \(errors.count) failed: \(causes). Recover from this error, or see `errors`."
    }
  }

  /// The texts of the errors, without final periods.
  private var causes: String {
    errors.map { error in
      let text = "\(error)"
      return text.hasSuffix(".") ? String(text.dropLast()) : text
    }.joined(separator: "; ")
  }
}
