/// A join with the type of its value. `rule` has the behavior of its operator.
///
/// The class is specialized at each call of an operator. Code that needs the types is inlined there. All other code is in `Join`.
@usableFromInline
final class JoinNode<Output: Sendable>: Join, @unchecked Sendable {  // Because: `rule` is guarded by the lock.
  /// The behavior of one operator. Its closures are called outside every lock.
  @usableFromInline
  struct Rule: Sendable {
    /// Returns the verdict of the join when the input of a slot has ended.
    @usableFromInline let whenEnded: @Sendable (_ slot: Slot, _ input: Node) -> Verdict<Output>
    /// Returns the outcome of the join when no slot waits and none has decided. `nil` if that cannot happen.
    @usableFromInline let whenNoneDecided: (@Sendable (Join) -> Outcome<Output>)?

    @inlinable init(
      whenNoneDecided: (@Sendable (Join) -> Outcome<Output>)? = nil,
      whenEnded: @escaping @Sendable (_ slot: Slot, _ input: Node) -> Verdict<Output>
    ) {
      self.whenEnded = whenEnded
      self.whenNoneDecided = whenNoneDecided
    }
  }

  @exclusivity(unchecked) @usableFromInline var rule: Rule?

  @inlinable init(_ createdBy: Operator, rule: Rule) {
    self.rule = rule
    super.init(
      createdBy: createdBy,
      step: StoredStep { entry, upstream, action in
        let node = unsafeDowncast(entry, to: JoinNode<Output>.self)
        return node.perform(action, with: upstream, as: Output.self) { node.release() }
      })
  }

  /// Creates the slots. They begin to wait with `wait(in:for:)`.
  @inlinable func makeSlots(_ count: Int) -> [Slot] {
    makeSlots(count) { entry, input, _ in
      let slot = unsafeDowncast(entry, to: Slot.self)
      return unsafeDowncast(slot.join, to: JoinNode<Output>.self).inputEnded(of: slot, input)
    }
  }

  @inlinable func inputEnded(of slot: Slot, _ input: Node) -> Bool {
    var current: Rule?
    inputEnded(of: slot, ifPending: { current = rule })
    guard let rule = current else { return false }
    switch rule.whenEnded(slot, input) {
    case .waits:
      guard closeSlot(), let whenNoneDecided = rule.whenNoneDecided else { return false }
      return end(with: whenNoneDecided(self))
    case .waitsFor(let next):
      wait(in: slot, for: next)
      return false
    case .ends(let outcome):
      return end(with: outcome)
    }
  }

  @inlinable func end(with outcome: Outcome<Output>) -> Bool {
    let hasEnded =
      switch outcome {
      case .success(let value): decide { $0.initialize(to: value, as: Output.self) }
      case .failure(let error): decide(failing: error)
      case .cancelled(let reason): decide(cancelled: reason)
      }
    if hasEnded { release() }
    return hasEnded
  }

  @inlinable func release() {
    var released: Rule?
    locked { swap(&rule, &released) }
    _ = released  // Released here, outside the lock.
    releaseSlots()
  }
}

/// The decision of a join when one of its inputs has ended.
@usableFromInline
enum Verdict<Output: Sendable> {
  case waits
  /// The slot waits for this future next.
  case waitsFor(Node)
  case ends(Outcome<Output>)
}
