// Overloads for two and three futures: with a parameter pack, long chains take much longer to type-check.
//
// The overload with a pack is neither inlinable nor part of cross-module optimization. Where the optimizer of Swift 6.3 knows the
// types of the pack, the closure writes the values from the fifth on to wrong places. `Tests/Client` detects this.

extension Future {
  /// Returns a future of the values of two futures of different types, as a tuple.
  ///
  /// ```swift
  /// let (user, settings) = try await Future.zip(api.user(1), api.settings()).value
  /// ```
  ///
  /// Behaves like `all`: the first failure or cancellation decides the outcome, and the join withdraws from the remaining
  /// futures. See <doc:Cancellation#Deciding-detaches>. A cancellation request is forwarded to every unfinished future.
  ///
  /// - Returns: A future that is a consumer of each future.
  /// - Complexity: O(1).
  @inlinable public static func zip<First: Sendable, Second: Sendable>(
    _ first: Future<First>, _ second: Future<Second>
  ) -> Future<(First, Second)> where Value == (First, Second) {
    JoinNode.allSuccesses(.zip, of: [first.node, second.node]) {
      (first.node.value(as: First.self), second.node.value(as: Second.self))
    }
  }

  /// Returns a future of the values of three futures of different types, as a tuple.
  @inlinable public static func zip<First: Sendable, Second: Sendable, Third: Sendable>(
    _ first: Future<First>, _ second: Future<Second>, _ third: Future<Third>
  ) -> Future<(First, Second, Third)> where Value == (First, Second, Third) {
    JoinNode.allSuccesses(.zip, of: [first.node, second.node, third.node]) {
      (first.node.value(as: First.self), second.node.value(as: Second.self), third.node.value(as: Third.self))
    }
  }

  /// Returns a future of the values of four or more futures of different types, as a tuple.
  ///
  /// - Complexity: O(n).
  @_semantics("optimize.no.crossmodule")
  public static func zip<
    First: Sendable, Second: Sendable, Third: Sendable, Fourth: Sendable, each Further: Sendable
  >(
    _ first: Future<First>, _ second: Future<Second>, _ third: Future<Third>, _ fourth: Future<Fourth>,
    _ further: repeat Future<each Further>
  ) -> Future<(First, Second, Third, Fourth, repeat each Further)>
  where Value == (First, Second, Third, Fourth, repeat each Further) {
    var inputs = [first.node, second.node, third.node, fourth.node]
    for future in repeat each further { inputs.append(future.node) }
    return JoinNode.allSuccesses(.zip, of: inputs) {
      (
        first.node.value(as: First.self), second.node.value(as: Second.self), third.node.value(as: Third.self),
        fourth.node.value(as: Fourth.self), repeat (each further).node.value(as: (each Further).self)
      )
    }
  }
}
