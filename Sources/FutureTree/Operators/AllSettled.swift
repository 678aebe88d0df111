extension Future {
  /// Returns a future of the outcomes of several futures, in the order of the futures, once all have completed.
  ///
  /// ```swift
  /// let outcomes = try await Future.allSettled(uploads).value
  /// let failures = outcomes.filter { $0.ending == .failed }
  /// ```
  ///
  /// Failures and cancellations count as outcomes. A cancellation request is forwarded to every unfinished future.
  /// After such a request, the returned future completes as `.cancelled` when all futures have completed.
  ///
  /// - Returns: A future that is a consumer of each future. It never fails. If `futures` is empty, it succeeds with an
  ///   empty array.
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
