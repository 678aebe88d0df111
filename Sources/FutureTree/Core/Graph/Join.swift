/// A future that waits for several others at once, or for one after another.
///
/// It has slots, each in the list of the input that it waits for now. A slot holds its join, so a join lives as long as one
/// input is pending; the join holds its slots until it has ended, which breaks the cycle.
@usableFromInline
class Join: Node, @unchecked Sendable {  // Because: `slots` and `waiting` are guarded as `upstream` is.
  @exclusivity(unchecked) private final var slots: [Slot] = []
  /// How many slots wait for an input, or have been told by one that decides.
  @exclusivity(unchecked) private final var waiting = 0

  /// The entry of a join in the list of one input.
  final class Slot: Waiter, @unchecked Sendable {  // Because: `input` is guarded by the join's lock.
    let join: Join
    let index: Int
    /// Set while the slot is in the list of a pending input, and not retained: as `Node.upstream`.
    @exclusivity(unchecked) fileprivate var input: Unmanaged<Node>?
    /// How many inputs have told this slot: one that tells before `input` is set must not be remembered.
    @exclusivity(unchecked) fileprivate var told = 0

    fileprivate init(join: Join, index: Int, step: @escaping Step) {
      self.join = join
      self.index = index
      super.init(step: step)
    }

    override var owner: Node? { join }
  }

  override final var waitsFor: TinyArray<Link> {
    TinyArray(slots.compactMap { slot in slot.input.map { Link(node: $0.takeUnretainedValue(), entry: slot) } })
  }

  override final var hasManyInputs: Bool { slots.count > 16 }

  override final func forgetInputs() {
    for slot in slots { slot.input = nil }
  }

  /// Makes the slots. Call it once, before the join is given to anybody.
  final func makeSlots(_ count: Int, step: @escaping Step) -> [Slot] {
    let slots = (0..<count).map { Slot(join: self, index: $0, step: step) }
    lock.withLock {
      self.slots = slots
      waiting = count
    }
    return slots
  }

  /// A slot begins to wait for an input. The slot is in no list.
  final func wait(in slot: Slot, for input: Node) {
    let (told, isWanted) = lock.withLock { (slot.told, !state.isAbandoned) }
    // First the list of the input, then `input`: whoever sees it may rely on the entry in the list.
    guard input.attach(slot, isConsumer: isWanted) else {
      if input.state.isLogged { input.recordLink(from: slot, isNew: false) }
      return Trampoline.turn(of: slot, upstream: input, .upstreamEnded)
    }
    var isLogged = false
    let signal: Signal? = lock.withLock {
      isLogged = state.isLogged
      guard state.isPending else {
        // It ended meanwhile: what a running body returns gets the request, without the force (law 5).
        let request = state.requests.furthest.map(\.forwarded) ?? Join.leaving(createdBy: state.createdBy)
        return Signal(node: input, request: request, sender: slot, departure: .leaves)
      }
      if slot.told == told { slot.input = Unmanaged.passUnretained(input) }
      return firstSignal(at: input, from: slot, request: state.requests.furthest?.forwarded)
    }
    if isLogged { shareLog(withInput: input) }
    if let signal { CancellationPropagation.run(signal) }
    if !isWanted { notifyOfInterest() }
  }

  /// A slot was told: its input is not waited for any more. Returns false if the join has ended.
  final func told(_ slot: Slot) -> Bool {
    lock.withLock {
      slot.input = nil
      slot.told += 1
      return state.isPending
    }
  }

  /// A slot that was told waits for nothing more, and decides nothing. Returns whether all slots have come to that: then every
  /// input has told its slot, and none is about to decide on another thread.
  final func slotIsDone() -> Bool {
    lock.withLock {
      waiting -= 1
      return waiting == 0
    }
  }

  /// Both at once, for a slot whose input decides nothing. Returns whether it was the last of a join that is pending.
  final func isLast(_ slot: Slot) -> Bool {
    lock.withLock {
      slot.input = nil
      slot.told += 1
      waiting -= 1
      return waiting == 0 && state.isPending
    }
  }

  /// What was asked of this future: then what has not begun does not begin (law 11).
  final var asked: CancelRequest? { lock.withLock { state.requests.asked } }

  /// Why those that are left are let go of when a join is decided.
  private static func leaving(createdBy: Operator) -> CancelRequest {
    CancelRequest(options: .doNotForwardIfOthersWaiting, reason: decidedReason(createdBy))
  }

  static func decidedReason(_ createdBy: Operator) -> CancellationReason {
    "`\(createdBy.name)` was decided without this one"
  }

  /// Frees the slots of a join that has ended.
  final func releaseSlots() {
    let slots = lock.withLock {
      defer { self.slots = [] }
      return self.slots
    }
    _ = slots  // Freed here, not under the lock.
  }
}

/// A join with the types of what it makes. What tells one operator from another is its rule.
final class JoinNode<Output: Sendable>: Join, @unchecked Sendable {  // Because: `rule` is guarded by the lock.
  /// What tells one operator from another. Its closures are called under no lock.
  struct Rule: Sendable {
    /// What the join does when the input of a slot has ended.
    let whenEnded: @Sendable (_ slot: Slot, _ input: Node) -> Verdict<Output>
    /// What the join ends with when no slot waits any more and none has decided; nil if that cannot be.
    var whenNoneDecided: (@Sendable (Join) -> Outcome<Output>)?
  }

  @exclusivity(unchecked) private var rule: Rule?

  init(_ createdBy: Operator, rule: Rule) {
    self.rule = rule
    super.init(createdBy: createdBy) { entry, upstream, action in
      let node = unsafeDowncast(entry, to: JoinNode<Output>.self)
      return node.perform(action, with: upstream, as: Output.self) { node.release() }
    }
  }

  /// Makes the slots, which begin to wait when they are told to.
  func makeSlots(_ count: Int) -> [Slot] {
    makeSlots(count) { entry, input, _ in
      let slot = unsafeDowncast(entry, to: Slot.self)
      return unsafeDowncast(slot.join, to: JoinNode<Output>.self).advance(slot, input)
    }
  }

  private func advance(_ slot: Slot, _ input: Node) -> Bool {
    guard told(slot), let rule = lock.withLock({ rule }) else { return false }
    switch rule.whenEnded(slot, input) {
    case .waits:
      guard slotIsDone(), let whenNoneDecided = rule.whenNoneDecided else { return false }
      return end(with: whenNoneDecided(self))
    case .waitsFor(let next):
      wait(in: slot, for: next)
      return false
    case .ends(let outcome):
      return end(with: outcome)
    }
  }

  private func end(with outcome: Outcome<Output>) -> Bool {
    guard decide(outcome) else { return false }
    release()
    return true
  }

  private func decide(_ outcome: Outcome<Output>) -> Bool {
    decide(because: Join.decidedReason(state.createdBy)) { endLocked(with: outcome) }
  }

  private func release() {
    let rule = lock.withLock { self.rule.take() }
    _ = rule  // Freed here, not under the lock.
    releaseSlots()
  }
}

/// What a join does when one of its inputs has ended.
enum Verdict<Output: Sendable> {
  case waits
  /// The slot waits for this future next.
  case waitsFor(Node)
  case ends(Outcome<Output>)
}

extension Node {
  /// Ends with an outcome. Called under the lock.
  func endLocked<Value: Sendable>(with outcome: Outcome<Value>) -> Bool {
    switch outcome {
    case .success(let value): endLocked(succeeding: value)
    case .failure(let error): endLocked(failing: error)
    case .cancelled(let reason): endLocked(cancelled: reason)
    }
  }
}
