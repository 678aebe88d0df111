extension Future {
  /// Returns a future of the values of several futures, in the order of the futures.
  ///
  /// ```swift
  /// let pages = Future.all(urls.map { api.page($0) })
  /// ```
  ///
  /// The first failure or cancellation decides the outcome. Each remaining future is then asked to cancel with
  /// `doNotForwardIfOthersWaiting`. See <doc:Cancellation#Deciding-detaches>. A cancellation request is forwarded to every
  /// unfinished future.
  ///
  /// - Returns: A future that is a consumer of each future. If `futures` is empty, it succeeds with an empty array.
  /// - Complexity: O(n).
  @inlinable public static func all(_ futures: [Future]) -> Future<[Value]> {
    guard !futures.isEmpty else { return .succeeded([]) }
    // A `Future` is one reference to its node, so an array of futures has the layout of an array of nodes.
    let join = AllNode(
      of: unsafeBitCast(futures, to: [Node].self),
      step: StoredStep { entry, _, action in
        unsafeDowncast(entry, to: AllNode.self).perform(action, Value.self)
      })
    return Future<[Value]>(node: join)
  }
}
