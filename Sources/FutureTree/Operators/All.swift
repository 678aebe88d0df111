extension Future {
  /// Returns a future of all values, in the order of the futures.
  ///
  /// ```swift
  /// let pages = Future.all(urls.map { api.page($0) })
  /// ```
  ///
  /// The first failure or cancellation decides; then the futures left are let go of: each is asked to stop with
  /// `doNotForwardIfOthersWaiting` (law 23). A request to cancel is forwarded to all that are unfinished.
  ///
  /// - Returns: a consumer of each future. With no futures, a success with no values.
  /// - Complexity: O(n).
  public static func all(_ futures: [Future]) -> Future<[Value]> {
    guard !futures.isEmpty else { return .succeeded([]) }
    return JoinNode.allSuccesses(.all, of: futures.map(\.node)) { futures.map { $0.node.value(as: Value.self) } }
  }
}
