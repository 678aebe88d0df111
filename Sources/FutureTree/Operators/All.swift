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
  @inlinable public static func all(_ futures: [Future]) -> Future<[Value]> {
    guard !futures.isEmpty else { return .succeeded([]) }
    // A future is one reference to its node. So an array of futures has the layout of an array of nodes.
    let join = AllNode(
      of: unsafeBitCast(futures, to: [Node].self),
      step: StoredStep { entry, _, action in
        unsafeDowncast(entry, to: AllNode.self).perform(action, Value.self)
      })
    return Future<[Value]>(node: join)
  }
}
