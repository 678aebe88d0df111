// What the operators over several futures share: see `Core/Graph/Join.swift`.

extension JoinNode {
  /// A future that waits for all of `inputs` at once. One that is there twice has one slot: the join is one consumer of it.
  static func future(
    _ createdBy: Operator, of inputs: [Node], whenEnded: @escaping @Sendable (Node) -> Verdict<Output>,
    whenNoneDecided: (@Sendable (Join) -> Outcome<Output>)? = nil
  ) -> Future<Output> {
    let inputs = inputs.withoutRepeated()
    let join = JoinNode(createdBy, rule: Rule(whenEnded: { whenEnded($1) }, whenNoneDecided: whenNoneDecided))
    for (slot, input) in zip(join.makeSlots(inputs.count), inputs) { join.wait(in: slot, for: input) }
    return Future(node: join)
  }

  /// A future that decides on the first input that does not succeed, and has all the values when there is none.
  static func allSuccesses(
    _ createdBy: Operator, of inputs: [Node], gather: @escaping @Sendable () -> Output
  ) -> Future<Output> {
    future(createdBy, of: inputs) { input in
      switch input.state.ending {
      case .failed: .ends(.failure(input.error))
      case .cancelled: .ends(.cancelled(input.cancellationReason))
      case .succeeded, nil: .waits
      }
    } whenNoneDecided: { _ in
      .success(gather())
    }
  }
}
