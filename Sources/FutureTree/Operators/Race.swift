extension Future {
  /// Returns a future with the outcome of the first future to complete, whatever that is.
  ///
  /// ```swift
  /// let answer = Future.race([cache.load(key), network.load(key)])
  /// ```
  ///
  /// The others are let go of: each is asked to stop with `doNotForwardIfOthersWaiting` (law 23). A request to cancel is
  /// forwarded to all. For the first *success*, see `any(_:)`.
  ///
  /// - Returns: a consumer of each future. With no futures, a failure with `AllFailed` of no error.
  /// - Complexity: O(n).
  @inlinable public static func race(_ futures: [Future]) -> Future {
    guard !futures.isEmpty else { return .failed(AllFailed(errors: [])) }
    return JoinNode.future(.race, of: futures.map { $0.node }) { input in
      .ends(input.outcome(as: Value.self))
    }
  }
}
