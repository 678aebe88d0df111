// The code that the operators over several futures share. See `Core/Join.swift`.

extension JoinNode {
  /// Returns a future that waits for all `inputs` at once. A repeated input has one slot: the join is one consumer of it.
  @inlinable static func future(
    _ createdBy: Operator, of inputs: [Node],
    whenEnded: @escaping @Sendable (Node) -> JoinDecision<Output>,
    whenNoneDecided: (@Sendable (Join) -> Outcome<Output>)? = nil
  ) -> Future<Output> {
    let inputs = inputs.withoutRepeated()
    let rule = Rule(whenNoneDecided: whenNoneDecided) { whenEnded($1) }
    let join = JoinNode(createdBy, rule: rule)
    for (slot, input) in zip(join.makeSlots(inputs.count), inputs) { join.wait(in: slot, for: input) }
    return Future(node: join)
  }

  /// Returns a future with the outcome of the first input that does not succeed, otherwise with the result of `gather`.
  @inlinable static func allSuccesses(
    _ createdBy: Operator, of inputs: [Node], gather: @escaping @Sendable () -> Output
  ) -> Future<Output> {
    future(createdBy, of: inputs) { input in
      switch input.endingOnceEnded {
      case .succeeded: .waits
      case .failed: .ends(.failure(input.error))
      case .cancelled: .ends(.cancelled(input.cancellationReason))
      }
    } whenNoneDecided: { _ in
      .success(gather())
    }
  }
}
