extension Future {
  /// Returns a future of the values of several futures of different types, as a tuple.
  ///
  /// ```swift
  /// let (user, settings) = try await Future.zip(api.user(1), api.settings()).value
  /// ```
  ///
  /// As `all`: the first failure or cancellation decides, and then the futures left are let go of (law 23); a request to
  /// cancel is forwarded to all that are unfinished.
  ///
  /// - Returns: a consumer of each future.
  /// - Complexity: O(n).
  public static func zip<each Input: Sendable>(_ futures: repeat Future<each Input>) -> Future<(repeat each Input)>
  where Value == (repeat each Input) {
    var inputs: [Node] = []
    for future in repeat each futures { inputs.append(future.node) }
    guard !inputs.isEmpty else { return .succeeded((repeat (each futures).node.value(as: (each Input).self))) }
    return JoinNode.allSuccesses(.zip, of: inputs) { (repeat (each futures).node.value(as: (each Input).self)) }
  }
}
