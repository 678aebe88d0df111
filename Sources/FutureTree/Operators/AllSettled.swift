extension Future {
  /// Returns a future of all outcomes, in the order of the futures, when the last of them has completed.
  ///
  /// ```swift
  /// let outcomes = try await Future.allSettled(uploads).value
  /// let failures = outcomes.filter { $0.ending == .failed }
  /// ```
  ///
  /// A failure or a cancellation is an outcome as any other. A request to cancel is forwarded to all that are unfinished,
  /// and then the future is `.cancelled` when all have completed.
  ///
  /// - Returns: a consumer of each future; it does not fail. With no futures, a success with no outcomes.
  /// - Complexity: O(n).
  @inlinable public static func allSettled(_ futures: [Future]) -> Future<[Outcome<Value>]> {
    guard !futures.isEmpty else { return .succeeded([]) }
    return JoinNode.future(.allSettled, of: futures.map { $0.node }) { _ in
      .waits
    } whenNoneDecided: { join in
      if let asked = join.request { return .cancelled(asked.reason) }
      return .success(futures.map { $0.node.outcome(as: Value.self) })
    }
  }
}
