/// The future of a scope. It forwards requests to the work of the scope, and has no interest in that work: if the work has other
/// consumers, a request that stops where others wait stops there, and the scope still waits.
final class ScopeNode: Join, @unchecked Sendable {  // Because: see `Join`. `lock` guards `workRequest`.
  /// The inputs that have not ended. Each has one slot.
  private let inputs = Locked<Set<ObjectIdentifier>>([])
  /// The request that the work has received without the scope.
  @exclusivity(unchecked) private var workRequest: CancelRequest?

  init() {
    super.init(
      createdBy: .scope,
      step: StoredStep { entry, upstream, action in
        let node = unsafeDowncast(entry, to: ScopeNode.self)
        return node.perform(action, with: upstream, as: Void.self) { node.releaseSlots() }
      })
  }

  /// Adds work that has begun, unless it was added before. A request to the scope or to its work reaches this work as well. Law 8
  /// (no request is lost).
  func add(_ work: Node) {
    guard inputs.withLock({ $0.insert(ObjectIdentifier(work)).inserted }) else { return }
    order(after: work) { entry, upstream, _ in
      let slot = unsafeDowncast(entry, to: Slot.self)
      let node = unsafeDowncast(slot.join, to: ScopeNode.self)
      _ = node.inputs.withLock { $0.remove(ObjectIdentifier(upstream)) }
      _ = node.inputEnded(of: slot, closes: true)
      return false
    }
    // Read after the work was added: `cancelWork` in another thread stores the request, and then reads the work.
    guard let request = lock.withLock({ workRequest }) else { return }
    CancellationPropagation.run(Signal(node: work, request: request))
  }

  /// Asks the work to cancel, also work that is added later, but not the scope itself.
  func cancelWork(_ request: CancelRequest) {
    let work = lock.withLock {
      workRequest = request
      return waitsFor
    }
    CancellationPropagation.run(work.map { Signal(node: $0.node, request: request) })
  }

  /// Ends with an outcome, unless it has ended early.
  func end(with outcome: Outcome<Void>) {
    Trampoline.run {
      guard decide(because: decidedReason, { endLocked(with: outcome) }) else { return }
      releaseSlots()
      Trampoline.notify(self)
    }
  }
}
