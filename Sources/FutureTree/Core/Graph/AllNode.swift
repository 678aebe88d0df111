/// A join that collects the values of all inputs, or ends as the first input that does not succeed.
///
/// `JoinNode` could do the same, but `all` is the most frequent join and costs less here. It needs types only to collect the
/// values, in the step for the action `run`, and takes one lock per input.
@usableFromInline
final class AllNode: Join, @unchecked Sendable {  // Because: `lock` guards `inputs`.
  /// The futures whose values are collected. Empty once this future has ended.
  @exclusivity(unchecked) private var inputs: [Node]

  @usableFromInline init(of inputs: [Node], step: StoredStep) {
    self.inputs = inputs
    super.init(createdBy: .all, step: step)
    let unique = inputs.withoutRepeated()
    let slots = makeSlots(unique.count) { entry, input, _ in
      let slot = unsafeDowncast(entry, to: Slot.self)
      return Unmanaged.passUnretained(unsafeDowncast(slot.join, to: AllNode.self))._withUnsafeGuaranteedRef {
        $0.inputEnded(of: slot, input)
      }
    }
    // The two arrays keep their elements alive. Counting a reference for each call would cost as much as the call.
    withExtendedLifetime((slots, unique)) {
      for index in slots.indices {
        let (slot, input) = (Unmanaged.passUnretained(slots[index]), Unmanaged.passUnretained(unique[index]))
        slot._withUnsafeGuaranteedRef { slot in
          input._withUnsafeGuaranteedRef { wait(in: slot, for: $0, after: 0, isWanted: true) }
        }
      }
    }
  }

  /// The step of the join.
  @inlinable @inline(__always)
  func perform<Value: Sendable>(_ action: Action, _ type: Value.Type) -> Bool {
    if action == .run { return succeed(values(of: currentInputs(), as: type)) }
    return perform(action, with: self, as: [Value].self) { release() }
  }

  @inlinable @inline(__always)
  func values<Value>(of inputs: [Node], as type: Value.Type) -> [Value] {
    [Value](unsafeUninitializedCapacity: inputs.count) { buffer, initialized in
      for index in inputs.indices { buffer.initializeElement(at: index, to: inputs[index].value(as: type)) }
      initialized = inputs.count
    }
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
    lock.release {
      defer { self.inputs = [] }
      return self.inputs
    }
    releaseSlots()
  }
}

extension [Node] {
  /// Returns each future once, in the order of its first occurrence. Builds a set only if a future is repeated.
  @usableFromInline func withoutRepeated() -> [Node] {
    if count <= 4, indices.allSatisfy({ index in !self[..<index].contains { $0 === self[index] } }) { return self }
    var addresses = [UInt](unsafeUninitializedCapacity: count) { buffer, initialized in
      for index in indices { buffer[index] = UInt(bitPattern: Unmanaged.passUnretained(self[index]).toOpaque()) }
      initialized = count
    }
    addresses.sort()
    guard zip(addresses, addresses.dropFirst()).contains(where: ==) else { return self }
    var seen: Set<ObjectIdentifier> = []
    return filter { seen.insert(ObjectIdentifier($0)).inserted }
  }
}
