extension Future {
  /// Returns a future with the outcome of the first future to complete: a value, an error or a cancellation.
  ///
  /// ```swift
  /// let answer = Future.race([cache.load(key), network.load(key)])
  /// ```
  ///
  /// Each remaining future is then asked to cancel with `doNotForwardIfOthersWaiting`. See
  /// <doc:Cancellation#Deciding-detaches>. A cancellation request is forwarded to every unfinished future. For the first
  /// *success*, use `any(_:)`.
  ///
  /// - Returns: A future that is a consumer of each future. If `futures` is empty, it fails with an `AllFailed` that has
  ///   no errors.
  /// - Complexity: O(n).
  @inlinable public static func race(_ futures: [Future]) -> Future {
    guard !futures.isEmpty else { return .failed(AllFailed(errors: [])) }
    return JoinNode.future(.race, of: futures.map { $0.node }) { input in
      .ends(input.outcome(as: Value.self))
    }
  }
}
