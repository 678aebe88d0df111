/// A join that has all values, or ends as the first input that does not succeed.
///
/// `JoinNode` could do the same, but `all` is the join that is used most, and costs less here: it needs types only to gather the
/// values, in the step for the action `run`, and takes one lock for each input.
@usableFromInline
final class AllNode: Join, @unchecked Sendable {  // Because: `lock` guards `inputs`.
  /// The futures whose values are gathered; empty once it has ended.
  @exclusivity(unchecked) private var inputs: [Node]

  @usableFromInline init(of inputs: [Node], step: @escaping Step) {
    self.inputs = inputs
    super.init(createdBy: .all, step: step)
    let unique = inputs.withoutRepeated()
    let slots = makeSlots(unique.count) { entry, input, _ in
      let slot = unsafeDowncast(entry, to: Slot.self)
      return unsafeDowncast(slot.join, to: AllNode.self).inputEnded(of: slot, input)
    }
    for (slot, input) in zip(slots, unique) { wait(in: slot, for: input) }
  }

  /// The step of the join.
  @inlinable @inline(__always)
  func perform<Value: Sendable>(_ action: Action, _ type: Value.Type) -> Bool {
    if action == .run { return succeed(currentInputs().map { $0.value(as: Value.self) }) }
    return perform(action, with: self, as: [Value].self) { release() }
  }

  private func inputEnded(of slot: Slot, _ input: Node) -> Bool {
    let hasSucceeded = input.state.phase == .succeeded
    let (isPending, allClosed) = inputEnded(of: slot, closes: hasSucceeded)
    guard isPending else { return false }
    if hasSucceeded {
      guard allClosed, step(self, self, .run) else { return false }
    } else {
      guard decide(because: decidedReason, { endLocked(as: input) }) else { return false }
    }
    release()
    return true
  }

  @usableFromInline func currentInputs() -> [Node] {
    lock.withLock { inputs }
  }

  @usableFromInline func release() {
    let inputs = lock.withLock {
      defer { self.inputs = [] }
      return self.inputs
    }
    _ = inputs  // Freed here, not under the lock.
    releaseSlots()
  }
}

extension [Node] {
  /// The futures, each once. Only where one is there twice is more done than to compare neighbours.
  func withoutRepeated() -> [Node] {
    let addresses = map { UInt(bitPattern: Unmanaged.passUnretained($0).toOpaque()) }.sorted()
    guard zip(addresses, addresses.dropFirst()).contains(where: ==) else { return self }
    var seen: Set<ObjectIdentifier> = []
    return filter { seen.insert(ObjectIdentifier($0)).inserted }
  }
}
