extension Future {
  /// Returns a future with the first value that comes.
  ///
  /// ```swift
  /// let page = Future.any(mirrors.map { $0.load(path) })
  /// ```
  ///
  /// The first success decides, and then the futures left are let go of: each is asked to stop with
  /// `doNotForwardIfOthersWaiting` (law 23). A request to cancel is forwarded to all that are unfinished.
  ///
  /// - Returns: a consumer of each future. Where none succeeds: `.cancelled` if all were, with the reason of the first of
  ///   them; otherwise a failure with `AllFailed`. With no futures, the latter.
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

/// The error of `any` and `race` when there is no value: each future failed or was cancelled, or there was none.
public struct AllFailed: Error, CustomStringConvertible {
  /// The errors of the futures that failed, in the order of the futures.
  public let errors: [any Error]

  /// For code that joins in its own way, and for tests.
  public init(errors: [any Error]) {
    self.errors = errors
  }

  public var description: String {
    switch errors.count {
    case 0: "There was no future that could succeed: the list was empty. Give it one, or do not ask."
    case 1: "The only future that was not cancelled failed: \(errors[0])"
    default:
      "All \(errors.count) futures that were not cancelled failed: \(errors.map { "\($0)" }.joined(separator: "; "))"
    }
  }
}
