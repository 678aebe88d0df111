/// A future that waits for several others at once.
///
/// It has one slot in the list of each input. A slot holds its join, so a join lives as long as one input is pending; the
/// join holds its slots until it has ended, which breaks the circle.
class Join: Node, @unchecked Sendable {  // Because: `slots` is guarded as `upstream` is.
  @exclusivity(unchecked) private final var slots: [Slot] = []

  /// The entry of a join in the list of one input.
  final class Slot: Waiter, @unchecked Sendable {  // Because: `input` is guarded by the join's lock.
    let join: Join
    let index: Int
    /// Set while the slot is in the list of a pending input, and not retained: as `Node.upstream`.
    @exclusivity(unchecked) fileprivate var input: Unmanaged<Node>?
    /// The input has ended and told this slot.
    @exclusivity(unchecked) fileprivate var wasTold = false

    fileprivate init(join: Join, index: Int, step: @escaping Step) {
      self.join = join
      self.index = index
      super.init(step: step)
    }

    override var owner: Node? { join }
  }

  override final var waitsFor: [Link] {
    slots.compactMap { slot in slot.input.map { Link(node: $0.takeUnretainedValue(), entry: slot) } }
  }

  override final func letGo() {
    for slot in slots { slot.input = nil }
  }

  /// Begins to wait for the inputs. Call it once, before the join is given to anybody.
  final func wait(for inputs: [Node], step: @escaping Step) {
    let slots = inputs.indices.map { Slot(join: self, index: $0, step: step) }
    lock.withLock { self.slots = slots }
    for (slot, input) in zip(slots, inputs) {
      // First the list of the input, then `input`: whoever sees it may rely on the entry in the list.
      guard input.attach(slot, isConsumer: true) else {
        Trampoline.turn(of: slot, upstream: input, .upstreamEnded)
        continue
      }
      let isWanted = lock.withLock {
        guard state.isPending else { return false }
        if !slot.wasTold { slot.input = Unmanaged.passUnretained(input) }
        return true
      }
      if !isWanted { leave([Link(node: input, entry: slot)]) }
    }
  }

  /// A slot was told: its input is not waited for any more. Returns false if the join had ended.
  final func told(_ slot: Slot) -> Bool {
    lock.withLock {
      slot.input = nil
      slot.wasTold = true
      return state.isPending
    }
  }

  /// Ends as an input did that decides, and lets go of the inputs left (law 23).
  final func decide(as input: Node) -> Bool {
    decide { endLocked(as: input) }
  }

  /// Ends `.cancelled` because an input left that ended early in this branch, and lets go of the inputs left.
  final func decideCancelled(_ reason: CancellationReason) -> Bool {
    decide { endCancelled(reason) }
  }

  private func decide(_ end: () -> Bool) -> Bool {
    let left: [Link]? = lock.withLock {
      let links = waitsFor
      return end() ? links : nil
    }
    guard let left else { return false }
    leave(left)
    return true
  }

  private func leave(_ links: [Link]) {
    guard !links.isEmpty else { return }
    let reason: CancellationReason = "`\(state.madeBy)` was decided without this one"
    let request = CancelRequest(options: .doNotForwardIfOthersWaiting, reason: reason)
    Wave.run(links.map { Wave.Arrival(node: $0.node, request: request, asker: $0.entry, departure: .leaves) })
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
